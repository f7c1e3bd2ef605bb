"""Moot's own tools, which only read: what is known, another discussion, and the whiteboard."""

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
from msgspec import Raw, Struct

from moot.engine.tools.insight_search import InsightSearch
from moot.engine.whiteboards import Boards
from moot.prompts.tasks.knowledge import transcript
from moot.store.discussions.discussions import Discussions
from moot.types.discussions import Discussion
from moot.types.errors import NotFound, UsageError
from moot.types.json_schema import schema
from moot.types.knowledge import Insight
from moot.types.tools import LONGEST_RESULT, Outcome, ToolInfo
from moot.whiteboard.describe import digest

FOUND = 10
SOME = 5  # discussions that a title may mean


class SearchKnowledge(Struct, frozen=True):
    words: str


class ReadDiscussion(Struct, frozen=True):
    discussion: str


class ReadWhiteboard(Struct, frozen=True):
    pass


def _info(name: str, description: str, parameters: type[Struct]) -> ToolInfo:
    written = Raw(msgspec.json.encode(schema(parameters)))
    return ToolInfo(name=name, description=description, parameters=written, effects=False)


SEARCH = _info(
    "search_knowledge",
    "Search what was learnt in earlier discussions. Every one of the words must be found; use few.",
    SearchKnowledge,
)
READ = _info(
    "read_discussion",
    "Read another discussion: give its id, or words of its title. A long one is shortened.",
    ReadDiscussion,
)
BOARD = _info("read_whiteboard", "Read what is on the whiteboard of this discussion.", ReadWhiteboard)
ALWAYS = (SEARCH, READ)


class OwnTools:
    """The tools as somebody in a discussion may use them: nothing of another tenant is found."""

    def __init__(
        self,
        tenant: str,
        discussion: str,
        discussions: Discussions,
        search: InsightSearch,
        boards: Boards,
    ) -> None:
        self._tenant = tenant
        self._discussion = discussion
        self._discussions = discussions
        self._search = search
        self._boards = boards

    async def tools(self) -> Sequence[ToolInfo]:
        here = await self._discussions.get(self._tenant, self._discussion)
        board = await self._boards.at(self._tenant, self._discussion)
        return (*ALWAYS, BOARD) if here.mode == "directed" or board.elements else ALWAYS

    async def call(self, name: str, arguments: Mapping[str, Any]) -> Outcome:
        try:
            match name:
                case SEARCH.name:
                    return Outcome(await self._searched(msgspec.convert(arguments, SearchKnowledge).words))
                case READ.name:
                    return Outcome(await self._read(msgspec.convert(arguments, ReadDiscussion).discussion))
                case BOARD.name:
                    return Outcome(digest(await self._boards.at(self._tenant, self._discussion)))
        except (UsageError, msgspec.ValidationError) as error:
            return Outcome(str(error), is_error=True)
        return Outcome(f"There is no tool {name!r} here.", is_error=True)

    async def aclose(self) -> None:
        """Nothing is held open."""

    async def _searched(self, words: str) -> str:
        here = await self._discussions.get(self._tenant, self._discussion)
        found = await self._search.find(self._tenant, here.project, words, FOUND)
        return "\n\n".join(map(_told, found)) or "Nothing was found. Try fewer, or other, words."

    async def _read(self, wanted: str) -> str:
        found = await self._meant(wanted.strip())
        if found.id == self._discussion:
            raise UsageError("This is the discussion that you are in.")
        said = await self._discussions.messages(found.id, hidden=False)
        public = [message for message in said if message.audience is None]
        material = await asyncio.to_thread(transcript, public, LONGEST_RESULT - 1000)
        return f"{found.title}\n\n{material.text or 'Nothing was said in it yet.'}"

    async def _meant(self, wanted: str) -> Discussion:
        """Find a discussion by its id, or else by its title."""
        try:
            return await self._discussions.get(self._tenant, wanted)
        except NotFound:
            page = await self._discussions.page(self._tenant, q=wanted, limit=SOME) if wanted else None
        some = [one for one in (page.discussions if page else ()) if one.id != self._discussion]
        titled = [one for one in some if wanted.casefold() in one.title.casefold()] or some
        if not titled:
            raise NotFound(f"There is no discussion {wanted!r}.")
        if len(titled) > 1:
            named = "; ".join(f"{one.id} is {one.title!r}" for one in titled)
            raise UsageError(f"Several may be meant. Give the id of one: {named}.")
        return titled[0]


def _told(insight: Insight) -> str:
    more = f" {insight.suggestion}" if insight.suggestion else ""
    return (
        f"{insight.title} ({insight.kind}, from the discussion {insight.discussion})\n{insight.detail}{more}"
    )

"""Built-in read-only tools: search insights, read another discussion, read the whiteboard."""

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
from msgspec import Raw, Struct

from moot.engine.tools.insight_search import InsightSearch
from moot.engine.whiteboards import Whiteboards
from moot.prompts.tasks.knowledge import transcript_material
from moot.store.discussions.discussions import Discussions
from moot.types.discussions import Discussion
from moot.types.errors import NotFound, UsageError
from moot.types.json_schema import struct_schema
from moot.types.knowledge import Insight
from moot.types.modes import MODES
from moot.types.tools import MAX_RESULT_CHARACTERS, ToolInfo, ToolOutcome
from moot.whiteboard.describe import describe_board

MAX_SEARCH_RESULTS = 10
MAX_TITLE_MATCHES = 5  # discussions listed for an ambiguous title


class SearchKnowledge(Struct, frozen=True):
    query: str


class ReadDiscussion(Struct, frozen=True):
    discussion: str


class ReadWhiteboard(Struct, frozen=True):
    pass


def _tool_info(name: str, description: str, parameters: type[Struct]) -> ToolInfo:
    schema = Raw(msgspec.json.encode(struct_schema(parameters)))
    return ToolInfo(name=name, description=description, parameters=schema, has_effects=False)


SEARCH_TOOL = _tool_info(
    "search_knowledge",
    "Search the insights of earlier discussions. All words must match: use few.",
    SearchKnowledge,
)
READ_DISCUSSION_TOOL = _tool_info(
    "read_discussion",
    "Read another discussion: give its id, or words of its title. A long one is shortened.",
    ReadDiscussion,
)
WHITEBOARD_TOOL = _tool_info("read_whiteboard", "Read what is on the whiteboard of this discussion.", ReadWhiteboard)
ALWAYS_AVAILABLE = (SEARCH_TOOL, READ_DISCUSSION_TOOL)


class BuiltinTools:
    """The `Toolbox` of the built-in tools for one discussion. Every query is limited to its tenant."""

    def __init__(
        self, tenant: str, discussion: str, discussions: Discussions, search: InsightSearch, whiteboards: Whiteboards
    ) -> None:
        self._tenant = tenant
        self._discussion = discussion
        self._discussions = discussions
        self._search = search
        self._whiteboards = whiteboards

    async def list_tools(self) -> Sequence[ToolInfo]:
        discussion = await self._discussions.get_discussion(self._tenant, self._discussion)
        board = await self._whiteboards.whiteboard_at(self._tenant, self._discussion)
        has_whiteboard = MODES[discussion.mode].has_whiteboard or board.elements
        return (*ALWAYS_AVAILABLE, WHITEBOARD_TOOL) if has_whiteboard else ALWAYS_AVAILABLE

    async def call_tool(self, name: str, arguments: Mapping[str, Any]) -> ToolOutcome:
        try:
            match name:
                case SEARCH_TOOL.name:
                    content = await self._search_knowledge(msgspec.convert(arguments, SearchKnowledge).query)
                case READ_DISCUSSION_TOOL.name:
                    content = await self._read_discussion(msgspec.convert(arguments, ReadDiscussion).discussion)
                case WHITEBOARD_TOOL.name:
                    content = describe_board(await self._whiteboards.whiteboard_at(self._tenant, self._discussion))
                case _:
                    return ToolOutcome(f"There is no tool {name!r} here.", is_error=True)
        except (UsageError, msgspec.ValidationError) as error:
            return ToolOutcome(str(error), is_error=True)
        return ToolOutcome(content)

    async def aclose(self) -> None:
        """No-op, as there is no connection to close."""

    async def _search_knowledge(self, words: str) -> str:
        discussion = await self._discussions.get_discussion(self._tenant, self._discussion)
        found = await self._search.search_insights(self._tenant, discussion.project, words, MAX_SEARCH_RESULTS)
        return "\n\n".join(map(_describe_insight, found)) or "Nothing was found. Try fewer or other words."

    async def _read_discussion(self, query: str) -> str:
        found = await self._find_discussion(query.strip())
        if found.id == self._discussion:
            raise UsageError("This is the discussion that you are in.")
        messages = await self._discussions.list_messages(found.id, include_hidden=False)
        public = [message for message in messages if message.visible_to is None]
        material = await asyncio.to_thread(transcript_material, public, MAX_RESULT_CHARACTERS - 1000)
        return f"{found.title}\n\n{material.text or 'It has no messages yet.'}"

    async def _find_discussion(self, query: str) -> Discussion:
        """Find a discussion by id, then by title. Raises NotFound, or UsageError if several match."""
        try:
            return await self._discussions.get_discussion(self._tenant, query)
        except NotFound:
            page = (
                await self._discussions.list_discussions(self._tenant, q=query, limit=MAX_TITLE_MATCHES)
                if query
                else None
            )
        others = [one for one in (page.discussions if page else ()) if one.id != self._discussion]
        titled = [one for one in others if query.casefold() in one.title.casefold()] or others
        if not titled:
            raise NotFound(f"There is no discussion {query!r}.")
        if len(titled) > 1:
            named = "; ".join(f"{one.id} is {one.title!r}" for one in titled)
            raise UsageError(f"Several may be meant. Give the id of one: {named}.")
        return titled[0]


def _describe_insight(insight: Insight) -> str:
    more = f" {insight.suggestion}" if insight.suggestion else ""
    return f"{insight.title} ({insight.kind}, from the discussion {insight.discussion})\n{insight.detail}{more}"

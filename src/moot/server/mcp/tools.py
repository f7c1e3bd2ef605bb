"""The tools that Moot offers over MCP: what each takes, what it says of itself, and what it does."""

from collections.abc import Awaitable, Callable, Sequence
from datetime import UTC, datetime
from itertools import zip_longest
from typing import Annotated, Any

import msgspec
from msgspec import Meta, Struct

from moot.providers.embeddings import HttpEmbedder
from moot.server.errors import NAMED
from moot.server.mcp.ask import Asking, Question, Tell
from moot.server.rate_limits import RateLimits
from moot.server.request_body import without_nul
from moot.server.schemas import Id
from moot.server.validation_messages import worded
from moot.services.knowledge import Knowledge
from moot.store.discussions.discussions import Discussions
from moot.store.library.presets import LineUps
from moot.store.library.projects import Projects
from moot.transcript.export import Transcripts
from moot.transcript.markdown_format import Markdown
from moot.types.accounts import Caller
from moot.types.discussions import Discussion
from moot.types.errors import NotFound, UsageError
from moot.types.knowledge import Insight
from moot.types.participants import Participant

PART = 100_000  # characters of a transcript at once: clients take no message of any size


class Nothing(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A tool that takes nothing."""


class Which(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    q: Annotated[str, Meta(max_length=500, description="Words in titles and messages; none lists all.")] = ""
    limit: Annotated[int, Meta(ge=1, le=50)] = 20


class Part(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    discussion: Annotated[Id, Meta(description="Its id, as ask and list_discussions tell it.")]
    part: Annotated[int, Meta(ge=1, le=10_000, description="A long one comes in parts.")] = 1


class Sought(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    q: Annotated[str, Meta(min_length=1, max_length=500, description="What to look for.")]
    project: Annotated[Id | None, Meta(description="The name or the id of a project; left out, all.")] = None
    limit: Annotated[int, Meta(ge=1, le=50)] = 10


class Result(Struct, frozen=True):
    """What a tool answers: words, and the same as data."""

    text: str
    data: Any
    failed: bool = False


class Tool(Struct, frozen=True, kw_only=True):
    """`reads` tells a tool that changes nothing."""

    name: str
    title: str
    description: str
    takes: type[Struct]
    run: Callable[[Caller, Any, Tell], Awaitable[Result]]
    reads: bool = True

    @property
    def schema(self) -> dict[str, Any]:
        _, known = msgspec.json.schema_components([self.takes])
        return {**known[self.takes.__name__], "title": self.name}

    async def call(self, caller: Caller, arguments: object, tell: Tell) -> Result:
        try:
            taken = msgspec.convert(without_nul(arguments), self.takes)
        except msgspec.ValidationError as error:
            raise UsageError(_misfit(str(error), self.takes)) from error
        return await self.run(caller, taken, tell)


class Tools:
    def __init__(
        self,
        asking: Asking,
        discussions: Discussions,
        transcripts: Transcripts,
        line_ups: LineUps,
        projects: Projects,
        knowledge: Knowledge,
        limits: RateLimits,
        embedder: HttpEmbedder | None,
    ) -> None:
        self._asking = asking
        self._discussions = discussions
        self._transcripts = transcripts
        self._line_ups = line_ups
        self._projects = projects
        self._knowledge = knowledge
        self._limits = limits
        self._embedder = embedder
        offered = (
            Tool(
                name="ask",
                title="Ask several models at one table",
                description="Put a question to a saved line-up or to models, in a mode such as debate, and wait for "
                "what they say. The answer names the discussion, which can be gone on with and read.",
                takes=Question,
                run=self._ask,
                reads=False,
            ),
            Tool(
                name="list_line_ups",
                title="List saved line-ups",
                description="Tell which line-ups there are: who sits there, and how they speak.",
                takes=Nothing,
                run=self._list_line_ups,
            ),
            Tool(
                name="list_discussions",
                title="List or search discussions",
                description="Tell which discussions there are, newest first, or those with all the words of q.",
                takes=Which,
                run=self._list_discussions,
            ),
            Tool(
                name="read_discussion",
                title="Read a discussion",
                description="Give all that was said in a discussion, as Markdown.",
                takes=Part,
                run=self._read,
            ),
            Tool(
                name="search_knowledge",
                title="Search knowledge",
                description="Find what was learnt in the discussions of projects: decisions, problems, solutions.",
                takes=Sought,
                run=self._search,
            ),
        )
        self.offered = {tool.name: tool for tool in offered}

    async def call(self, caller: Caller, name: str, arguments: object, tell: Tell) -> Result:
        if (tool := self.offered.get(name)) is None:
            raise NotFound(f"There is no tool {name!r}: there are {', '.join(self.offered)}.")
        return await tool.call(caller, arguments, tell)

    async def _ask(self, caller: Caller, asked: Question, tell: Tell) -> Result:
        answered = await self._asking.ask(caller, asked, tell)
        return Result(answered.text, answered, failed=answered.failed)

    async def _list_line_ups(self, caller: Caller, _: Nothing, __: Tell) -> Result:
        page = await self._line_ups.page(caller.tenant, limit=100)
        lines = [f"- {one.name} ({one.id}): {one.mode}, {_table(one.participants)}" for one in page.line_ups]
        return _list(lines, {"line_ups": page.line_ups}, "There is no line-up yet: ask models instead.")

    async def _list_discussions(self, caller: Caller, which: Which, _: Tell) -> Result:
        page = await self._discussions.page(caller.tenant, limit=which.limit, q=which.q or None)
        data = {
            "discussions": [{"id": one.id, "title": one.title, "mode": one.mode} for one in page.discussions]
        }
        return _list(list(map(_line, page.discussions)), data, "There is no such discussion.")

    async def _read(self, caller: Caller, wanted: Part, _: Tell) -> Result:
        discussion = await self._discussions.get(caller.tenant, wanted.discussion)
        pieces = self._transcripts.pieces(caller.tenant, discussion, Markdown())
        text = b"".join([piece async for piece in pieces]).decode()
        parts = max(1, -(-len(text) // PART))
        if wanted.part > parts:
            raise UsageError(f"part: this discussion has {parts}.")
        shown = text[(wanted.part - 1) * PART : wanted.part * PART]
        if wanted.part < parts:
            shown += f"\n\n[Part {wanted.part} of {parts}: ask for part {wanted.part + 1}.]"
        return Result(shown, {"discussion": discussion.id, "part": wanted.part, "parts": parts})

    async def _search(self, caller: Caller, sought: Sought, _: Tell) -> Result:
        found: list[Sequence[Insight]] = []
        for project in await self._searched(caller, sought.project):
            if self._embedder is not None:
                await self._limits.start(caller.account)
            found.append(await self._knowledge.search(caller.tenant, project, sought.q, sought.limit))
        best = [one for places in zip_longest(*found) for one in places if one is not None][: sought.limit]
        return _list(list(map(_insight, best)), {"insights": best}, "Nothing is known of that.")

    async def _searched(self, caller: Caller, wanted: str | None) -> Sequence[str]:
        """Return the ids of the projects that are meant."""
        projects = (await self._projects.page(caller.tenant, limit=100)).projects
        if wanted is None:
            return [one.id for one in projects]
        meant = [one.id for one in projects if wanted.casefold() in {one.id.casefold(), one.name.casefold()}]
        if not meant:
            raise NotFound(f"project: nothing is called {wanted!r}.")
        return meant[:1]


def _list(lines: Sequence[str], data: object, otherwise: str) -> Result:
    return Result("\n".join(lines) or otherwise, data)


def _line(one: Discussion) -> str:
    day = datetime.fromtimestamp(one.updated_at, UTC).date()
    return f"- {one.title} ({one.id}): {one.mode}, {_table(one.participants)}, {day}"


def _table(participants: Sequence[Participant]) -> str:
    return ", ".join(f"{who.name} on {who.model}" for who in participants)


def _insight(one: Insight) -> str:
    suggestion = f" {one.suggestion}" if one.suggestion else ""
    return f"- {one.title} ({one.kind}, discussion {one.discussion}): {one.detail}{suggestion}"


def _misfit(message: str, takes: type[Struct]) -> str:
    """Say which argument does not fit, and what would."""
    words, _, path = message.partition(" - at `$")
    field = path.rstrip("`").lstrip(".")
    named = NAMED.fullmatch(words)
    return f"{named[1] if named else field or 'arguments'}: {worded(words, takes, field)}"

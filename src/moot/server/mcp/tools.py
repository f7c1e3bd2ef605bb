"""The tools of the MCP server: input types, descriptions and handlers."""

from collections.abc import Awaitable, Callable, Sequence
from datetime import UTC, datetime
from itertools import zip_longest
from typing import Annotated, Any

import msgspec
from msgspec import Meta, Struct

from moot.providers.embeddings import HttpEmbedder
from moot.server.mcp.ask import AskInput, AskRunner, ProgressCallback
from moot.server.rate_limits import RateLimits
from moot.server.requests import strip_nul
from moot.services.knowledge import KnowledgeService
from moot.services.run_plans import Id
from moot.services.validation_messages import explain_validation_error
from moot.store.stores import Stores
from moot.transcript.export import TranscriptExporter
from moot.transcript.markdown_format import MarkdownFormat
from moot.types.accounts import Caller
from moot.types.discussions import Discussion
from moot.types.errors import NotFound, UsageError
from moot.types.knowledge import Insight
from moot.types.participants import Participant

PART_CHARS = 100_000  # of a transcript in one result: MCP clients limit the size of a message


class NoInput(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The input of a tool without arguments."""


class ListDiscussionsInput(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    q: Annotated[str, Meta(max_length=500, description="Words in titles and messages. Default: all discussions.")] = ""
    limit: Annotated[int, Meta(ge=1, le=50)] = 20


class ReadDiscussionInput(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    discussion: Annotated[Id, Meta(description="The id of a discussion, from ask or list_discussions.")]
    part: Annotated[int, Meta(ge=1, le=10_000, description="The part to return. A long transcript has several.")] = 1


class SearchKnowledgeInput(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    q: Annotated[str, Meta(min_length=1, max_length=500, description="What to search for.")]
    project: Annotated[Id | None, Meta(description="The name or id of a project. Default: all projects.")] = None
    limit: Annotated[int, Meta(ge=1, le=50)] = 10


class ToolOutput(Struct, frozen=True):
    text: str
    data: Any  # the same content as JSON
    failed: bool = False


class McpTool(Struct, frozen=True, kw_only=True):
    name: str
    title: str
    description: str
    input_type: type[Struct]
    handler: Callable[[Caller, Any, ProgressCallback], Awaitable[ToolOutput]]
    read_only: bool = True  # changes nothing

    @property
    def input_schema(self) -> dict[str, Any]:
        _, known = msgspec.json.schema_components([self.input_type])
        return {**known[self.input_type.__name__], "title": self.name}


class McpTools:
    def __init__(
        self,
        stores: Stores,
        ask_runner: AskRunner,
        transcripts: TranscriptExporter,
        knowledge: KnowledgeService,
        limits: RateLimits,
        embedder: HttpEmbedder | None,
    ) -> None:
        self._stores = stores
        self._ask_runner = ask_runner
        self._transcripts = transcripts
        self._knowledge = knowledge
        self._limits = limits
        self._embedder = embedder
        tools = (
            McpTool(
                name="ask",
                title="Ask several models",
                description="Put a question to a saved preset or to models, in a mode such as debate, and wait for "
                "the answers. The result has the id of the discussion, to continue or to read it.",
                input_type=AskInput,
                handler=self._ask_question,
                read_only=False,
            ),
            McpTool(
                name="list_presets",
                title="List saved presets",
                description="List the saved presets with their modes and participants.",
                input_type=NoInput,
                handler=self._list_presets,
            ),
            McpTool(
                name="list_discussions",
                title="List or search discussions",
                description="List the discussions, newest first. With q, list those that contain all its words.",
                input_type=ListDiscussionsInput,
                handler=self._list_discussions,
            ),
            McpTool(
                name="read_discussion",
                title="Read a discussion",
                description="Return the transcript of a discussion as Markdown.",
                input_type=ReadDiscussionInput,
                handler=self._read_discussion,
            ),
            McpTool(
                name="search_knowledge",
                title="Search knowledge",
                description="Search the insights of projects, such as decisions, problems and solutions.",
                input_type=SearchKnowledgeInput,
                handler=self._search_knowledge,
            ),
        )
        self.by_name = {tool.name: tool for tool in tools}

    async def call_tool(
        self, caller: Caller, name: str, arguments: object, report_progress: ProgressCallback
    ) -> ToolOutput:
        if (tool := self.by_name.get(name)) is None:
            raise NotFound(f"There is no tool {name!r}. Use one of {', '.join(self.by_name)}.")
        try:
            parsed = msgspec.convert(strip_nul(arguments), tool.input_type)
        except msgspec.ValidationError as error:
            field, problem = explain_validation_error(str(error), tool.input_type)
            raise UsageError(f"{field or 'arguments'}: {problem}") from error
        return await tool.handler(caller, parsed, report_progress)

    async def _ask_question(self, caller: Caller, request: AskInput, report_progress: ProgressCallback) -> ToolOutput:
        result = await self._ask_runner.ask_question(caller, request, report_progress)
        return ToolOutput(result.text, result, failed=result.failed)

    async def _list_presets(self, caller: Caller, _: NoInput, __: ProgressCallback) -> ToolOutput:
        page = await self._stores.presets.list_presets(caller.tenant, limit=100)
        lines = [f"- {one.name} ({one.id}): {one.mode}, {_participant_list(one.participants)}" for one in page.presets]
        return _list_output(lines, {"presets": page.presets}, "There are no presets yet. Ask models instead.")

    async def _list_discussions(self, caller: Caller, query: ListDiscussionsInput, _: ProgressCallback) -> ToolOutput:
        page = await self._stores.discussions.list_discussions(caller.tenant, limit=query.limit, q=query.q or None)
        data = {"discussions": [{"id": one.id, "title": one.title, "mode": one.mode} for one in page.discussions]}
        return _list_output(list(map(_discussion_line, page.discussions)), data, "There is no such discussion.")

    async def _read_discussion(self, caller: Caller, request: ReadDiscussionInput, _: ProgressCallback) -> ToolOutput:
        discussion = await self._stores.discussions.get_discussion(caller.tenant, request.discussion)
        chunks = self._transcripts.export_chunks(caller.tenant, discussion, MarkdownFormat())
        text = b"".join([chunk async for chunk in chunks]).decode()
        parts = max(1, -(-len(text) // PART_CHARS))
        if request.part > parts:
            raise UsageError(f"part: too high. The last part of this discussion is {parts}.")
        shown = text[(request.part - 1) * PART_CHARS : request.part * PART_CHARS]
        if request.part < parts:
            shown += f"\n\n[Part {request.part} of {parts}. Continue with part {request.part + 1}.]"
        return ToolOutput(shown, {"discussion": discussion.id, "part": request.part, "parts": parts})

    async def _search_knowledge(self, caller: Caller, query: SearchKnowledgeInput, _: ProgressCallback) -> ToolOutput:
        results: list[Sequence[Insight]] = []
        for project in await self._resolve_projects(caller, query.project):
            if self._embedder is not None:
                await self._limits.count_model_request(caller.account)
            results.append(await self._knowledge.search_insights(caller.tenant, project, query.q, query.limit))
        # Interleave the projects, so that the best insight of each comes first.
        best = [one for rank in zip_longest(*results) for one in rank if one is not None][: query.limit]
        return _list_output(list(map(_insight_line, best)), {"insights": best}, "No insights match.")

    async def _resolve_projects(self, caller: Caller, name_or_id: str | None) -> Sequence[str]:
        """Return project ids; all projects if `name_or_id` is None. Raises `NotFound` for an unknown one."""
        projects = (await self._stores.projects.list_projects(caller.tenant, limit=100)).projects
        if name_or_id is None:
            return [one.id for one in projects]
        matches = [one.id for one in projects if name_or_id.casefold() in {one.id.casefold(), one.name.casefold()}]
        if not matches:
            raise NotFound(f"project: there is no project {name_or_id!r}.")
        return matches[:1]


def _list_output(lines: Sequence[str], data: object, empty_text: str) -> ToolOutput:
    return ToolOutput("\n".join(lines) or empty_text, data)


def _discussion_line(one: Discussion) -> str:
    day = datetime.fromtimestamp(one.updated_at, UTC).date()
    return f"- {one.title} ({one.id}): {one.mode}, {_participant_list(one.participants)}, {day}"


def _participant_list(participants: Sequence[Participant]) -> str:
    return ", ".join(f"{participant.name} on {participant.model}" for participant in participants)


def _insight_line(one: Insight) -> str:
    suggestion = f" {one.suggestion}" if one.suggestion else ""
    return f"- {one.title} ({one.kind}, discussion {one.discussion}): {one.detail}{suggestion}"

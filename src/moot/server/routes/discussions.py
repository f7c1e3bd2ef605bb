"""Routes for discussions, their messages and the prompts of their turns."""

from typing import Annotated

from litestar import Controller, delete, get, patch, post
from litestar.di import NamedDependency as Given
from litestar.di import Provide
from litestar.params import FromPath, FromQuery, JSONBody, QueryParameter
from msgspec import Meta, Struct

from moot.engine.attachments import Attachments
from moot.prompts.parts import PromptParts, build_prompt_parts
from moot.server.rate_limits import RateLimits, message_rate
from moot.server.requests import IdempotencyKey, PageCursor, PageLimit
from moot.services.discussions import DiscussionService, NewMessage, StartedRun
from moot.services.prompt_replay import PromptReplay, ReplayedPrompt
from moot.services.run_plans import (
    DiscussionChange,
    DiscussionDraft,
    FileIds,
    Id,
    MessageText,
    RunPlanner,
    require_text,
)
from moot.store.database import Database
from moot.store.discussions.discussions import DiscussionPage, Discussions
from moot.store.runs.event_log import load_results_and_notices
from moot.types.accounts import Caller
from moot.types.billing import MaxCostUsd
from moot.types.discussions import Discussion, DiscussionStatus, Message, Run
from moot.types.events import Notice, ReferenceSummarized
from moot.types.requests import ModelRequest

BeforeSeq = Annotated[int | None, QueryParameter(ge=1, le=2**63 - 1, description="Older than this message")]
SearchText = Annotated[str | None, QueryParameter(max_length=500, description="Words in titles and messages")]


class MessageDraft(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    message: MessageText
    # Participant ids. Only these participants see the message and answer it.
    to: Annotated[tuple[Id, ...], Meta(min_length=1, max_length=24)] | None = None
    files: FileIds = ()
    max_cost_usd: MaxCostUsd | None = None  # US dollars for this run


class ContinueRequest(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    turns: Annotated[int, Meta(ge=1, le=50)] = 1


class DiscussionDetail(Struct, frozen=True, kw_only=True):
    """A discussion with one page of messages, by default the newest."""

    discussion: Discussion
    messages: tuple[Message, ...]
    before: int | None  # query parameter for the previous page; None: this is the first page
    runs: tuple[Run, ...]  # active runs
    notices: tuple[Notice | ReferenceSummarized, ...]  # notices and reference summaries of the runs on this page


class AcceptedRun(Struct, frozen=True, kw_only=True):
    message: Message | None  # None if the run continues without a user message
    run: Run


async def _replay_prompt(
    id: FromPath[str],
    turn: FromPath[str],
    caller: Given[Caller],
    discussions: Given[Discussions],
    prompt_replay: Given[PromptReplay],
) -> ReplayedPrompt:
    await discussions.get_discussion(caller.tenant, id)
    return await prompt_replay.replay_prompt(caller.tenant, await discussions.get_message(id, turn), only_text=True)


REPLAYED_PROMPT = {"replayed_prompt": Provide(_replay_prompt)}


class DiscussionRoutes(Controller):
    path = "/api/discussions"
    tags = ("discussions",)

    @post(guards=[message_rate], summary="Create a discussion with its first message")
    async def create_discussion(
        self,
        data: JSONBody[DiscussionDraft],
        caller: Given[Caller],
        discussion_service: Given[DiscussionService],
        run_planner: Given[RunPlanner],
        rate_limits: Given[RateLimits],
        idempotency_key: IdempotencyKey = None,
    ) -> StartedRun:
        """Respond before any model is called. The answers arrive as events of the run."""
        new_discussion, prompts = await run_planner.check_draft(caller.tenant, data)
        await rate_limits.count_run_start(caller.account, new_discussion.mode)
        return await discussion_service.create(caller, new_discussion, idempotency_key, prompts)

    @get(summary="List discussions, newest first")
    async def list_discussions(
        self,
        caller: Given[Caller],
        discussions: Given[Discussions],
        cursor: PageCursor = None,
        limit: PageLimit = 50,
        status: FromQuery[DiscussionStatus | None] = None,
        project: FromQuery[str | None] = None,
        q: SearchText = None,
    ) -> DiscussionPage:
        return await discussions.list_discussions(
            caller.tenant, cursor=cursor, limit=limit, status=status, project=project, q=q
        )

    @get("/{id:str}", summary="Get a discussion with its newest messages")
    async def get_discussion(
        self,
        id: FromPath[str],
        caller: Given[Caller],
        discussions: Given[Discussions],
        database: Given[Database],
        before: BeforeSeq = None,
        limit: PageLimit = 50,
    ) -> DiscussionDetail:
        discussion = await discussions.get_discussion(caller.tenant, id)
        messages = await discussions.list_messages(id, before=before, limit=limit + 1, include_hidden=False)
        page = messages[-limit:]
        results = await load_results_and_notices(
            database, {one.run for one in page if one.run}, Notice, ReferenceSummarized
        )
        return DiscussionDetail(
            discussion=discussion,
            messages=page,
            before=page[0].seq if len(messages) > limit else None,
            runs=await discussions.live_runs(caller.tenant, id),
            notices=tuple(one for one in results if isinstance(one, (Notice, ReferenceSummarized))),
        )

    @patch("/{id:str}", summary="Change a discussion; omitted fields keep their value")
    async def update_discussion(
        self,
        id: FromPath[str],
        data: JSONBody[DiscussionChange],
        caller: Given[Caller],
        discussions: Given[Discussions],
        run_planner: Given[RunPlanner],
    ) -> Discussion:
        """Active runs keep their settings. The change applies to the next run."""
        current = await discussions.get_discussion(caller.tenant, id)
        changes = await run_planner.check_change(caller.tenant, data, current)
        return await discussions.update_discussion(caller.tenant, id, changes) if changes else current

    @post("/{id:str}/messages", status_code=202, guards=[message_rate], summary="Send a message")
    async def send_message(
        self,
        id: FromPath[str],
        data: JSONBody[MessageDraft],
        caller: Given[Caller],
        discussion_service: Given[DiscussionService],
        discussions: Given[Discussions],
        rate_limits: Given[RateLimits],
        idempotency_key: IdempotencyKey = None,
    ) -> AcceptedRun:
        """Start a run that answers the message. Active runs are interrupted; their partial answers are kept."""
        await rate_limits.count_run_start(caller.account, (await discussions.get_discussion(caller.tenant, id)).mode)
        new_message = NewMessage(
            discussion=id,
            message=require_text(data.message),
            to=data.to,
            files=data.files,
            max_cost_usd=data.max_cost_usd,
        )
        started = await discussion_service.send_message(caller, new_message, idempotency_key)
        return AcceptedRun(message=started.message, run=started.run)

    @post("/{id:str}/continue", status_code=202, guards=[message_rate], summary="Continue without a user message")
    async def continue_discussion(
        self,
        id: FromPath[str],
        caller: Given[Caller],
        discussion_service: Given[DiscussionService],
        data: JSONBody[ContinueRequest | None] = None,
        idempotency_key: IdempotencyKey = None,
    ) -> AcceptedRun:
        """Run `turns` more turns, starting with the participant after the last speaker."""
        started = await discussion_service.continue_(caller, id, data.turns if data else 1, idempotency_key)
        return AcceptedRun(message=started.message, run=started.run)

    @post("/{id:str}/archive", status_code=200, summary="Archive a discussion")
    async def archive_discussion(
        self, id: FromPath[str], caller: Given[Caller], discussions: Given[Discussions]
    ) -> Discussion:
        return await discussions.update_discussion(caller.tenant, id, {"status": "archived"})

    @delete("/{id:str}", summary="Delete a discussion and its messages")
    async def delete_discussion(
        self, id: FromPath[str], caller: Given[Caller], discussions: Given[Discussions]
    ) -> None:
        await discussions.delete_discussion(caller.tenant, id)

    @get("/{id:str}/turns/{turn:str}/prompt", dependencies=REPLAYED_PROMPT, summary="Get the prompt of a turn")
    async def get_turn_prompt(
        self, replayed_prompt: Given[ReplayedPrompt], attachments: Given[Attachments]
    ) -> ModelRequest:
        """Rebuild the prompt of a turn from the stored state, with the code that built it for the model.

        `turn` is the id of the answer. Files that were sent as binary have no `data` here.
        """
        model = replayed_prompt.answer.model or replayed_prompt.participant.model
        return await attachments.readable_request(replayed_prompt.build_request(), model)

    @get(
        "/{id:str}/turns/{turn:str}/prompt/parts",
        dependencies=REPLAYED_PROMPT,
        summary="Get the parts of a turn's prompt",
    )
    async def get_turn_prompt_parts(
        self, replayed_prompt: Given[ReplayedPrompt], attachments: Given[Attachments]
    ) -> PromptParts:
        """Each part has a kind, an author and an estimated number of tokens."""
        who = replayed_prompt.participant
        model = replayed_prompt.answer.model or who.model
        pieces = await attachments.readable_pieces(replayed_prompt.prompt_pieces(), model)
        rate = replayed_prompt.plan.limits_for_model(who.model).characters_per_token
        return build_prompt_parts(who.model, pieces, rate, who.tools)

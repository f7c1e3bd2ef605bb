"""Discussions over HTTP: open, list, read, change, speak, go on, archive, delete, and see what was sent."""

from typing import Annotated

from litestar import Controller, delete, get, patch, post
from litestar.di import NamedDependency as Given
from litestar.params import FromPath, FromQuery, JSONBody, QueryParameter
from msgspec import Struct

from moot.engine.attachments import Attachments
from moot.prompts.parts import PromptParts, build_prompt_parts
from moot.server.draft_validation import DraftValidator
from moot.server.rate_limits import RateLimits, message_rate
from moot.server.schemas import (
    ContinueRequest,
    DiscussionChange,
    DiscussionDraft,
    IdempotencyKey,
    MessageDraft,
    PageCursor,
    PageLimit,
    require_text,
)
from moot.services.discussions import DiscussionService, NewMessage, StartedRun
from moot.services.prompt_replay import PromptReplay
from moot.store.database import Database
from moot.store.discussions.discussions import DiscussionPage, Discussions
from moot.store.runs.findings import load_results_and_notices
from moot.types.accounts import Caller
from moot.types.discussions import Discussion, DiscussionStatus, Message, Run
from moot.types.events import Notice, Recapped
from moot.types.requests import ModelRequest

BeforeSeq = Annotated[int | None, QueryParameter(ge=1, le=2**63 - 1, description="Older than this message")]
SearchText = Annotated[str | None, QueryParameter(max_length=500, description="Words in titles and messages")]


class DiscussionDetail(Struct, frozen=True, kw_only=True):
    """A discussion with its newest messages; `before` asks for the page before them, if there is one.

    `told` is what was told in their runs beside words: notices, and of what else there are recaps.
    """

    discussion: Discussion
    messages: tuple[Message, ...]
    before: int | None
    runs: tuple[Run, ...]
    told: tuple[Notice | Recapped, ...]


class AcceptedRun(Struct, frozen=True, kw_only=True):
    """What was said, unless the table goes on by itself, and the run that answers."""

    message: Message | None
    run: Run


class DiscussionRoutes(Controller):
    path = "/api/discussions"
    tags = ("discussions",)

    @post(guards=[message_rate], summary="Open a discussion with its first message")
    async def create_discussion(
        self,
        data: JSONBody[DiscussionDraft],
        caller: Given[Caller],
        discussion_service: Given[DiscussionService],
        draft_validator: Given[DraftValidator],
        rate_limits: Given[RateLimits],
        idempotency_key: IdempotencyKey = None,
    ) -> StartedRun:
        """Answer before any model is called: what they say comes as the events of the run."""
        opening = await draft_validator.validate_draft(caller, data, data.participants)
        await rate_limits.count_run_start(caller.account, opening.mode)
        return await discussion_service.create(caller, opening, idempotency_key)

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

    @get("/{id:str}", summary="Read a discussion and the newest that was said in it")
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
        told = await load_results_and_notices(
            database, {one.run for one in page if one.run}, Notice, Recapped
        )
        return DiscussionDetail(
            discussion=discussion,
            messages=page,
            before=page[0].number if len(messages) > limit else None,
            runs=await discussions.live_runs(caller.tenant, id),
            told=tuple(one for one in told if isinstance(one, (Notice, Recapped))),
        )

    @patch("/{id:str}", summary="Change a discussion; what is left out stays as it is")
    async def update_discussion(
        self,
        id: FromPath[str],
        data: JSONBody[DiscussionChange],
        caller: Given[Caller],
        discussions: Given[Discussions],
        draft_validator: Given[DraftValidator],
    ) -> Discussion:
        """Runs that have begun go on as they are; the next one is as it says now."""
        now = await discussions.get_discussion(caller.tenant, id)
        changes = await draft_validator.validate_change(caller, data, now)
        return await discussions.update_discussion(caller.tenant, id, changes) if changes else now

    @post("/{id:str}/messages", status_code=202, guards=[message_rate], summary="Say something")
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
        """Start a run that answers; one that is still going on ends, and what it said so far is seen."""
        await rate_limits.count_run_start(
            caller.account, (await discussions.get_discussion(caller.tenant, id)).mode
        )
        saying = NewMessage(
            discussion=id, message=require_text(data.message), to=data.to, files=data.files, cap=data.cap
        )
        started = await discussion_service.send_message(caller, saying, idempotency_key)
        return AcceptedRun(message=started.message, run=started.run)

    @post("/{id:str}/continue", status_code=202, guards=[message_rate], summary="Let the table go on")
    async def continue_discussion(
        self,
        id: FromPath[str],
        caller: Given[Caller],
        discussion_service: Given[DiscussionService],
        data: JSONBody[ContinueRequest | None] = None,
        idempotency_key: IdempotencyKey = None,
    ) -> AcceptedRun:
        """Let the participants after the last speaker go on by themselves, for so many turns."""
        started = await discussion_service.continue_(caller, id, data.turns if data else 1, idempotency_key)
        return AcceptedRun(message=started.message, run=started.run)

    @post("/{id:str}/archive", status_code=200, summary="Put a discussion away")
    async def archive_discussion(
        self, id: FromPath[str], caller: Given[Caller], discussions: Given[Discussions]
    ) -> Discussion:
        return await discussions.update_discussion(caller.tenant, id, {"status": "archived"})

    @delete("/{id:str}", summary="Delete a discussion and all that was said in it")
    async def delete_discussion(
        self, id: FromPath[str], caller: Given[Caller], discussions: Given[Discussions]
    ) -> None:
        await discussions.delete_discussion(caller.tenant, id)

    @get("/{id:str}/turns/{turn:str}/prompt", summary="What a participant was sent")
    async def get_turn_prompt(
        self,
        id: FromPath[str],
        turn: FromPath[str],
        caller: Given[Caller],
        discussions: Given[Discussions],
        prompt_replay: Given[PromptReplay],
        attachments: Given[Attachments],
    ) -> ModelRequest:
        """Make the prompt of a turn again, by the function that made it, from what was there then.

        `turn` is the id of the message that came of it. Files that were sent as they are have no `data` here.
        """
        await discussions.get_discussion(caller.tenant, id)
        answer = await discussions.get_message(id, turn)
        told = await prompt_replay.replay_prompt(caller.tenant, answer, only_text=True)
        return await attachments.readable_request(
            told.build_request(), answer.model or told.participant.model
        )

    @get("/{id:str}/turns/{turn:str}/prompt/parts", summary="What a participant was sent, taken apart")
    async def get_turn_prompt_parts(
        self,
        id: FromPath[str],
        turn: FromPath[str],
        caller: Given[Caller],
        discussions: Given[Discussions],
        prompt_replay: Given[PromptReplay],
        attachments: Given[Attachments],
    ) -> PromptParts:
        """Say of every part of a turn's prompt what it is, whose words it holds, and how many tokens it takes, about."""
        await discussions.get_discussion(caller.tenant, id)
        answer = await discussions.get_message(id, turn)
        told = await prompt_replay.replay_prompt(caller.tenant, answer, only_text=True)
        pieces = await attachments.readable_pieces(
            told.prompt_pieces(), answer.model or told.participant.model
        )
        rate = told.plan.limits_for_model(told.participant.model).characters_per_token
        return build_prompt_parts(told.participant.model, pieces, rate, told.participant.tools)

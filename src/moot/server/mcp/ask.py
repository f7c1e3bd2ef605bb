"""The MCP tool `ask`: starts a run, reports its progress and returns the answers."""

import asyncio
import re
from collections.abc import Awaitable, Callable, Iterator
from contextlib import aclosing, contextmanager
from typing import Annotated

import msgspec
from msgspec import Meta, Struct

from moot.engine.events.hub import EventHub, decode_frame
from moot.engine.tools.approvals import approval_instructions
from moot.server.auth import Revocations
from moot.server.rate_limits import RateLimits
from moot.services.discussions import DiscussionService, NewMessage, StartedRun
from moot.services.run_plans import DiscussionDraft, Id, MessageText, RunPlanner, require_text
from moot.store.stores import Stores
from moot.types.accounts import Caller
from moot.types.billing import MaxCostUsd
from moot.types.chunks import LENGTH_LIMIT_NOTE
from moot.types.errors import Forbidden, NotFound, UsageError
from moot.types.events import (
    ANSWERED_STATUSES,
    ApprovalRequested,
    Event,
    Notice,
    StageStarted,
    TextDelta,
    TurnEnded,
    TurnStarted,
    TurnStatus,
)
from moot.types.modes import LESSON_STAGE, ModeName, stage_title
from moot.types.presets import Preset
from moot.types.primitives import ModelName
from moot.types.run_state import RunState

PROGRESS_INTERVAL_SECONDS = 0.5  # between two previews of streamed text
TAIL_CHARS = 80  # of streamed text in the live preview, per participant
MAX_RESULT_CHARS = 300_000  # of one tool result: MCP clients limit the size of a message

ProgressCallback = Callable[[float, str], Awaitable[None]]


class AskInput(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The question goes to exactly one of: a preset, models, an existing discussion."""

    question: Annotated[MessageText, Meta(description="The question for the participants.")]
    preset: Annotated[Id | None, Meta(description="The name or id of a saved preset. list_presets returns them.")] = (
        None
    )
    models: Annotated[
        Annotated[list[ModelName], Meta(min_length=1, max_length=24)] | None,
        Meta(description="The models to ask, each as provider/model. A model may occur twice."),
    ] = None
    mode: Annotated[
        ModeName | None,
        Meta(
            description="How the models answer: single (one model), parallel (independently), consensus (in rounds, "
            "reading each other), debate (first alone, then as rebuttals, with a synthesis), advisors (each as a "
            "private advisor), directed (one at a time, selected by a director). Default: the mode of the preset, or "
            "single for one model and parallel for several."
        ),
    ] = None
    discussion: Annotated[
        Id | None, Meta(description="The id of a discussion to continue. Default: a new discussion.")
    ] = None
    max_cost_usd: Annotated[
        MaxCostUsd | None, Meta(description="Start no further turns once the run has cost this much (US dollars).")
    ] = None


class ParticipantAnswer(Struct, frozen=True, kw_only=True):
    participant: str
    name: str
    model: str
    status: TurnStatus
    text: str
    fault: str | None = None  # why the answer is missing or incomplete


class AskResult(Struct, frozen=True, kw_only=True):
    discussion: str
    run: str
    status: str
    answers: tuple[ParticipantAnswer, ...]

    @property
    def text(self) -> str:
        return f"{render_answers(self.answers)}\n\nDiscussion {self.discussion}: {self.status}."

    @property
    def failed(self) -> bool:
        return not any(one.status in ANSWERED_STATUSES or one.text for one in self.answers)


def render_answers(answers: tuple[ParticipantAnswer, ...]) -> str:
    """Render answers as Markdown. Several answers get headings with the names."""
    blocks = [block for one in answers for block in _answer_blocks(one, alone=len(answers) == 1)]
    text = "\n\n".join(blocks) or "No participant answered."
    if len(text) <= MAX_RESULT_CHARS:
        return text
    return f"{text[:MAX_RESULT_CHARS]}\n\n[The rest is omitted. read_discussion returns the whole text.]"


def _answer_blocks(one: ParticipantAnswer, *, alone: bool) -> Iterator[str]:
    if not alone:
        yield f"## {one.name} ({one.model})"
    if one.text:
        yield one.text
    if one.fault:
        yield f"[{one.fault}]" if one.status == "completed" else f"[{one.status}: {one.fault}]"
    elif one.status not in ANSWERED_STATUSES:
        yield f"[{one.status}]"


class McpRunReport:
    """Texts for an MCP client, from the state of one run."""

    def __init__(self) -> None:
        self.characters = 0  # streamed so far, of all participants
        self.run = RunState()

    def apply_event(self, event: Event) -> str | None:
        """Return a progress message, or None if the event needs none."""
        self.run.apply(event)
        match event:
            case TextDelta(text=text):
                self.characters += len(text)
            case StageStarted(stage=stage, round=round_):
                return f"Stage: {stage_title(stage, round_)}."
            case TurnStarted():
                return f"{self._participant_name(event.participant)} is asked ({event.model})."
            case Notice(message=message):
                return message
            case ApprovalRequested():
                return approval_instructions(self._participant_name(event.participant), event)
            case TurnEnded():
                return f"{self._participant_name(event.participant)} has ended: {event.status}."
        return None

    @property
    def live_preview(self) -> str:
        """The end of the streamed text of each active participant."""
        tails = {turn.key.participant: turn.text[-TAIL_CHARS:].split() for turn in self.run.live_turns}
        return "\n".join(f"{self._participant_name(who)}: {' '.join(tail)}" for who, tail in tails.items() if tail)

    @property
    def final_answers(self) -> tuple[ParticipantAnswer, ...]:
        """The synthesis if there is one; all turns of a lesson; else the last answer of each participant."""
        turns = list({turn.turn_key: turn for turn in self.run.ended_turns}.values())
        syntheses = [turn for turn in turns if turn.stage == "synthesis" and turn.status in ANSWERED_STATUSES]
        if syntheses:
            return (self._participant_answer(syntheses[-1]),)
        if any(turn.stage == LESSON_STAGE for turn in turns):
            return tuple(map(self._participant_answer, turns))
        last: dict[str, TurnEnded] = {}
        for turn in turns:
            if turn.status in ANSWERED_STATUSES or turn.participant not in last:
                last[turn.participant] = turn
        return tuple(self._participant_answer(last[id]) for id in self.run.names if id in last)

    def _participant_answer(self, turn: TurnEnded) -> ParticipantAnswer:
        return ParticipantAnswer(
            participant=turn.participant,
            name=self._participant_name(turn.participant),
            model=turn.model,
            status=turn.status,
            text="\n\n".join(part.strip() for part in (turn.message.text, turn.message.details) if part.strip()),
            fault=turn.fault.message if turn.fault else LENGTH_LIMIT_NOTE if turn.finish_reason == "length" else None,
        )

    def _participant_name(self, participant: str) -> str:
        return self.run.names.get(participant, participant)


class AskRunner:
    def __init__(
        self,
        stores: Stores,
        discussion_service: DiscussionService,
        run_planner: RunPlanner,
        limits: RateLimits,
        event_hub: EventHub,
        revocations: Revocations,
    ) -> None:
        self._stores = stores
        self._discussion_service = discussion_service
        self._run_planner = run_planner
        self._limits = limits
        self._event_hub = event_hub
        self._revocations = revocations
        self._stop_tasks: set[asyncio.Task[None]] = set()

    async def ask_question(self, caller: Caller, request: AskInput, report_progress: ProgressCallback) -> AskResult:
        """If the client cancels the request, stop the run. A shutdown of this server does not stop the run."""
        start_task = asyncio.create_task(self._start_run(caller, request))
        try:
            # A cancelled request must not interrupt the transaction that creates the run; `_stop_run` needs its id.
            started = await asyncio.shield(start_task)
            return await self._wait_for_result(caller, started, report_progress)
        except asyncio.CancelledError:
            if not self._discussion_service.draining:
                # The set keeps a reference, because asyncio keeps only weak references to tasks.
                self._stop_tasks.add(stop_task := asyncio.create_task(self._stop_run(caller, start_task)))
                stop_task.add_done_callback(self._stop_tasks.discard)
            raise

    async def _start_run(self, caller: Caller, request: AskInput) -> StartedRun:
        text = require_text(request.question, "question")
        if sum(value is not None for value in (request.preset, request.models, request.discussion)) != 1:
            raise UsageError("Name exactly one of preset, models and discussion.")
        await self._limits.count_message(caller.account)
        if request.discussion is not None:
            return await self._continue_discussion(caller, request.discussion, request, text)
        draft = await self._build_draft(caller, request)
        with _rename_error_field(request):
            new_discussion, prompts = await self._run_planner.check_draft(caller.tenant, draft)
        await self._limits.count_run_start(caller.account, new_discussion.mode)
        return await self._discussion_service.create(caller, new_discussion, prompts=prompts)

    async def _continue_discussion(self, caller: Caller, id: str, request: AskInput, words: str) -> StartedRun:
        discussion = await self._stores.discussions.get_discussion(caller.tenant, id)
        if request.mode not in {None, discussion.mode}:
            raise UsageError(
                f"mode: this discussion has the mode {discussion.mode}. Omit mode, or start a new discussion."
            )
        await self._limits.count_run_start(caller.account, discussion.mode)
        return await self._discussion_service.send_message(
            caller, NewMessage(discussion=id, message=words, max_cost_usd=request.max_cost_usd)
        )

    async def _build_draft(self, caller: Caller, request: AskInput) -> DiscussionDraft:
        if request.preset is None:
            return DiscussionDraft(
                message=request.question,
                participants=list(request.models or ()),
                mode=request.mode,
                max_cost_usd=request.max_cost_usd,
            )
        preset = await self._find_preset(caller, request.preset)
        values = msgspec.to_builtins(preset) | {"message": request.question, "max_cost_usd": request.max_cost_usd}
        fields = {name: values[name] for name in DiscussionDraft.__struct_fields__ if name in values}
        return msgspec.convert(fields | {"mode": request.mode or preset.mode}, DiscussionDraft)

    async def _find_preset(self, caller: Caller, name_or_id: str) -> Preset:
        """Find a preset by id or by name, ignoring case. The newest wins."""
        names: list[str] = []
        cursor: str | None = None
        while True:
            page = await self._stores.presets.list_presets(caller.tenant, cursor=cursor)
            for one in page.presets:
                if one.id == name_or_id or one.name.casefold() == name_or_id.casefold():
                    return one
            names += [one.name for one in page.presets]
            if (cursor := page.next) is None:
                break
        known = f"There are {', '.join(names[:20])}." if names else "There is none yet. Name models instead."
        raise NotFound(f"preset: there is no preset {name_or_id!r}. {known}")

    async def _wait_for_result(
        self, caller: Caller, started: StartedRun, report_progress: ProgressCallback
    ) -> AskResult:
        """Raises `Forbidden` if the credential is deleted, and `NotFound` if the discussion is deleted."""
        follow_task = asyncio.create_task(self._follow_run(caller, started.run.id, report_progress))
        try:
            with self._revocations.watch_credential(caller, follow_task.cancel):
                await asyncio.wait({follow_task})
        finally:
            follow_task.cancel()
        if follow_task.cancelled():
            raise Forbidden("The credential was deleted during the run. Create a new token.")
        report = follow_task.result()
        if report.run.status is None:
            raise NotFound("The discussion was deleted during the run.")
        return AskResult(
            discussion=started.discussion.id, run=started.run.id, status=report.run.status, answers=report.final_answers
        )

    async def _follow_run(self, caller: Caller, run: str, report_progress: ProgressCallback) -> McpRunReport:
        report, previewed_at = McpRunReport(), 0.0
        clock = asyncio.get_running_loop().time
        progress = await self._stores.events.run_progress(caller.tenant, run)
        async with aclosing(self._event_hub.subscribe(run, 0, progress)) as frames:
            async for batch in frames:
                for frame in batch:
                    if message := report.apply_event(decode_frame(frame)):
                        await report_progress(report.characters, message)
                if clock() - previewed_at >= PROGRESS_INTERVAL_SECONDS and (preview := report.live_preview):
                    previewed_at = clock()
                    await report_progress(report.characters, preview)
        return report

    async def _stop_run(self, caller: Caller, start_task: "asyncio.Task[StartedRun]") -> None:
        """Wait for the start first: the request may be cancelled before the run has an id."""
        await asyncio.wait({start_task})
        if not start_task.cancelled() and start_task.exception() is None:
            await self._stores.runs.request_stop(caller.tenant, start_task.result().run.id)


@contextmanager
def _rename_error_field(request: AskInput) -> Iterator[None]:
    """Rename `participants[i].model` in errors to `models[i]`, which is the field the client sent."""
    try:
        yield
    except UsageError as error:
        message = re.sub(r"^participants\[(\d+)\]\.model", r"models[\1]", str(error))
        if request.models is None or message == str(error):
            raise
        raise UsageError(message) from error

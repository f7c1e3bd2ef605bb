"""Turn runner: builds the prompt of a turn, calls the model, and commits the answer.

A turn that is already stored is not called or charged again, so a run can be replayed after a crash.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import Protocol

from msgspec import Struct
from msgspec.structs import asdict, replace

from moot.engine.tools.session import ToolSession
from moot.engine.tools.toolset import Toolset
from moot.engine.turns.attempts import NewLessonParser
from moot.engine.turns.model_caller import ModelCaller
from moot.engine.turns.outcomes import LATE_MESSAGE, rejection_turn_end, stop_message, turn_charge, turn_message
from moot.engine.turns.token_estimates import PROMPT_CHARS_CEILING, estimate_usage, max_prompt_chars
from moot.modes.table import BuildInstructions
from moot.prompts.builder import build_model_request
from moot.prompts.lesson import replay_messages
from moot.prompts.parts import AttachmentsByMessage
from moot.prompts.visibility import View, everything, messages_visible_to_all
from moot.providers.registry import ResolvedModel
from moot.streaming.cancellation import StopSignal, wait_at_most
from moot.streaming.lesson_turn import LessonTurnParser
from moot.streaming.speaker_labels import SpeakerNames
from moot.types.action_docs import lesson_item_schema
from moot.types.billing import Charge, format_usd
from moot.types.debate import Lane, LaneStatus
from moot.types.discussions import Message, MessageRole
from moot.types.errors import UsageError
from moot.types.events import (
    ANSWERED_STATUSES,
    STATUS_BY_STOP_REASON,
    AnalysisResult,
    Event,
    InstructionsSent,
    Notice,
    TurnEnded,
    TurnKey,
    TurnStatus,
)
from moot.types.faults import make_fault
from moot.types.participants import Participant
from moot.types.primitives import new_id
from moot.types.run_plan import RunPlan

TOOL_OPEN_SECONDS = 90.0  # for all tool servers together; each has a shorter timeout

ResolveParticipantModel = Callable[[Participant], Awaitable[Sequence[ResolvedModel]]]


class RunTranscript(Protocol):
    """Messages and results of a run, and the methods that add to them.

    `StoredTranscript` writes to the database, `MemoryTranscript` keeps everything in memory.
    """

    @property
    def messages(self) -> Sequence[Message]: ...

    @property
    def analysis_results(self) -> Sequence[AnalysisResult]: ...

    @property
    def spent_usd(self) -> float:
        """Cost of the run until now, including failed calls; calls without a known price count 0."""
        ...

    def has_open_turn(self, turn_key: TurnKey) -> bool:
        """Whether clients have received events of the turn, but not its end."""
        ...

    async def append_events(self, events: list[Event]) -> None:
        """Queue events without waiting until they are stored."""
        ...

    async def commit_event(
        self, event: Event, message: Message | None = None, *, lanes: Sequence[Lane] = (), charge: Charge | None = None
    ) -> int:
        """Store an event and its records in one transaction; return the message number after the commit."""
        ...

    def discard_failed_turns(self, participant: str) -> None:
        """Remove failed turns of the participant and their instructions from `messages`, before a retry."""
        ...


class RunContext(Struct, frozen=True, kw_only=True):
    """What the turns and analyses of a run share."""

    run: str
    discussion: str  # empty if the run is not stored
    plan: RunPlan
    revision: int = 0  # raised by each retry
    attachments: AttachmentsByMessage
    transcript: RunTranscript
    resolve_model: ResolveParticipantModel
    model_caller: ModelCaller
    stop: StopSignal  # of the whole run
    tool_session: ToolSession | None


class TurnOptions(Struct, frozen=True, kw_only=True):
    view: View = everything  # selects the visible messages
    instructions: str = ""  # added to the prompt, not stored as a message
    build_instructions: BuildInstructions | None = None  # builds a hidden message that is stored before the turn
    role: MessageRole = "assistant"  # of the stored answer
    lane_status: LaneStatus | None = None  # if set, the turn runs in a lane, which gets this status with an answer
    with_actions: bool = False  # the answer is a JSON array of speech and actions


class TurnRunner:
    def __init__(self, context: RunContext) -> None:
        self.plan = context.plan
        self.stop_signals = {who.id: StopSignal(context.stop) for who in context.plan.participants}
        self._context = context
        self._transcript = context.transcript

    async def run(self, turn_key: TurnKey, options: TurnOptions) -> TurnStatus:
        if (stored := self._find_stored_turn(turn_key)) is not None:
            return stored.status
        if (stopped := await self._stop_before_start(turn_key, options)) is not None:
            return stopped
        participant = self.plan.find_participant(turn_key.participant)
        try:
            chain = await self._context.resolve_model(participant)
        except UsageError as error:  # for example a missing key; only this turn fails
            return await self._commit_turn(
                rejection_turn_end(turn_key, participant, error), options, self._newest_message_seq()
            )
        instructions = await self._instructions_message(turn_key, options, chain)
        if instructions and not options.with_actions and (answer := self._find_answer_to(instructions, turn_key)):
            return answer.status
        return await self._call_and_commit(turn_key, participant, options, chain, instructions)

    def reset_participant(self, participant: str, plan: RunPlan) -> None:
        """Prepare a retry of the participant. The plan may have another model for it."""
        self.plan = plan
        self.stop_signals[participant] = StopSignal(self._context.stop)
        self._transcript.discard_failed_turns(participant)

    def reset_late_participants(self) -> None:
        """Let participants that timed out in the last stage take part in the next one."""
        for participant, stop in self.stop_signals.items():
            if stop.reason == "late":
                self.stop_signals[participant] = StopSignal(self._context.stop)

    async def estimate_turn_cost(
        self, participant: Participant, build_instructions: BuildInstructions | None, view: View = everything
    ) -> float:
        """Estimate US dollars for one more turn, with an answer as long as the longest in this run.

        Returns 0 if the price is unknown or the model cannot be called.
        """
        messages, run = self._transcript.messages, self._context.run
        instructions = (
            build_instructions(messages, run, participant.id, PROMPT_CHARS_CEILING) if build_instructions else ""
        )
        request = build_model_request(
            self.plan, participant, view(messages, participant.id, run), instructions, self._context.attachments
        )
        longest = max((m.content for m in messages if m.run == run and m.participant), key=len, default="")
        try:
            model = (await self._context.resolve_model(participant))[0]
        except UsageError:
            return 0.0
        limits = self.plan.limits_for_model(participant.model)
        usage = estimate_usage(request, len(longest), limits.characters_per_token)
        return await asyncio.to_thread(model.provider.call_cost_usd, model.model, usage) or 0.0

    def _find_stored_turn(self, turn_key: TurnKey) -> Message | None:
        """Find the message of a turn that was committed before a crash or a retry."""
        key = (self._context.run, turn_key.participant, turn_key.stage, turn_key.round)
        newest_first = reversed(self._transcript.messages)
        return next((m for m in newest_first if (m.run, m.participant, m.stage, m.round) == key), None)

    async def _stop_before_start(self, turn_key: TurnKey, options: TurnOptions) -> TurnStatus | None:
        """Return the status of a turn that is stopped before its start, or None. Only its lane is updated."""
        if self._transcript.has_open_turn(turn_key):  # clients have its start event, so it needs an end event
            return None
        await self._stop_at_max_cost()
        reason = self.stop_signals[turn_key.participant].reason
        if reason is None:
            return None
        if options.lane_status is not None:
            lane = Lane(participant=turn_key.participant, status="error", error=stop_message(reason))
            event = Notice(kind="missing", message=stop_message(reason), participant=turn_key.participant)
            await self._transcript.commit_event(event, lanes=[lane])
        return STATUS_BY_STOP_REASON[reason]

    async def _stop_at_max_cost(self, more: float = 0.0) -> None:
        max_cost, spent = self.plan.max_cost_usd, self._transcript.spent_usd + more
        if max_cost is not None and spent >= max_cost and self._context.stop.reason is None:
            await self._stop_run(
                f"The run has cost {format_usd(spent)} and its spending limit is {format_usd(max_cost)}. It ends here."
            )

    async def _enforce_cost_limits(self, cost: float) -> None:
        """Stop the run if the uncommitted cost of the turn reaches the limit of the run or the weekly budget."""
        await self._stop_at_max_cost(cost)
        if self._context.tool_session is None or self._context.stop.reason is not None:
            return
        if (text := await self._context.tool_session.check_budget(cost)) is not None:
            await self._stop_run(text)

    async def _stop_run(self, text: str) -> None:
        await self._transcript.append_events([Notice(kind="max_cost", message=text)])
        self._context.stop.request_stop("max_cost")

    async def _open_toolset(self, participant: Participant, model: ResolvedModel, stop: StopSignal) -> Toolset | None:
        """Open the participant's tools. Missing tools are notices; the turn continues without them."""
        if self._context.tool_session is None or not participant.tools:
            return None
        profile = await asyncio.to_thread(model.provider.model_profile, model.model)
        if not profile.tools:
            text = f"{model.name} cannot call tools. It answers without them."
            await self._transcript.append_events([Notice(kind="tools", message=text, participant=participant.id)])
            return None
        loaded = await wait_at_most(
            self._context.tool_session.load_participant_tools(participant), TOOL_OPEN_SECONDS, stop
        )
        timeout_problems = [] if stop.reason else ["The tool servers did not start in time."]
        problems = loaded.problems if loaded else timeout_problems
        notices = [Notice(kind="tools", message=text, participant=participant.id) for text in problems]
        await self._transcript.append_events([*notices])
        return loaded.toolset if loaded else None

    async def _instructions_message(
        self, turn_key: TurnKey, options: TurnOptions, chain: Sequence[ResolvedModel]
    ) -> Message | None:
        """Build the hidden instructions of a turn; None if it has none, or if they were stored before a crash."""
        stored = [(m.stage, m.round) for m in self._earlier_instructions(turn_key)]
        if options.build_instructions is None or (turn_key.stage, turn_key.round) in stored:
            return None
        max_chars = await asyncio.to_thread(max_prompt_chars, chain)
        return Message(
            id=new_id("msg"),
            discussion=self._context.discussion,
            run=self._context.run,
            role="user",
            content=options.build_instructions(
                self._transcript.messages, self._context.run, turn_key.participant, max_chars
            ),
            stage=turn_key.stage,
            round=turn_key.round,
            visible_to=(turn_key.participant,),
            thread=_lane_thread(turn_key, options),
            hidden=True,
            created_at=time.time(),
        )

    def _earlier_instructions(self, turn_key: TurnKey) -> list[Message]:
        own = [m for m in self._transcript.messages if m.run == self._context.run and m.hidden]
        return [m for m in own if m.visible_to == (turn_key.participant,)]

    def _find_answer_to(self, instructions: Message, turn_key: TurnKey) -> Message | None:
        """Find an earlier answer to identical instructions, so that a retry does not repeat the call."""
        for earlier in self._earlier_instructions(turn_key):
            if (earlier.stage, earlier.content) == (instructions.stage, instructions.content):
                answer = self._find_stored_turn(TurnKey(turn_key.participant, turn_key.stage, earlier.round))
                if answer is not None and answer.status in ANSWERED_STATUSES:
                    return answer
        return None

    async def _call_and_commit(
        self,
        turn_key: TurnKey,
        participant: Participant,
        options: TurnOptions,
        chain: Sequence[ResolvedModel],
        instructions: Message | None,
    ) -> TurnStatus:
        messages = [*self._transcript.messages, *([instructions] if instructions else [])]
        visible_until = self._newest_message_seq()
        request = build_model_request(
            self.plan,
            participant,
            options.view(messages, turn_key.participant, self._context.run),
            options.instructions,
            self._context.attachments,
        )
        new_lesson_parser: NewLessonParser | None = None
        if options.with_actions:
            request = replace(request, array_of=lesson_item_schema(participant.role))
            new_lesson_parser = partial(
                LessonTurnParser,
                participant.role,
                replay_messages(messages_visible_to_all(self._transcript.messages, [participant.id])),
            )
        stop = self.stop_signals[participant.id]
        toolset = await self._open_toolset(participant, chain[0], stop)
        async with asyncio.TaskGroup() as group:  # the model call does not wait for the commit
            committing = group.create_task(self._commit_instructions(turn_key, instructions)) if instructions else None
            await asyncio.sleep(0)  # starts the task, so its event comes before the start of the turn
            turn_end = await self._context.model_caller.call(
                turn_key,
                chain,
                request,
                stop,
                self._transcript.append_events,
                self.plan.limits_for_model,
                new_lesson_parser,
                toolset,
                self._enforce_cost_limits,
                # A synthesis may start with the name of any participant.
                self._speaker_names(participant) if options.role == "assistant" else None,
            )
        if stop.reason == "late" and turn_end.status == "failed" and turn_end.fault is None:
            turn_end = replace(turn_end, fault=make_fault("timeout", LATE_MESSAGE))
        return await self._commit_turn(turn_end, options, committing.result() if committing else visible_until)

    def _speaker_names(self, participant: Participant) -> SpeakerNames:
        """Return the participant's own name, and the names of others, as which it must not speak."""
        others = [other.name for other in self.plan.participants if other.id != participant.id]
        return SpeakerNames(participant.name, (*others, *self.plan.human_names))

    async def _commit_instructions(self, turn_key: TurnKey, instructions: Message) -> int:
        event = InstructionsSent(**asdict(turn_key), message=instructions.id)
        return await self._transcript.commit_event(event, instructions)

    def _newest_message_seq(self) -> int:
        return max((max(one.seq, one.revised_seq) for one in self._transcript.messages), default=0)

    async def _commit_turn(self, turn_end: TurnEnded, options: TurnOptions, visible_until: int) -> TurnStatus:
        message = replace(
            turn_message(self._context.run, self._context.discussion, self._context.plan, turn_end),
            role=options.role,
            thread=_lane_thread(turn_end.turn_key, options),
            view=options.view.__name__,
            visible_until=visible_until,
            instructions=options.instructions or None,
        )
        lanes = self._lane_updates(turn_end, options)
        await self._transcript.commit_event(turn_end, message, lanes=lanes, charge=turn_charge(turn_end))
        return turn_end.status

    def _lane_updates(self, turn_end: TurnEnded, options: TurnOptions) -> Sequence[Lane]:
        if options.lane_status is None:
            return ()
        participant = turn_end.participant
        if turn_end.status in ANSWERED_STATUSES:
            return [Lane(participant=participant, status=options.lane_status)]
        reason = self.stop_signals[participant].reason
        error = turn_end.fault.message if turn_end.fault else stop_message(reason)
        return [Lane(participant=participant, status="error", error=error, late=reason == "late")]


def _lane_thread(turn_key: TurnKey, options: TurnOptions) -> str | None:
    return turn_key.participant if options.lane_status is not None else None

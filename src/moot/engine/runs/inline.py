"""Executes a run in this process without a database. Nothing is stored, and a crash loses it."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence

from msgspec.structs import replace

from moot.engine.runs.table import RunTable, S
from moot.engine.tools.session import ToolSession
from moot.engine.turns.context import RunContext
from moot.engine.turns.model_caller import ModelCaller
from moot.engine.turns.token_estimates import combine_model_limits
from moot.prompts.parts import Attachment, AttachmentsByMessage
from moot.providers.registry import ResolvedModel
from moot.streaming.cancellation import StopSignal
from moot.types.billing import Charge
from moot.types.chunks import Text
from moot.types.debate import Lane
from moot.types.discussions import Message
from moot.types.events import ANALYSIS_RESULTS, AnalysisResult, Event, Notice, RunEnded, RunStarted, TurnKey
from moot.types.model_info import ModelLimits
from moot.types.participants import Participant
from moot.types.primitives import new_id
from moot.types.requests import ModelMessage
from moot.types.run_plan import RunPlan

EventReader = Callable[[list[Event]], Awaitable[None] | None]  # an awaitable applies backpressure


class RunLog:
    """Passes the numbered events of one run to a callback."""

    def __init__(self, reader: EventReader) -> None:
        self.run = new_id("run")
        self._reader = reader
        self._seq = 0

    async def append_events(self, events: list[Event]) -> None:
        """Add the run id, sequence number and time to each event, and call the reader."""
        now = time.time()
        stamped: list[Event] = []
        for event in events:
            self._seq += 1
            stamped.append(replace(event, run=self.run, seq=self._seq, at=now))
        if (reading := self._reader(stamped)) is not None:
            await reading


NO_TOOLS_NOTICE = "Tools are not available in a run that is not stored. Answering without tools: {}."

RecordCharges = Callable[[Sequence[Charge]], Awaitable[None]]


async def ignore_charges(charges: Sequence[Charge]) -> None:
    """Default for a run without a budget."""


class MemoryTranscript:
    """A `RunTranscript` in memory."""

    def __init__(self, log: RunLog, messages: Sequence[Message], record_charges: RecordCharges) -> None:
        self.messages: list[Message] = list(messages)
        self.analysis_results: list[AnalysisResult] = []
        self.spent_usd = 0.0
        self._log = log
        self._record_charges = record_charges

    def has_open_turn(self, turn_key: TurnKey) -> bool:  # noqa: ARG002 - protocol method
        """Always false: without recovery, no turn has events before it starts."""
        return False

    async def append_events(self, events: list[Event]) -> None:
        await self._log.append_events(events)

    async def commit_event(
        self,
        event: Event,
        message: Message | None = None,
        *,
        lanes: Sequence[Lane] = (),  # noqa: ARG002 - lanes are not stored here
        charges: Sequence[Charge] = (),
    ) -> int:
        self.spent_usd += sum(charge.cost or 0.0 for charge in charges)
        if charges:
            await self._record_charges(charges)
        if message is not None:
            self.messages.append(replace(message, number=len(self.messages) + 1))
        if isinstance(event, ANALYSIS_RESULTS):
            self.analysis_results.append(event)
        await self._log.append_events([event])
        return len(self.messages)

    def discard_failed_turns(self, participant: str) -> None:
        """No-op: a run that is not stored cannot be retried."""


async def run_inline(
    plan: RunPlan,
    question: ModelMessage,
    chains: Mapping[str, Sequence[ResolvedModel]],
    log: RunLog,
    model_caller: ModelCaller,
    stop: StopSignal,
    *,
    earlier: Sequence[Message] = (),
    attachments: AttachmentsByMessage | None = None,
    record_charges: RecordCharges = ignore_charges,
    tool_session: ToolSession | None = None,
) -> RunEnded:
    """Execute a run that answers `question`, whose last part is the text, after its files.

    `chains` has the model and fallbacks of each participant, by id. `earlier` are messages of earlier runs, and
    `attachments` their files. Events go to `log`; errors of a participant are events, not exceptions.
    """
    *files, last = question.parts
    content = last.text if isinstance(last, Text) else ""
    message = Message(
        id=new_id("msg"),
        discussion="",
        run=log.run,
        role="user",
        content=content,
        number=len(earlier) + 1,
        created_at=time.time(),
    )
    if plan.spec.private_threads:
        plan = replace(plan, measures=await asyncio.to_thread(_limits_by_model, plan, chains))
    all_attachments = {**(attachments or {}), message.id: tuple(map(Attachment, files))}
    run_context = RunContext(run=log.run, discussion="", plan=plan, attachments=all_attachments)

    async def resolve_model(participant: Participant) -> Sequence[ResolvedModel]:
        return chains[participant.id]

    table = RunTable(
        run_context,
        MemoryTranscript(log, [*earlier, message], record_charges),
        resolve_model,
        model_caller,
        stop,
        run_step_directly,
        tool_session,
    )
    await log.append_events([RunStarted(participants=plan.participants)])
    if tool_session is None and (names := [who.name for who in plan.responding_participants if who.tools]):
        await log.append_events([Notice(kind="tools", message=NO_TOOLS_NOTICE.format(", ".join(names)))])
    ended = RunEnded(status=await table.run_mode())
    await log.append_events([ended])
    return ended


def _limits_by_model(plan: RunPlan, chains: Mapping[str, Sequence[ResolvedModel]]) -> dict[str, ModelLimits]:
    """Return the context limits of each model, with the default token rate, as none is stored."""
    return {
        participant.model: combine_model_limits(
            [one.provider.model_profile(one.model) for one in chains[participant.id]]
        )
        for participant in plan.participants
    }


async def run_step_directly(name: str, body: Callable[[], Coroutine[None, None, S]]) -> S:  # noqa: ARG001 - a DurableStep
    """Run a step without recording it."""
    return await body()

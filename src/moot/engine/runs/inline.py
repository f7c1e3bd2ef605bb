"""Executes a run in this process, without a database."""

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
from moot.types.modes import WINDOWED_MODES
from moot.types.participants import Participant
from moot.types.primitives import new_id
from moot.types.requests import ModelMessage as Told
from moot.types.run_plan import RunPlan

EventReader = Callable[[list[Event]], Awaitable[None] | None]  # one that says when it has read is waited for


class RunLog:
    def __init__(self, reader: EventReader) -> None:
        self.run = new_id("run")
        self._reader = reader
        self._seq = 0

    async def append_events(self, events: list[Event]) -> None:
        """Stamp events with the run, their number and the time, and hand them to the reader."""
        now = time.time()
        stamped: list[Event] = []
        for event in events:
            self._seq += 1
            stamped.append(replace(event, run=self.run, seq=self._seq, at=now))
        if (reading := self._reader(stamped)) is not None:
            await reading


NO_TOOLS_NOTICE = "Nothing of this is kept, so no tools are called; without theirs answers: {}."

RecordCharges = Callable[[Sequence[Charge]], Awaitable[None]]


async def ignore_charges(charges: Sequence[Charge]) -> None:
    """Nobody keeps an account of it."""


class MemoryTranscript:
    """A transcript that lives as long as the run."""

    def __init__(self, log: RunLog, messages: Sequence[Message], record_charges: RecordCharges) -> None:
        self.messages: list[Message] = list(messages)
        self.analysis_results: list[AnalysisResult] = []
        self.spent_usd = 0.0
        self._log = log
        self._record_charges = record_charges

    def has_open_turn(self, turn_key: TurnKey) -> bool:  # noqa: ARG002 - a Transcript
        """Nobody has seen anything of a turn that is to begin."""
        return False

    async def append_events(self, events: list[Event]) -> None:
        await self._log.append_events(events)

    async def commit_event(
        self,
        event: Event,
        message: Message | None = None,
        *,
        lanes: Sequence[Lane] = (),  # noqa: ARG002 - nobody asks for them here
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
        """Nobody tries again here: a run is over when it has ended."""


async def run_inline(
    plan: RunPlan,
    question: Told,
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
    """Put one question, its material before its words, to the table; `chains` are the models that may speak for each participant.

    `earlier` is what was said before in other runs, and `attached` what came with that.
    """
    *material, words = question.parts
    content = words.text if isinstance(words, Text) else ""
    asked = Message(
        id=new_id("msg"),
        discussion="",
        run=log.run,
        role="user",
        content=content,
        number=len(earlier) + 1,
        created_at=time.time(),
    )
    if plan.mode in WINDOWED_MODES:
        plan = replace(plan, measures=await asyncio.to_thread(_limits_by_model, plan, chains))
    enclosed = {**(attachments or {}), asked.id: tuple(map(Attachment, material))}
    scene = RunContext(run=log.run, discussion="", plan=plan, attachments=enclosed)

    async def resolve_model(participant: Participant) -> Sequence[ResolvedModel]:
        return chains[participant.id]

    table = RunTable(
        scene,
        MemoryTranscript(log, [*earlier, asked], record_charges),
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
    """Say how much each model can hold; nobody has counted here."""
    return {
        who.model: combine_model_limits([one.provider.model_profile(one.model) for one in chains[who.id]])
        for who in plan.participants
    }


async def run_step_directly(name: str, body: Callable[[], Coroutine[None, None, S]]) -> S:  # noqa: ARG001 - a Step
    """A step that nobody will replay."""
    return await body()

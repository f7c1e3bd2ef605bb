"""In-memory runs. Nothing is stored, and a crash loses them. Users: `moot ask`, the SDK, `/v1`, stateless turns."""

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from contextlib import AbstractAsyncContextManager, aclosing, nullcontext
from functools import partial
from typing import Generic, Protocol, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from moot.engine.model_resolution import ModelChains
from moot.engine.runs.table import RunTable, S
from moot.engine.tools.session import ToolSession
from moot.engine.turns.model_caller import ModelCaller
from moot.engine.turns.runner import RunContext
from moot.engine.turns.token_estimates import combine_model_limits
from moot.prompts.attachments import reject_unreadable_file
from moot.prompts.parts import Attachment, AttachmentsByMessage
from moot.providers.registry import ResolvedModel
from moot.streaming.cancellation import StopSignal, stop_tasks
from moot.types.billing import Charge
from moot.types.chunks import Text
from moot.types.debate import Lane
from moot.types.discussions import Message
from moot.types.events import ANALYSIS_RESULTS, AnalysisResult, Event, Notice, RunEnded, RunStarted, TurnKey
from moot.types.model_info import ModelLimits
from moot.types.participants import Participant
from moot.types.primitives import new_id
from moot.types.requests import File, ModelMessage
from moot.types.run_plan import RunPlan
from moot.types.streams import HEARTBEAT, BatchStream, Heartbeat

MAX_QUEUED_BATCHES = 256  # then the run blocks until the client reads
POLL_SECONDS = 1.0  # interval of heartbeats while the queue is empty
NO_TOOLS_NOTICE = "Tools are not available in a run that is not stored. Answering without tools: {}."

T = TypeVar("T")
EventReader = Callable[[list[Event]], Awaitable[None] | None]  # an awaitable applies backpressure
RecordCharges = Callable[[Sequence[Charge]], Awaitable[None]]
log = logging.getLogger(__name__)


class RunLog:
    """Passes the numbered events of one run to a callback."""

    def __init__(self, reader: EventReader) -> None:
        self.run = new_id("run")
        self._reader = reader
        self._seq = 0

    async def append_events(self, events: list[Event]) -> None:
        """Add the run id, sequence number and time to each event, and call the reader."""
        now = time.time()
        stamped = [replace(event, run=self.run, seq=seq, at=now) for seq, event in enumerate(events, self._seq + 1)]
        self._seq += len(events)
        if (reading := self._reader(stamped)) is not None:
            await reading


async def ignore_charges(charges: Sequence[Charge]) -> None:
    """Default for a run without a budget."""


async def run_step_directly(name: str, body: Callable[[], Coroutine[None, None, S]]) -> S:  # noqa: ARG001 - a DurableStep
    """Run a step without recording it."""
    return await body()


class MemoryTranscript:
    """A `RunTranscript` in memory."""

    def __init__(self, run_log: RunLog, messages: Sequence[Message], record_charges: RecordCharges) -> None:
        self.messages: list[Message] = list(messages)
        self.analysis_results: list[AnalysisResult] = []
        self.spent_usd = 0.0
        self._run_log = run_log
        self._record_charges = record_charges

    def has_open_turn(self, turn_key: TurnKey) -> bool:  # noqa: ARG002 - protocol method
        """Always false: without recovery, no turn has events before it starts."""
        return False

    async def append_events(self, events: list[Event]) -> None:
        await self._run_log.append_events(events)

    async def commit_event(
        self,
        event: Event,
        message: Message | None = None,
        *,
        lanes: Sequence[Lane] = (),  # noqa: ARG002 - lanes are not stored here
        charge: Charge | None = None,
    ) -> int:
        if charge is not None:
            self.spent_usd += charge.cost_usd or 0.0
            await self._record_charges([charge])
        if message is not None:
            self.messages.append(replace(message, seq=len(self.messages) + 1))
        if isinstance(event, ANALYSIS_RESULTS):
            self.analysis_results.append(event)
        await self._run_log.append_events([event])
        return len(self.messages)

    def discard_failed_turns(self, participant: str) -> None:
        """No-op: a run that is not stored cannot be retried."""


class EphemeralRun(Struct, frozen=True, kw_only=True):
    plan: RunPlan
    question: ModelMessage  # file parts first, the text last
    chains: ModelChains
    earlier: tuple[Message, ...] = ()  # messages of the discussion before this run
    attachments: AttachmentsByMessage = {}  # of the earlier messages

    async def execute(
        self,
        run_log: RunLog,
        model_caller: ModelCaller,
        stop: StopSignal,
        *,
        record_charges: RecordCharges = ignore_charges,
        tool_session: ToolSession | None = None,
    ) -> RunEnded:
        """Execute the run until its end. Events go to `run_log`; errors of a participant are events, not exceptions."""
        *files, last = self.question.parts
        message = Message(
            id=new_id("msg"),
            discussion="",
            run=run_log.run,
            role="user",
            content=last.text if isinstance(last, Text) else "",
            seq=len(self.earlier) + 1,
            created_at=time.time(),
        )
        plan = self.plan
        if plan.spec.private_threads:
            plan = replace(plan, model_limits=await asyncio.to_thread(self._limits_by_model))
        context = RunContext(
            run=run_log.run,
            discussion="",
            plan=plan,
            attachments={**self.attachments, message.id: tuple(map(Attachment, files))},
            transcript=MemoryTranscript(run_log, [*self.earlier, message], record_charges),
            resolve_model=self._resolve_model,
            model_caller=model_caller,
            stop=stop,
            tool_session=tool_session,
        )
        await run_log.append_events([RunStarted(participants=plan.participants)])
        if tool_session is None and (names := [who.name for who in plan.responding_participants if who.tools]):
            await run_log.append_events([Notice(kind="tools", message=NO_TOOLS_NOTICE.format(", ".join(names)))])
        ended = RunEnded(status=await RunTable(context, run_step_directly).run_mode())
        await run_log.append_events([ended])
        return ended

    async def _resolve_model(self, participant: Participant) -> Sequence[ResolvedModel]:
        return self.chains[participant.id]

    def _limits_by_model(self) -> dict[str, ModelLimits]:
        """Return the context limits of each model, with the default token rate, as none is stored."""
        return {
            participant.model: combine_model_limits(
                [one.provider.model_profile(one.model) for one in self.chains[participant.id]]
            )
            for participant in self.plan.participants
        }


def check_files(plan: RunPlan, chains: ModelChains, files: Sequence[File]) -> None:
    """Raise UsageError if the model of a responder cannot read a file."""
    for participant in plan.responding_participants if files else ():
        first = chains[participant.id][0]
        for file in files:
            reject_unreadable_file(participant.name, first.name, first.provider.model_profile(first.model).files, file)


class MemoryStream(Generic[T]):
    """A bounded queue of batches between a run and its client."""

    def __init__(self) -> None:
        self._queue: asyncio.Queue[list[T] | None] = asyncio.Queue(MAX_QUEUED_BATCHES)
        self._reader_gone = asyncio.Event()
        self._closed = False

    async def send_batch(self, batch: list[T] | None) -> None:
        """Queue a batch, or None for the end."""
        if not self._reader_gone.is_set():
            await self._queue.put(batch)

    async def send_end(self) -> None:
        """Signal the end, and wait until the client has read everything or disconnected."""
        await self.send_batch(None)
        await self._reader_gone.wait()

    def close(self) -> None:
        """End the stream even if `send_end` was never called, for example after a cancellation."""
        self._closed = True

    async def receive_batches(self) -> BatchStream[T]:
        try:
            while (batch := await self._next_batch()) is not None:
                yield batch
        finally:
            self._reader_gone.set()
            while not self._queue.empty():  # unblocks a pending `put`
                self._queue.get_nowait()

    async def _next_batch(self) -> list[T] | Heartbeat | None:
        try:
            async with asyncio.timeout(POLL_SECONDS):
                return await self._queue.get()
        except TimeoutError:
            return None if self._closed else HEARTBEAT


class MemoryRun(Protocol):
    """A run that is not stored: it sends its events to `run_log`."""

    async def execute(
        self, run_log: RunLog, model_caller: ModelCaller, stop: StopSignal, *, record_charges: RecordCharges
    ) -> object: ...


class BudgetGuard(Protocol):
    """Checks the budget of an ephemeral run and records its charges."""

    def within_budget(self) -> AbstractAsyncContextManager[None]:
        """Raise on entry if the budget is spent."""
        ...

    async def record_charges(self, charges: Sequence[Charge]) -> None: ...


class EphemeralRuns:
    """All ephemeral runs of this process."""

    def __init__(self, model_caller: ModelCaller) -> None:
        self._model_caller = model_caller
        self._stops_by_task: dict[asyncio.Task[None], StopSignal] = {}

    def __len__(self) -> int:
        return len(self._stops_by_task)

    async def stream(
        self, ephemeral_run: MemoryRun, budget_guard: BudgetGuard | None = None, stop: StopSignal | None = None
    ) -> BatchStream[Event]:
        """Yield events of a run.

        An error of the run is raised after its last event. Closing the iterator stops the run; text until then is
        charged.
        """
        memory_stream, stop = MemoryStream[Event](), stop or StopSignal()
        task = asyncio.create_task(self._execute_run(ephemeral_run, budget_guard, memory_stream, stop))
        self._stops_by_task[task] = stop
        task.add_done_callback(partial(self._on_run_done, memory_stream))
        try:
            async with aclosing(memory_stream.receive_batches()) as batches:
                async for batch in batches:
                    yield batch
            await task
        finally:
            stop.request_stop()

    async def close(self) -> None:
        """Stop all runs. Their charges are recorded and their clients get the end event."""
        await stop_tasks(self._stops_by_task)

    async def _execute_run(
        self,
        ephemeral_run: MemoryRun,
        budget_guard: BudgetGuard | None,
        memory_stream: MemoryStream[Event],
        stop: StopSignal,
    ) -> None:
        try:
            async with budget_guard.within_budget() if budget_guard else nullcontext():
                await ephemeral_run.execute(
                    RunLog(memory_stream.send_batch),
                    self._model_caller,
                    stop,
                    record_charges=budget_guard.record_charges if budget_guard else ignore_charges,
                )
        finally:
            await memory_stream.send_end()

    def _on_run_done(self, memory_stream: MemoryStream[Event], task: asyncio.Task[None]) -> None:
        del self._stops_by_task[task]
        memory_stream.close()
        if not task.cancelled() and (error := task.exception()) is not None:
            log.info("ephemeral run failed", exc_info=error)  # `stream` raises it to the client

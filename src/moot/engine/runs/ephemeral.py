"""In-memory runs that stream their events to one client. The SDK and `/v1` use them."""

import asyncio
import logging
from collections.abc import Mapping, Sequence
from contextlib import AbstractAsyncContextManager, aclosing, nullcontext
from functools import partial
from typing import Generic, Protocol, TypeVar

from msgspec import Struct

from moot.engine.runs import inline
from moot.engine.runs.inline import RunLog
from moot.engine.turns.model_caller import ModelCaller
from moot.prompts.attachments import reject_unreadable_file
from moot.prompts.parts import AttachmentsByMessage
from moot.providers.registry import ResolvedModel
from moot.streaming.cancellation import StopSignal, stop_tasks
from moot.types.billing import Charge
from moot.types.discussions import Message
from moot.types.events import Event
from moot.types.requests import File, ModelMessage
from moot.types.run_plan import RunPlan
from moot.types.streams import HEARTBEAT, BatchStream, Heartbeat

MAX_QUEUED_BATCHES = 256  # then the run blocks until the client reads
POLL_SECONDS = 1.0  # interval of heartbeats while the queue is empty

T = TypeVar("T")


class MemoryStream(Generic[T]):
    """A bounded queue of batches between a run and its client."""

    def __init__(self) -> None:
        self._queue: asyncio.Queue[list[T] | None] = asyncio.Queue(MAX_QUEUED_BATCHES)
        self._reader_gone = asyncio.Event()
        self._closed = False

    async def send_batch(self, batch: list[T]) -> None:
        await self._enqueue_batch(batch)

    async def send_end(self) -> None:
        """Signal the end, and wait until the client has read everything or disconnected."""
        await self._enqueue_batch(None)
        await self._reader_gone.wait()

    def close(self) -> None:
        """End the stream even if `send_end` was never called, for example after a cancellation."""
        self._closed = True

    async def receive_batches(self) -> BatchStream[T]:
        try:
            while (batch := await self._next_batch()) is not None:
                yield batch
        finally:
            self._disconnect_reader()

    async def _enqueue_batch(self, batch: list[T] | None) -> None:
        if not self._reader_gone.is_set():
            await self._queue.put(batch)

    async def _next_batch(self) -> list[T] | Heartbeat | None:
        try:
            async with asyncio.timeout(POLL_SECONDS):
                return await self._queue.get()
        except TimeoutError:
            return None if self._closed else HEARTBEAT

    def _disconnect_reader(self) -> None:
        self._reader_gone.set()
        while not self._queue.empty():  # unblocks a pending `put`
            self._queue.get_nowait()


log = logging.getLogger(__name__)


class EphemeralRun(Struct, frozen=True, kw_only=True):
    plan: RunPlan
    question: ModelMessage  # file parts first, the text last
    chains: Mapping[str, Sequence[ResolvedModel]]  # by participant id: its model and fallbacks
    earlier: tuple[Message, ...] = ()  # messages of the discussion before this run
    attachments: AttachmentsByMessage = {}  # of the earlier messages


def check_files(plan: RunPlan, chains: Mapping[str, Sequence[ResolvedModel]], files: Sequence[File]) -> None:
    """Raise UsageError if the model of a responder cannot read a file."""
    for participant in plan.responding_participants if files else ():
        first = chains[participant.id][0]
        for file in files:
            reject_unreadable_file(participant.name, first.name, first.provider.model_profile(first.model).files, file)


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
        self,
        ephemeral_run: EphemeralRun,
        budget_guard: BudgetGuard | None = None,
        stop: StopSignal | None = None,
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
        ephemeral_run: EphemeralRun,
        budget_guard: BudgetGuard | None,
        memory_stream: MemoryStream[Event],
        stop: StopSignal,
    ) -> None:
        try:
            async with budget_guard.within_budget() if budget_guard else nullcontext():
                await inline.run_inline(
                    ephemeral_run.plan,
                    ephemeral_run.question,
                    ephemeral_run.chains,
                    RunLog(memory_stream.send_batch),
                    self._model_caller,
                    stop,
                    earlier=ephemeral_run.earlier,
                    attachments=ephemeral_run.attachments,
                    record_charges=budget_guard.record_charges if budget_guard else inline.ignore_charges,
                )
        finally:
            await memory_stream.send_end()

    def _on_run_done(self, memory_stream: MemoryStream[Event], task: asyncio.Task[None]) -> None:
        del self._stops_by_task[task]
        memory_stream.close()
        if not task.cancelled() and (error := task.exception()) is not None:
            log.info("ephemeral run failed", exc_info=error)  # `stream` raises it to the client

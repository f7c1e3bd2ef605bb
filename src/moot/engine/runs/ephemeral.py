"""Runs that live in memory and stream to one client; the SDK and `/v1` use them."""

import asyncio
import logging
from collections.abc import AsyncGenerator, Mapping, Sequence
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
from moot.types.requests import File
from moot.types.requests import ModelMessage as Told
from moot.types.run_plan import RunPlan

MAX_QUEUED_BATCHES = 256  # batches that wait for the reader; then whoever tells waits too
POLL_SECONDS = 1.0  # after which a reader that waits is due a look at the time

T = TypeVar("T")


class MemoryStream(Generic[T]):
    def __init__(self) -> None:
        self._queue: asyncio.Queue[list[T] | None] = asyncio.Queue(MAX_QUEUED_BATCHES)
        self._reader_gone = asyncio.Event()
        self._closed = False

    async def send_batch(self, batch: list[T]) -> None:
        await self._enqueue_batch(batch)

    async def send_end(self) -> None:
        """Say that nothing follows, and wait until all was read, or the reader has left."""
        await self._enqueue_batch(None)
        await self._reader_gone.wait()

    def close(self) -> None:
        """Say that nobody will tell anything any more, whatever became of them."""
        self._closed = True

    async def receive_batches(self) -> AsyncGenerator[list[T], None]:
        """Yield what is told, until the end; an empty list is: still here."""
        try:
            while (some := await self._next_batch()) is not None:
                yield some
        finally:
            self._disconnect_reader()

    async def _enqueue_batch(self, batch: list[T] | None) -> None:
        if not self._reader_gone.is_set():
            await self._queue.put(batch)

    async def _next_batch(self) -> list[T] | None:
        try:
            async with asyncio.timeout(POLL_SECONDS):
                return await self._queue.get()
        except TimeoutError:
            return None if self._closed else []

    def _disconnect_reader(self) -> None:
        self._reader_gone.set()
        while not self._queue.empty():  # so that whoever waits to tell goes on
            self._queue.get_nowait()


log = logging.getLogger(__name__)


class EphemeralRun(Struct, frozen=True, kw_only=True):
    """What is put to whom; `chains` are the models that may speak for each participant, `earlier` is what was said before."""

    plan: RunPlan
    question: Told
    chains: Mapping[str, Sequence[ResolvedModel]]
    earlier: tuple[Message, ...] = ()
    attachments: AttachmentsByMessage = {}


def check_files(plan: RunPlan, chains: Mapping[str, Sequence[ResolvedModel]], files: Sequence[File]) -> None:
    """Refuse files that the model of somebody who is to speak cannot read."""
    for who in plan.responding_participants if files else ():
        first = chains[who.id][0]
        for file in files:
            reject_unreadable_file(
                who.name, first.name, first.provider.model_profile(first.model).files, file
            )


class BudgetGuard(Protocol):
    """Whoever pays for a sitting."""

    def within_budget(self) -> AbstractAsyncContextManager[None]:
        """Refuse to begin where nothing is left."""
        ...

    async def record_charges(self, charges: Sequence[Charge]) -> None: ...


class EphemeralRuns:
    """All sittings that go on in this process."""

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
    ) -> AsyncGenerator[list[Event], None]:
        """Yield the events of a run as they come; an empty list is: still here.

        What ends it early is raised once all is read. What was said until a stop is paid.
        """
        relay, stop = MemoryStream[Event](), stop or StopSignal()
        task = asyncio.create_task(self._execute_run(ephemeral_run, budget_guard, relay, stop))
        self._stops_by_task[task] = stop
        task.add_done_callback(partial(self._on_run_done, relay))
        try:
            async with aclosing(relay.receive_batches()) as told:
                async for some in told:
                    yield some
            await task
        finally:
            stop.request_stop()

    async def close(self) -> None:
        """Stop all of them; what was said is paid, and whoever reads is told."""
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
            log.info("a sitting ended early", exc_info=error)  # whoever reads it is told

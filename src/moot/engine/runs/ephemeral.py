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
from moot.engine.turns.model_caller import Speaker
from moot.prompts.attachments import refuse_unread
from moot.prompts.parts import Attached
from moot.providers.registry import Resolved
from moot.streaming.cancellation import Stop, stopped
from moot.types.billing import Charge
from moot.types.discussions import Message
from moot.types.events import Event
from moot.types.requests import File
from moot.types.requests import Message as Told
from moot.types.run_plan import Plan

WAITING = 256  # batches that wait for the reader; then whoever tells waits too
LOOK_SECONDS = 1.0  # after which a reader that waits is due a look at the time

T = TypeVar("T")


class Relay(Generic[T]):
    def __init__(self) -> None:
        self._waiting: asyncio.Queue[list[T] | None] = asyncio.Queue(WAITING)
        self._left = asyncio.Event()
        self._closed = False

    async def tell(self, some: list[T]) -> None:
        await self._put(some)

    async def end(self) -> None:
        """Say that nothing follows, and wait until all was read, or the reader has left."""
        await self._put(None)
        await self._left.wait()

    def close(self) -> None:
        """Say that nobody will tell anything any more, whatever became of them."""
        self._closed = True

    async def read(self) -> AsyncGenerator[list[T], None]:
        """Yield what is told, until the end; an empty list is: still here."""
        try:
            while (some := await self._next()) is not None:
                yield some
        finally:
            self._leave()

    async def _put(self, some: list[T] | None) -> None:
        if not self._left.is_set():
            await self._waiting.put(some)

    async def _next(self) -> list[T] | None:
        try:
            async with asyncio.timeout(LOOK_SECONDS):
                return await self._waiting.get()
        except TimeoutError:
            return None if self._closed else []

    def _leave(self) -> None:
        self._left.set()
        while not self._waiting.empty():  # so that whoever waits to tell goes on
            self._waiting.get_nowait()


log = logging.getLogger(__name__)


class Sitting(Struct, frozen=True, kw_only=True):
    """What is put to whom; `chains` are the models that may speak for each participant, `earlier` is what was said before."""

    plan: Plan
    question: Told
    chains: Mapping[str, Sequence[Resolved]]
    earlier: tuple[Message, ...] = ()
    attached: Attached = {}


def check_files(plan: Plan, chains: Mapping[str, Sequence[Resolved]], files: Sequence[File]) -> None:
    """Refuse files that the model of somebody who is to speak cannot read."""
    for who in plan.speaking if files else ():
        first = chains[who.id][0]
        for file in files:
            refuse_unread(who.name, first.name, first.provider.profile(first.model).files, file)


class Purse(Protocol):
    """Whoever pays for a sitting."""

    def open(self) -> AbstractAsyncContextManager[None]:
        """Refuse to begin where nothing is left."""
        ...

    async def pay(self, charges: Sequence[Charge]) -> None: ...


class Sittings:
    """All sittings that go on in this process."""

    def __init__(self, speaker: Speaker) -> None:
        self._speaker = speaker
        self._held: dict[asyncio.Task[None], Stop] = {}

    def __len__(self) -> int:
        return len(self._held)

    async def hold(
        self, sitting: Sitting, purse: Purse | None = None, stop: Stop | None = None
    ) -> AsyncGenerator[list[Event], None]:
        """Yield the events of a run as they come; an empty list is: still here.

        What ends it early is raised once all is read. What was said until a stop is paid.
        """
        relay, stop = Relay[Event](), stop or Stop()
        task = asyncio.create_task(self._take_place(sitting, purse, relay, stop))
        self._held[task] = stop
        task.add_done_callback(partial(self._over, relay))
        try:
            async with aclosing(relay.read()) as told:
                async for some in told:
                    yield some
            await task
        finally:
            stop.request()

    async def close(self) -> None:
        """Stop all of them; what was said is paid, and whoever reads is told."""
        await stopped(self._held)

    async def _take_place(
        self, sitting: Sitting, purse: Purse | None, relay: Relay[Event], stop: Stop
    ) -> None:
        try:
            async with purse.open() if purse else nullcontext():
                await inline.run(
                    sitting.plan,
                    sitting.question,
                    sitting.chains,
                    RunLog(relay.tell),
                    self._speaker,
                    stop,
                    earlier=sitting.earlier,
                    attached=sitting.attached,
                    pay=purse.pay if purse else inline.unpaid,
                )
        finally:
            await relay.end()

    def _over(self, relay: Relay[Event], task: asyncio.Task[None]) -> None:
        del self._held[task]
        relay.close()
        if not task.cancelled() and (error := task.exception()) is not None:
            log.info("a sitting ended early", exc_info=error)  # whoever reads it is told

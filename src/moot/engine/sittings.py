"""Sittings: runs of which nothing is kept. One goes on as long as somebody reads it, and whoever leaves stops it."""

import asyncio
import logging
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, aclosing, nullcontext
from functools import partial
from typing import Protocol

from msgspec import Struct

from moot.context.attachments import refuse_unread
from moot.context.pieces import Attached
from moot.engine import inline
from moot.engine.log import RunLog
from moot.engine.relay import Relay
from moot.engine.speaker import Speaker
from moot.model.discussions import Message
from moot.model.events import Event
from moot.model.money import Charge
from moot.model.plans import Plan
from moot.model.requests import File
from moot.model.requests import Message as Told
from moot.providers.registry import Resolved
from moot.streams.stop import Stop, stopped

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

"""Whether a run, or one participant of it, should end, and why. What a person wants outranks the rest."""

import asyncio
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager

from moot.model.events import Reason

RANKS: tuple[Reason, ...] = ("late", "over_cap", "follow_up_interrupt", "stopped_by_user")
ENDING_SECONDS = 1.0


class Stop:
    """A wish to stop. A child hears its parent's wishes, but for those it is deaf to; a parent hears no child's."""

    def __init__(self, parent: "Stop | None" = None, deaf_to: Reason | None = None) -> None:
        self.reason: Reason | None = None
        self._deaf_to = deaf_to
        self._watchers: set[Callable[[Reason], None]] = set()
        if parent is not None:
            parent._watchers.add(self.request)  # noqa: SLF001 - the same class
            if parent.reason is not None:
                self.request(parent.reason)

    def request(self, reason: Reason = "stopped_by_user") -> None:
        if reason == self._deaf_to:
            return
        if self.reason is not None and RANKS.index(reason) <= RANKS.index(self.reason):
            return
        self.reason = reason
        for watcher in tuple(self._watchers):
            watcher(reason)

    @contextmanager
    def watched(self, watcher: Callable[[Reason], None]) -> Iterator[None]:
        """Call `watcher` when a stop is wished, at once if it was already."""
        self._watchers.add(watcher)
        try:
            if self.reason is not None:
                watcher(self.reason)
            yield
        finally:
            self._watchers.discard(watcher)

    async def sleep(self, seconds: float) -> bool:
        """Wait, but not past a stop; return whether there was one."""
        woken = asyncio.Event()
        with self.watched(lambda _: woken.set()):
            try:
                async with asyncio.timeout(seconds):  # and not wait_for, which may swallow a cancellation
                    await woken.wait()
            except TimeoutError:
                return False
        return True


async def stopped(tasks: Mapping["asyncio.Task[None]", Stop]) -> None:
    """Stop what goes on, so that what was said is still paid for; whatever does not end soon is cancelled."""
    ending = tuple(tasks)
    for stop in tuple(tasks.values()):
        stop.request()
    if ending:
        await asyncio.wait(ending, timeout=ENDING_SECONDS)
    for task in ending:
        task.cancel()
    await asyncio.gather(*ending, return_exceptions=True)

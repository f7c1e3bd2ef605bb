"""Stops a stream on request, and times it out when it is idle or too long."""

import asyncio
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from types import TracebackType
from typing import Literal, Self

from moot.types.events import Reason

Ending = Reason | Literal["idle", "total"]


class Guard:
    def __init__(self, idle: float, total: float) -> None:
        self.ending: Ending | None = None
        self._idle = idle
        self._total = total
        self._open = False  # whether a cancellation may be sent into the scope now
        self._cancelled = False
        self.undisturbed = Undisturbed(self)

    async def __aenter__(self) -> Self:
        task = asyncio.current_task()
        if task is None:
            raise RuntimeError("a Guard protects a task")
        self._task = task
        self._cancelling = task.cancelling()
        self._loop = asyncio.get_running_loop()
        self._touched = self._loop.time()
        self._last = self._touched + self._total
        self._timer = self._loop.call_at(self._deadline(), self._look)
        self._open = True
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool:
        self._open = False
        self._timer.cancel()
        if not self._cancelled:
            return False
        if kind is not asyncio.CancelledError:  # sent, but the block was left before it arrived
            with suppress(asyncio.CancelledError):
                await asyncio.sleep(0)
        if self._task.uncancel() > self._cancelling:  # somebody else wants the task to end as well
            raise asyncio.CancelledError
        return kind is asyncio.CancelledError

    def touch(self) -> None:
        """Note that there was progress."""
        self._touched = self._loop.time()

    def end(self, ending: Ending) -> None:
        """End the scope; of several reasons, the user's stop counts."""
        if self.ending is None or ending == "stopped_by_user":
            self.ending = ending
        if self._open and not self._cancelled:
            self._cancelled = True
            self._task.cancel()

    def _deadline(self) -> float:
        return min(self._touched + self._idle, self._last)

    def _look(self) -> None:
        now, deadline = self._loop.time(), self._deadline()
        if now >= self._last:
            self.end("total")
        elif now >= deadline and self._open:
            self.end("idle")
        else:
            due = deadline if now < deadline else now + self._idle  # silence is ours while a step finishes
            self._timer = self._loop.call_at(due, self._look)


class Undisturbed:
    """Lets a step finish first; it counts as progress, and its user looks at `ending` afterwards.

    A class and not a generator, because it is entered once for every batch of chunks.
    """

    def __init__(self, guard: Guard) -> None:
        self._guard = guard

    def __enter__(self) -> None:
        self._guard._open = False  # noqa: SLF001 - a part of the guard

    def __exit__(self, *_: object) -> None:
        self._guard._open = True  # noqa: SLF001
        self._guard.touch()


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

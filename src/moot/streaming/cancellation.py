"""Stops a stream on request, and times it out when it is idle or too long."""

import asyncio
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from types import TracebackType
from typing import Literal, Self

from moot.types.events import StopReason

StreamEndReason = StopReason | Literal["idle", "total"]


class StreamTimeouts:
    def __init__(self, idle: float, total: float) -> None:
        self.end_reason: StreamEndReason | None = None
        self._idle = idle
        self._total = total
        self._cancellable = False  # whether a cancellation may be sent into the scope now
        self._cancelled = False
        self.cancellation_shield = CancellationShield(self)

    async def __aenter__(self) -> Self:
        task = asyncio.current_task()
        if task is None:
            raise RuntimeError("a Guard protects a task")
        self._task = task
        self._initial_cancel_requests = task.cancelling()
        self._loop = asyncio.get_running_loop()
        self._last_progress = self._loop.time()
        self._total_deadline = self._last_progress + self._total
        self._timer = self._loop.call_at(self._next_deadline(), self._check_deadline)
        self._cancellable = True
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool:
        self._cancellable = False
        self._timer.cancel()
        if not self._cancelled:
            return False
        if kind is not asyncio.CancelledError:  # sent, but the block was left before it arrived
            with suppress(asyncio.CancelledError):
                await asyncio.sleep(0)
        if (
            self._task.uncancel() > self._initial_cancel_requests
        ):  # somebody else wants the task to end as well
            raise asyncio.CancelledError
        return kind is asyncio.CancelledError

    def record_progress(self) -> None:
        """Note that there was progress."""
        self._last_progress = self._loop.time()

    def cancel_stream(self, reason: StreamEndReason) -> None:
        """End the scope; of several reasons, the user's stop counts."""
        if self.end_reason is None or reason == "stopped_by_user":
            self.end_reason = reason
        if self._cancellable and not self._cancelled:
            self._cancelled = True
            self._task.cancel()

    def _next_deadline(self) -> float:
        return min(self._last_progress + self._idle, self._total_deadline)

    def _check_deadline(self) -> None:
        now, deadline = self._loop.time(), self._next_deadline()
        if now >= self._total_deadline:
            self.cancel_stream("total")
        elif now >= deadline and self._cancellable:
            self.cancel_stream("idle")
        else:
            due = deadline if now < deadline else now + self._idle  # silence is ours while a step finishes
            self._timer = self._loop.call_at(due, self._check_deadline)


class CancellationShield:
    """Lets a step finish first; it counts as progress, and its user looks at `ending` afterwards.

    A class and not a generator, because it is entered once for every batch of chunks.
    """

    def __init__(self, timeouts: StreamTimeouts) -> None:
        self._timeouts = timeouts

    def __enter__(self) -> None:
        self._timeouts._cancellable = False  # noqa: SLF001 - a part of the guard

    def __exit__(self, *_: object) -> None:
        self._timeouts._cancellable = True  # noqa: SLF001
        self._timeouts.record_progress()


REASON_PRIORITY: tuple[StopReason, ...] = ("late", "over_cap", "follow_up_interrupt", "stopped_by_user")
CLOSE_TIMEOUT_SECONDS = 1.0


class StopSignal:
    """A wish to stop. A child hears its parent's wishes, but for those it is deaf to; a parent hears no child's."""

    def __init__(self, parent: "StopSignal | None" = None, ignored_reason: StopReason | None = None) -> None:
        self.reason: StopReason | None = None
        self._ignored_reason = ignored_reason
        self._watchers: set[Callable[[StopReason], None]] = set()
        if parent is not None:
            parent._watchers.add(self.request_stop)  # noqa: SLF001 - the same class
            if parent.reason is not None:
                self.request_stop(parent.reason)

    def request_stop(self, reason: StopReason = "stopped_by_user") -> None:
        if reason == self._ignored_reason:
            return
        if self.reason is not None and REASON_PRIORITY.index(reason) <= REASON_PRIORITY.index(self.reason):
            return
        self.reason = reason
        for watcher in tuple(self._watchers):
            watcher(reason)

    @contextmanager
    def notify_on_stop(self, watcher: Callable[[StopReason], None]) -> Iterator[None]:
        """Call `watcher` when a stop is wished, at once if it was already."""
        self._watchers.add(watcher)
        try:
            if self.reason is not None:
                watcher(self.reason)
            yield
        finally:
            self._watchers.discard(watcher)

    async def sleep_unless_stopped(self, seconds: float) -> bool:
        """Wait, but not past a stop; return whether there was one."""
        woken = asyncio.Event()
        with self.notify_on_stop(lambda _: woken.set()):
            try:
                async with asyncio.timeout(seconds):  # and not wait_for, which may swallow a cancellation
                    await woken.wait()
            except TimeoutError:
                return False
        return True


async def stop_tasks(tasks: Mapping["asyncio.Task[None]", StopSignal]) -> None:
    """Stop what goes on, so that what was said is still paid for; whatever does not end soon is cancelled."""
    ending = tuple(tasks)
    for stop in tuple(tasks.values()):
        stop.request_stop()
    if ending:
        await asyncio.wait(ending, timeout=CLOSE_TIMEOUT_SECONDS)
    for task in ending:
        task.cancel()
    await asyncio.gather(*ending, return_exceptions=True)

"""Cancellation of streams and tasks: stop requests, idle timeout and total timeout."""

import asyncio
from collections.abc import Callable, Coroutine, Iterator, Mapping
from contextlib import contextmanager, suppress
from types import TracebackType
from typing import Any, Literal, Self, TypeVar

from moot.types.events import StopReason

StreamEndReason = StopReason | Literal["idle", "total"]


class StreamTimeouts:
    """Async context manager that cancels its body on timeout or on `cancel_stream`.

    The body's CancelledError is swallowed; callers read `end_reason` instead.
    A cancellation from outside is not swallowed.
    """

    def __init__(self, idle: float, total: float) -> None:
        self.end_reason: StreamEndReason | None = None
        self._idle = idle
        self._total = total
        self._cancellable = False  # False before entry, after exit, and inside the shield
        self._cancelled = False
        self.cancellation_shield = CancellationShield(self)

    async def __aenter__(self) -> Self:
        task = asyncio.current_task()
        if task is None:
            raise RuntimeError("StreamTimeouts must be entered inside a task")
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
        if kind is not asyncio.CancelledError:
            # The body returned before asyncio delivered the cancellation. Receive it here, or it would
            # hit the next `await` of the caller.
            with suppress(asyncio.CancelledError):
                await asyncio.sleep(0)
        # `uncancel` withdraws our own request. If more are pending, another caller cancels the task too.
        if self._task.uncancel() > self._initial_cancel_requests:
            raise asyncio.CancelledError
        return kind is asyncio.CancelledError

    def record_progress(self) -> None:
        """Restart the idle timeout."""
        self._last_progress = self._loop.time()

    def cancel_stream(self, reason: StreamEndReason) -> None:
        """Idempotent. The first reason wins, but a stop by the user replaces any other.

        Inside the shield this only sets `end_reason`; the body must check it afterwards.
        """
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
            # Inside the shield the server waits for its own callback, so the provider is not idle.
            due = deadline if now < deadline else now + self._idle
            self._timer = self._loop.call_at(due, self._check_deadline)


class CancellationShield:
    """Delays cancellation while its body runs. Callers must check `end_reason` after it.

    The exit restarts the idle timeout. It is a class and not a generator for speed: each batch enters it.
    """

    def __init__(self, timeouts: StreamTimeouts) -> None:
        self._timeouts = timeouts

    def __enter__(self) -> None:
        self._timeouts._cancellable = False  # noqa: SLF001 - part of StreamTimeouts

    def __exit__(self, *_: object) -> None:
        self._timeouts._cancellable = True  # noqa: SLF001
        self._timeouts.record_progress()


# Lowest priority first: a stop reason only replaces those before it.
REASON_PRIORITY: tuple[StopReason, ...] = ("late", "max_cost", "follow_up_interrupt", "stopped_by_user")
CLOSE_TIMEOUT_SECONDS = 1.0  # for stopped tasks to finish, before they are cancelled
CANCEL_GRACE_SECONDS = 1.0  # for cleanup in a cancelled task

T = TypeVar("T")


class StopSignal:
    """A stop request, for example for a run, with a child per participant.

    A child receives the requests of its parent, except `ignored_reason`. A parent receives none of its children.
    """

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
        """Call the callback on each stop request, and immediately if one is pending."""
        self._watchers.add(watcher)
        try:
            if self.reason is not None:
                watcher(self.reason)
            yield
        finally:
            self._watchers.discard(watcher)

    async def sleep_unless_stopped(self, seconds: float) -> bool:
        """Return True if a stop request ended the sleep."""
        woken = asyncio.Event()
        with self.notify_on_stop(lambda _: woken.set()):
            try:
                async with asyncio.timeout(seconds):  # not wait_for, which may swallow a cancellation
                    await woken.wait()
            except TimeoutError:
                return False
        return True


async def cancel_tasks(*tasks: "asyncio.Future[Any]") -> list[Any]:
    """Cancel tasks, wait until they have ended, and return their results and exceptions."""
    for task in tasks:
        task.cancel()
    return await asyncio.gather(*tasks, return_exceptions=True)


async def stop_tasks(tasks: Mapping["asyncio.Task[None]", StopSignal]) -> None:
    """Request a stop first, so that each task can still record its usage. Cancel it after a timeout."""
    stopping = tuple(tasks)
    for stop in tuple(tasks.values()):
        stop.request_stop()
    if stopping:
        await asyncio.wait(stopping, timeout=CLOSE_TIMEOUT_SECONDS)
    await cancel_tasks(*stopping)


async def wait_at_most(work: Coroutine[Any, Any, T], seconds: float, stop: StopSignal) -> T | None:
    """Return the result of `work`, or None after a timeout or a stop; then the task is cancelled.

    Raises the exception of `work`. A task that ignores the cancellation is left running after a grace period.
    """
    task = asyncio.get_running_loop().create_task(work)
    stopped = asyncio.Event()
    waiting = asyncio.create_task(stopped.wait())
    try:
        with stop.notify_on_stop(lambda _: stopped.set()):
            await asyncio.wait({task, waiting}, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
        if task.done():
            return task.result()
        task.cancel()
        await asyncio.wait({task}, timeout=CANCEL_GRACE_SECONDS)
        return None
    finally:
        waiting.cancel()
        if not task.done():
            task.cancel()
        task.add_done_callback(_consume_exception)


def _consume_exception(task: "asyncio.Task[Any]") -> None:
    """Retrieve the exception so that asyncio does not log "exception was never retrieved"."""
    if not task.cancelled():
        task.exception()

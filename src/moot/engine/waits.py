"""Bounded waits."""

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

from moot.streaming.cancellation import StopSignal

CANCEL_GRACE_SECONDS = 1.0  # for cleanup in a cancelled task

T = TypeVar("T")


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

import asyncio

import pytest

from moot.engine import waits as module
from moot.engine.waits import wait_at_most
from moot.streaming.cancellation import StopSignal


async def never_returns() -> str:
    await asyncio.Event().wait()
    return ""


async def test_wait_at_most_returns_result_in_time() -> None:
    async def soon() -> str:
        return "done"

    assert await wait_at_most(soon(), 60, StopSignal()) == "done"


async def test_wait_at_most_returns_none_after_timeout() -> None:
    assert await wait_at_most(never_returns(), 0.01, StopSignal()) is None


async def test_wait_at_most_returns_none_when_stop_is_requested() -> None:
    stop = StopSignal()
    asyncio.get_running_loop().call_soon(stop.request_stop)
    async with asyncio.timeout(60):
        assert await wait_at_most(never_returns(), 600, stop) is None
        assert await wait_at_most(never_returns(), 600, stop) is None


async def test_wait_at_most_abandons_work_that_ignores_cancellation(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "CANCEL_GRACE_SECONDS", 0.01)
    over = asyncio.Event()

    async def stubborn() -> str:
        while not over.is_set():
            try:
                await over.wait()
            except asyncio.CancelledError:
                continue
        return ""

    assert await wait_at_most(stubborn(), 0.01, StopSignal()) is None
    over.set()


async def test_wait_at_most_propagates_exception() -> None:
    async def broken() -> str:
        raise ValueError

    with pytest.raises(ValueError):  # noqa: PT011
        await wait_at_most(broken(), 60, StopSignal())


async def test_wait_at_most_cancels_work_when_caller_is_cancelled() -> None:
    gone = asyncio.Event()

    async def work() -> str:
        try:
            return await never_returns()
        finally:
            gone.set()

    waiting = asyncio.create_task(wait_at_most(work(), 600, StopSignal()))
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    async with asyncio.timeout(60):
        await gone.wait()

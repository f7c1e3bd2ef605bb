import asyncio

import pytest

from moot.streaming import cancellation
from moot.streaming.cancellation import StopSignal, StreamTimeouts, cancel_tasks, wait_at_most
from moot.types.events import StopReason
from tests.streaming.fake_clock import FakeClock, clock

__all__ = ["clock"]


async def test_stream_timeouts_end_scope_when_idle() -> None:
    async with StreamTimeouts(idle=0.01, total=10) as guard:
        await asyncio.sleep(5)
    assert guard.end_reason == "idle"


async def test_record_progress_extends_scope_until_total_timeout(clock: FakeClock) -> None:
    async with StreamTimeouts(idle=5, total=20) as guard:
        for _ in range(5):
            clock.advance(4)
            await asyncio.sleep(0)
            guard.record_progress()
    assert (guard.end_reason, clock.time()) == ("total", 20)


async def test_cancel_stream_ends_scope_with_reason_and_leaves_task_uncancelled() -> None:
    async with StreamTimeouts(idle=10, total=10) as guard:
        guard.cancel_stream("follow_up_interrupt")
        guard.cancel_stream("stopped_by_user")
        await asyncio.sleep(5)
    assert guard.end_reason == "stopped_by_user"
    await asyncio.sleep(0)  # no cancellation is pending


async def test_cancel_stream_does_not_cancel_task_after_scope_exit() -> None:
    async with StreamTimeouts(idle=10, total=10) as guard:
        guard.cancel_stream("stopped_by_user")
    await asyncio.sleep(0.001)
    assert guard.end_reason == "stopped_by_user"


async def test_cancellation_shield_delays_cancellation() -> None:
    finished = False
    async with StreamTimeouts(idle=10, total=10) as guard:
        asyncio.get_running_loop().call_later(0.005, guard.cancel_stream, "stopped_by_user")
        with guard.cancellation_shield:
            await asyncio.sleep(0.03)
            finished = True
        assert guard.end_reason == "stopped_by_user"
    assert finished


async def test_stream_timeouts_propagate_outer_cancellation() -> None:
    async def body() -> None:
        async with StreamTimeouts(idle=10, total=10) as guard:
            guard.cancel_stream("stopped_by_user")
            asyncio.current_task().cancel()  # type: ignore[union-attr]
            await asyncio.sleep(5)

    with pytest.raises(asyncio.CancelledError):
        await asyncio.create_task(body())


async def test_stream_timeouts_propagate_errors() -> None:
    with pytest.raises(KeyError):
        async with StreamTimeouts(idle=10, total=10):
            raise KeyError


async def test_stream_timeouts_do_not_fire_after_scope_exit() -> None:
    async with StreamTimeouts(idle=0.005, total=1) as guard:
        pass
    await asyncio.sleep(0.02)
    assert guard.end_reason is None


async def test_time_inside_shield_does_not_count_as_idle(clock: FakeClock) -> None:
    async with StreamTimeouts(idle=2, total=100) as guard:
        with guard.cancellation_shield:
            clock.advance(9)
            await asyncio.sleep(0)
        clock.advance(1.5)
        await asyncio.sleep(0)
    assert guard.end_reason is None


def test_user_stop_outranks_follow_up_and_is_never_replaced() -> None:
    stop = StopSignal()
    stop.request_stop("follow_up_interrupt")
    stop.request_stop("stopped_by_user")
    stop.request_stop("follow_up_interrupt")
    assert stop.reason == "stopped_by_user"


def test_child_stop_signal_follows_parent_but_not_reverse() -> None:
    run = StopSignal()
    alpha, beta = StopSignal(run), StopSignal(run)
    alpha.request_stop()
    assert (run.reason, beta.reason) == (None, None)
    run.request_stop("follow_up_interrupt")
    assert beta.reason == "follow_up_interrupt"
    assert alpha.reason == "stopped_by_user"
    assert StopSignal(run).reason == "follow_up_interrupt"


def test_notify_on_stop_calls_listener_once_and_unregisters_it() -> None:
    stop, reasons = StopSignal(), list[StopReason]()
    with stop.notify_on_stop(reasons.append):
        stop.request_stop()
        stop.request_stop()
    with stop.notify_on_stop(reasons.append):
        pass
    assert reasons == ["stopped_by_user", "stopped_by_user"]


async def test_sleep_unless_stopped_ends_at_stop() -> None:
    stop = StopSignal()
    sleeping = asyncio.create_task(stop.sleep_unless_stopped(60))
    await asyncio.sleep(0)
    stop.request_stop()
    assert await asyncio.wait_for(sleeping, 60) is True
    assert await StopSignal().sleep_unless_stopped(0.001) is False


async def test_sleep_unless_stopped_propagates_cancellation_during_stop() -> None:
    in_time = 0
    for ticks in range(4):
        stop = StopSignal()
        sleeping = asyncio.create_task(stop.sleep_unless_stopped(60))
        await asyncio.sleep(0)
        stop.request_stop()
        for _ in range(ticks):
            await asyncio.sleep(0)
        if sleeping.cancel():
            in_time += 1
            with pytest.raises(asyncio.CancelledError):
                await sleeping
    assert in_time > 0


@pytest.mark.parametrize("before", [True, False])
def test_child_stop_signal_can_ignore_one_reason(before: bool) -> None:
    run = StopSignal()
    if before:
        run.request_stop("follow_up_interrupt")
    child = StopSignal(run, ignored_reason="follow_up_interrupt")
    run.request_stop("follow_up_interrupt")
    assert child.reason is None
    run.request_stop("stopped_by_user")
    assert child.reason == "stopped_by_user"


async def test_cancel_tasks_waits_and_returns_outcomes() -> None:
    ended: list[str] = []

    async def clean_up_slowly() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            await asyncio.sleep(0)
            ended.append("cleaned up")

    async def fail() -> None:
        raise ValueError("lost")

    tasks = [asyncio.create_task(clean_up_slowly()), asyncio.create_task(fail())]
    await asyncio.sleep(0)
    outcomes = await cancel_tasks(*tasks)
    assert [type(one) for one in outcomes] == [asyncio.CancelledError, ValueError]
    assert ended == ["cleaned up"]
    assert await cancel_tasks() == []


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
    monkeypatch.setattr(cancellation, "CANCEL_GRACE_SECONDS", 0.01)
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

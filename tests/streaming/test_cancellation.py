import asyncio

import pytest

from moot.streaming.cancellation import StopSignal, StreamTimeouts
from moot.types.events import StopReason
from tests.streaming.clock import FakeClock, clock

__all__ = ["clock"]


async def test_silence_ends_the_scope() -> None:
    async with StreamTimeouts(idle=0.01, total=10) as guard:
        await asyncio.sleep(5)
    assert guard.end_reason == "idle"


async def test_touching_keeps_it_open_until_the_total(clock: FakeClock) -> None:
    async with StreamTimeouts(idle=5, total=20) as guard:
        for _ in range(5):
            clock.advance(4)
            await asyncio.sleep(0)
            guard.record_progress()
    assert (guard.end_reason, clock.time()) == ("total", 20)


async def test_it_ends_for_a_named_reason_and_leaves_the_task_alive() -> None:
    async with StreamTimeouts(idle=10, total=10) as guard:
        guard.cancel_stream("follow_up_interrupt")
        guard.cancel_stream("stopped_by_user")
        await asyncio.sleep(5)
    assert guard.end_reason == "stopped_by_user"
    await asyncio.sleep(0)  # no cancellation is left over


async def test_a_block_that_leaves_before_the_cancellation_arrives_is_not_hit_later() -> None:
    async with StreamTimeouts(idle=10, total=10) as guard:
        guard.cancel_stream("stopped_by_user")
    await asyncio.sleep(0.001)
    assert guard.end_reason == "stopped_by_user"


async def test_what_must_not_be_disturbed_finishes_first() -> None:
    finished = False
    async with StreamTimeouts(idle=10, total=10) as guard:
        asyncio.get_running_loop().call_later(0.005, guard.cancel_stream, "stopped_by_user")
        with guard.cancellation_shield:
            await asyncio.sleep(0.03)
            finished = True
        assert guard.end_reason == "stopped_by_user"
    assert finished


async def test_a_cancellation_from_outside_passes_through() -> None:
    async def body() -> None:
        async with StreamTimeouts(idle=10, total=10) as guard:
            guard.cancel_stream("stopped_by_user")
            asyncio.current_task().cancel()  # type: ignore[union-attr]
            await asyncio.sleep(5)

    with pytest.raises(asyncio.CancelledError):
        await asyncio.create_task(body())


async def test_errors_pass_through() -> None:
    with pytest.raises(KeyError):
        async with StreamTimeouts(idle=10, total=10):
            raise KeyError


async def test_after_it_ended_nothing_fires() -> None:
    async with StreamTimeouts(idle=0.005, total=1) as guard:
        pass
    await asyncio.sleep(0.02)
    assert guard.end_reason is None


async def test_a_slow_reader_is_not_a_silent_provider(clock: FakeClock) -> None:
    async with StreamTimeouts(idle=2, total=100) as guard:
        with guard.cancellation_shield:
            clock.advance(9)
            await asyncio.sleep(0)
        clock.advance(1.5)
        await asyncio.sleep(0)
    assert guard.end_reason is None


def test_a_stop_outranks_a_follow_up_and_is_never_replaced() -> None:
    stop = StopSignal()
    stop.request_stop("follow_up_interrupt")
    stop.request_stop("stopped_by_user")
    stop.request_stop("follow_up_interrupt")
    assert stop.reason == "stopped_by_user"


def test_a_child_hears_its_parent_but_not_the_other_way_round() -> None:
    run = StopSignal()
    alpha, beta = StopSignal(run), StopSignal(run)
    alpha.request_stop()
    assert (run.reason, beta.reason) == (None, None)
    run.request_stop("follow_up_interrupt")
    assert beta.reason == "follow_up_interrupt"
    assert alpha.reason == "stopped_by_user"
    assert StopSignal(run).reason == "follow_up_interrupt"


def test_watchers_are_told_once_and_forgotten_afterwards() -> None:
    stop, told = StopSignal(), list[StopReason]()
    with stop.notify_on_stop(told.append):
        stop.request_stop()
        stop.request_stop()
    with stop.notify_on_stop(told.append):
        pass
    assert told == ["stopped_by_user", "stopped_by_user"]


async def test_sleep_ends_at_a_stop() -> None:
    stop = StopSignal()
    sleeping = asyncio.create_task(stop.sleep_unless_stopped(60))
    await asyncio.sleep(0)
    stop.request_stop()
    assert await asyncio.wait_for(sleeping, 60) is True
    assert await StopSignal().sleep_unless_stopped(0.001) is False


async def test_a_sleep_that_is_cancelled_while_a_stop_comes_is_cancelled() -> None:
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
def test_a_child_may_be_deaf_to_one_reason(before: bool) -> None:
    run = StopSignal()
    if before:
        run.request_stop("follow_up_interrupt")
    child = StopSignal(run, ignored_reason="follow_up_interrupt")
    run.request_stop("follow_up_interrupt")
    assert child.reason is None
    run.request_stop("stopped_by_user")
    assert child.reason == "stopped_by_user"

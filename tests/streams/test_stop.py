import asyncio

import pytest

from moot.model.events import Reason
from moot.streams.stop import Stop


def test_a_stop_outranks_a_follow_up_and_is_never_replaced() -> None:
    stop = Stop()
    stop.request("follow_up_interrupt")
    stop.request("stopped_by_user")
    stop.request("follow_up_interrupt")
    assert stop.reason == "stopped_by_user"


def test_a_child_hears_its_parent_but_not_the_other_way_round() -> None:
    run = Stop()
    alpha, beta = Stop(run), Stop(run)
    alpha.request()
    assert (run.reason, beta.reason) == (None, None)
    run.request("follow_up_interrupt")
    assert beta.reason == "follow_up_interrupt"
    assert alpha.reason == "stopped_by_user"
    assert Stop(run).reason == "follow_up_interrupt"


def test_watchers_are_told_once_and_forgotten_afterwards() -> None:
    stop, told = Stop(), list[Reason]()
    with stop.watched(told.append):
        stop.request()
        stop.request()
    with stop.watched(told.append):
        pass
    assert told == ["stopped_by_user", "stopped_by_user"]


async def test_sleep_ends_at_a_stop() -> None:
    stop = Stop()
    sleeping = asyncio.create_task(stop.sleep(60))
    await asyncio.sleep(0)
    stop.request()
    assert await asyncio.wait_for(sleeping, 60) is True
    assert await Stop().sleep(0.001) is False


async def test_a_sleep_that_is_cancelled_while_a_stop_comes_is_cancelled() -> None:
    in_time = 0
    for ticks in range(4):
        stop = Stop()
        sleeping = asyncio.create_task(stop.sleep(60))
        await asyncio.sleep(0)
        stop.request()
        for _ in range(ticks):
            await asyncio.sleep(0)
        if sleeping.cancel():
            in_time += 1
            with pytest.raises(asyncio.CancelledError):
                await sleeping
    assert in_time > 0


@pytest.mark.parametrize("before", [True, False])
def test_a_child_may_be_deaf_to_one_reason(before: bool) -> None:
    run = Stop()
    if before:
        run.request("follow_up_interrupt")
    child = Stop(run, deaf_to="follow_up_interrupt")
    run.request("follow_up_interrupt")
    assert child.reason is None
    run.request("stopped_by_user")
    assert child.reason == "stopped_by_user"

import asyncio

import pytest

from moot.streams.guard import Guard
from tests.streams.clock import Clock, clock

__all__ = ["clock"]


async def test_silence_ends_the_scope() -> None:
    async with Guard(idle=0.01, total=10) as guard:
        await asyncio.sleep(5)
    assert guard.ending == "idle"


async def test_touching_keeps_it_open_until_the_total(clock: Clock) -> None:
    async with Guard(idle=5, total=20) as guard:
        for _ in range(5):
            clock.go_on(4)
            await asyncio.sleep(0)
            guard.touch()
    assert (guard.ending, clock.time()) == ("total", 20)


async def test_it_ends_for_a_named_reason_and_leaves_the_task_alive() -> None:
    async with Guard(idle=10, total=10) as guard:
        guard.end("follow_up_interrupt")
        guard.end("stopped_by_user")
        await asyncio.sleep(5)
    assert guard.ending == "stopped_by_user"
    await asyncio.sleep(0)  # no cancellation is left over


async def test_a_block_that_leaves_before_the_cancellation_arrives_is_not_hit_later() -> None:
    async with Guard(idle=10, total=10) as guard:
        guard.end("stopped_by_user")
    await asyncio.sleep(0.001)
    assert guard.ending == "stopped_by_user"


async def test_what_must_not_be_disturbed_finishes_first() -> None:
    finished = False
    async with Guard(idle=10, total=10) as guard:
        asyncio.get_running_loop().call_later(0.005, guard.end, "stopped_by_user")
        with guard.undisturbed:
            await asyncio.sleep(0.03)
            finished = True
        assert guard.ending == "stopped_by_user"
    assert finished


async def test_a_cancellation_from_outside_passes_through() -> None:
    async def body() -> None:
        async with Guard(idle=10, total=10) as guard:
            guard.end("stopped_by_user")
            asyncio.current_task().cancel()  # type: ignore[union-attr]
            await asyncio.sleep(5)

    with pytest.raises(asyncio.CancelledError):
        await asyncio.create_task(body())


async def test_errors_pass_through() -> None:
    with pytest.raises(KeyError):
        async with Guard(idle=10, total=10):
            raise KeyError


async def test_after_it_ended_nothing_fires() -> None:
    async with Guard(idle=0.005, total=1) as guard:
        pass
    await asyncio.sleep(0.02)
    assert guard.ending is None


async def test_a_slow_reader_is_not_a_silent_provider(clock: Clock) -> None:
    async with Guard(idle=2, total=100) as guard:
        with guard.undisturbed:
            clock.go_on(9)
            await asyncio.sleep(0)
        clock.go_on(1.5)
        await asyncio.sleep(0)
    assert guard.ending is None

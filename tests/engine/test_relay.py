"""One who tells, one who reads, and nobody who waits for ever."""

import asyncio
from contextlib import aclosing

import pytest

from moot.engine import relay as module
from moot.engine.relay import WAITING, Relay


@pytest.fixture
def relay() -> Relay[int]:
    return Relay()


async def told(relay: Relay[int], *numbers: int) -> None:
    for number in numbers:
        await relay.tell([number])
    await relay.end()


async def settled() -> None:
    """Let everybody go on as far as they can."""
    for _ in range(5):
        await asyncio.sleep(0)


async def test_what_is_told_is_read_in_its_order_and_to_its_end(relay: Relay[int]) -> None:
    telling = asyncio.create_task(told(relay, *range(3 * WAITING)))
    read = [number async for some in relay.read() for number in some]
    await telling
    assert read == list(range(3 * WAITING))


async def test_a_reader_that_waits_looks_up_now_and_then(
    relay: Relay[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "LOOK_SECONDS", 0.001)
    async with aclosing(relay.read()) as reading:
        assert await anext(reading) == []
        assert await anext(reading) == []
        await relay.tell([1])
        assert [1] in [await anext(reading), await anext(reading)], "and misses nothing"


async def test_who_tells_waits_for_a_slow_reader(relay: Relay[int]) -> None:
    telling = asyncio.create_task(told(relay, *range(WAITING + 1)))
    await settled()
    assert relay._waiting.qsize() == WAITING
    assert not telling.done()
    async with aclosing(relay.read()) as reading:
        assert await anext(reading) == [0]
        await settled()
        assert relay._waiting.qsize() == WAITING
    async with asyncio.timeout(60):
        await telling


async def test_nobody_waits_for_a_reader_that_has_left(relay: Relay[int]) -> None:
    telling = asyncio.create_task(told(relay, *range(3 * WAITING)))
    async with aclosing(relay.read()) as reading:
        await anext(reading)
    async with asyncio.timeout(60):
        await telling
    assert relay._waiting.qsize() <= 1


async def test_it_is_over_when_all_was_read(relay: Relay[int]) -> None:
    telling = asyncio.create_task(told(relay, 1))
    async with aclosing(relay.read()) as reading:
        assert await anext(reading) == [1]
        await settled()
        assert not telling.done(), "the reader has not come back"
        with pytest.raises(StopAsyncIteration):
            await anext(reading)
    await telling


async def test_a_reader_does_not_wait_for_who_was_lost(
    relay: Relay[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "LOOK_SECONDS", 0.001)
    await relay.tell([1])
    relay.close()
    assert [some async for some in relay.read()] == [[1]]

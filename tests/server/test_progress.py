import asyncio
from collections.abc import AsyncGenerator

import pytest
from msgspec import Struct

from moot.model.errors import Conflict
from moot.server import progress
from moot.server.progress import begun


class Step(Struct, tag_field="type", tag="step"):
    number: int


async def steps(count: int, closed: list[bool]) -> AsyncGenerator[Struct, None]:
    try:
        for number in range(count):
            yield Step(number)
            await asyncio.sleep(0)
    finally:
        closed.append(True)


async def test_events_come_as_frames_until_the_work_is_over() -> None:
    closed: list[bool] = []
    came = [frames async for frames in await begun(steps(2, closed))]
    assert came == [[b'data: {"type":"step","number":0}\n\n'], [b'data: {"type":"step","number":1}\n\n']]
    assert closed == [True]


async def test_what_refuses_the_work_is_raised_before_there_is_a_stream() -> None:
    async def refused() -> AsyncGenerator[Struct, None]:
        raise Conflict("Not now.")
        yield Step(0)

    with pytest.raises(Conflict):
        await begun(refused())


async def test_while_nothing_comes_a_reader_hears_that_we_are_here(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "LOOK_SECONDS", 0.001)
    goes_on = asyncio.Event()

    async def slow() -> AsyncGenerator[Struct, None]:
        yield Step(0)
        await goes_on.wait()
        yield Step(1)

    frames = await begun(slow())
    assert len(await anext(frames)) == 1
    assert await anext(frames) == []
    goes_on.set()
    async for came in frames:
        if came:
            assert came == [b'data: {"type":"step","number":1}\n\n']


async def test_who_leaves_ends_the_work_and_waits_for_its_end() -> None:
    ended: list[str] = []

    async def work() -> AsyncGenerator[Struct, None]:
        yield Step(0)
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            await asyncio.sleep(0.01)  # it pays for what was said
            ended.append("paid")
            raise
        finally:
            ended.append("let go")

    frames = await begun(work())
    await anext(frames)
    reading = asyncio.ensure_future(anext(frames))
    await asyncio.sleep(0.01)
    reading.cancel()
    await asyncio.gather(reading, return_exceptions=True)
    assert ended == ["paid", "let go"]


async def test_who_leaves_between_two_events_ends_it_too() -> None:
    closed: list[bool] = []
    frames = await begun(steps(5, closed))
    await anext(frames)
    await frames.aclose()
    assert closed == [True]


async def test_what_goes_wrong_is_told_as_it_is() -> None:
    async def broken() -> AsyncGenerator[Struct, None]:
        yield Step(0)
        raise ZeroDivisionError

    frames = await begun(broken())
    await anext(frames)
    with pytest.raises(ZeroDivisionError):
        await anext(frames)

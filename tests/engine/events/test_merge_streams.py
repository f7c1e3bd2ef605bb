import asyncio
from collections import defaultdict
from contextlib import aclosing

import pytest
from hypothesis import given
from hypothesis import strategies as st

from moot.engine.events.subscription import FrameStream, StreamMerger
from moot.types.errors import DatabaseUnavailable
from tests.store.hearing import SECONDS, eventually


class Source:
    """A stream that brings what a test tells it to; it knows how much was asked for, and whether it was closed."""

    def __init__(self, *batches: list[bytes]) -> None:
        self.coming: asyncio.Queue[list[bytes] | Exception | None] = asyncio.Queue()
        self.brought = 0
        self.closed = False
        for batch in batches:
            self.coming.put_nowait(batch)

    async def stream(self) -> FrameStream:
        try:
            while (some := await self.coming.get()) is not None:
                if isinstance(some, Exception):
                    raise some
                self.brought += 1
                yield some
        finally:
            self.closed = True


async def taken(flow: FrameStream) -> list[bytes]:
    return await asyncio.wait_for(anext(flow), SECONDS)


async def test_what_streams_brought_meanwhile_is_taken_together() -> None:
    one, confluence = Source([b"a1"]), StreamMerger()
    async with aclosing(confluence.merge_streams(one.stream())) as flow:
        assert await taken(flow) == [b"a1"]
        others = [Source([b"b1", b"b2"], [b"b3"]), Source([b"c1"])]
        for other in others:
            confluence.add_stream(other.stream())
        await eventually(lambda: all(other.brought for other in others))
        assert await taken(flow) == [b"b1", b"b2", b"c1"]
        assert await taken(flow) == [b"b3"]


async def test_a_sign_of_life_is_passed_on() -> None:
    async with aclosing(StreamMerger().merge_streams(Source([], [b"a"]).stream())) as flow:
        assert [await taken(flow), await taken(flow)] == [[], [b"a"]]


async def test_a_stream_may_come_while_others_flow_and_a_silent_one_holds_up_nobody() -> None:
    silent, late = Source(), Source([b"b1"], [b"b2"])
    confluence = StreamMerger()
    async with aclosing(confluence.merge_streams(silent.stream())) as flow:
        waiting = asyncio.ensure_future(taken(flow))
        await asyncio.sleep(0)
        confluence.add_stream(late.stream())
        assert await waiting == [b"b1"]
        assert await taken(flow) == [b"b2"]


async def test_it_ends_when_all_have_ended() -> None:
    one, other = Source([b"a"]), Source([b"b"])
    confluence = StreamMerger()
    async with aclosing(confluence.merge_streams(one.stream())) as flow:
        assert await taken(flow) == [b"a"]
        confluence.add_stream(other.stream())
        one.coming.put_nowait(None)
        assert await taken(flow) == [b"b"]
        other.coming.put_nowait(None)
        with pytest.raises(StopAsyncIteration):
            await taken(flow)


async def test_of_a_reader_that_does_not_read_one_batch_of_every_stream_waits() -> None:
    sources = [Source(*([b"x"] for _ in range(50))) for _ in range(3)]
    confluence = StreamMerger()
    async with aclosing(confluence.merge_streams(sources[0].stream())) as flow:
        assert await taken(flow) == [b"x"]
        for source in sources[1:]:
            confluence.add_stream(source.stream())
        for _ in range(100):
            await asyncio.sleep(0)
        assert [source.brought for source in sources] == [1, 1, 1]


async def test_one_that_fails_ends_all_and_its_error_is_told() -> None:
    failing, other = Source(), Source()
    confluence = StreamMerger()
    confluence.add_stream(other.stream())
    async with aclosing(confluence.merge_streams(failing.stream())) as flow:
        failing.coming.put_nowait(DatabaseUnavailable("away"))
        with pytest.raises(DatabaseUnavailable, match="away"):
            await taken(flow)
        assert failing.closed
        assert other.closed


@pytest.mark.parametrize("waiting", [True, False])
async def test_whoever_leaves_ends_all(*, waiting: bool) -> None:
    before = asyncio.all_tasks()
    one, other, confluence = Source([b"a"]), Source(), StreamMerger()
    flow = confluence.merge_streams(one.stream())
    await taken(flow)
    confluence.add_stream(other.stream())
    if waiting:
        reading = asyncio.ensure_future(anext(flow))
        await asyncio.sleep(0.01)
        reading.cancel()
        with pytest.raises(asyncio.CancelledError):
            await reading
    else:
        other.coming.put_nowait([b"b"])
        await eventually(lambda: other.brought == 1)
    await flow.aclose()
    assert one.closed
    assert other.closed
    assert asyncio.all_tasks() == before


async def test_before_anybody_reads_nothing_is_begun() -> None:
    before, source = asyncio.all_tasks(), Source([b"a"])
    flow = StreamMerger().merge_streams(source.stream())
    await asyncio.sleep(0)
    await flow.aclose()
    assert (source.brought, asyncio.all_tasks()) == (0, before)


@given(
    streams=st.lists(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 2)), max_size=8), min_size=1),
    pauses=st.lists(st.integers(0, 3), min_size=1),
)
async def test_every_stream_comes_whole_and_in_order(
    streams: list[list[tuple[int, int]]], pauses: list[int]
) -> None:
    async def stream(name: int) -> FrameStream:
        place = 0
        for size, pause in streams[name]:
            for _ in range(pause):
                await asyncio.sleep(0)
            yield [b"%d:%d" % (name, number) for number in range(place, place + size)]
            place += size

    confluence = StreamMerger()
    for name in range(1, len(streams)):
        confluence.add_stream(stream(name))
    got: defaultdict[int, list[int]] = defaultdict(list)
    turns = 0
    async with aclosing(confluence.merge_streams(stream(0))) as flow:
        async for frames in flow:
            for frame in frames:
                of, _, number = frame.partition(b":")
                got[int(of)].append(int(number))
            turns += 1
            for _ in range(pauses[turns % len(pauses)]):
                await asyncio.sleep(0)
    for name, batches in enumerate(streams):
        assert got[name] == list(range(sum(size for size, _ in batches)))

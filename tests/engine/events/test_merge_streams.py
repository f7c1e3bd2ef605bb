import asyncio
from collections import defaultdict
from contextlib import aclosing

import pytest
from hypothesis import given
from hypothesis import strategies as st

from moot.engine.events.hub import StreamMerger
from moot.types.errors import DatabaseUnavailable
from moot.types.streams import HEARTBEAT, BatchStream, Heartbeat
from tests.support.waiting import WAIT_TIMEOUT_SECONDS, wait_until


class ScriptedSource:
    """A stream with the batches of a test. It records how many were requested and whether it was closed."""

    def __init__(self, *batches: list[bytes] | Heartbeat) -> None:
        self.queue: asyncio.Queue[list[bytes] | Heartbeat | Exception | None] = asyncio.Queue()
        self.batches_read = 0
        self.closed = False
        for batch in batches:
            self.queue.put_nowait(batch)

    async def stream(self) -> BatchStream[bytes]:
        try:
            while (some := await self.queue.get()) is not None:
                if isinstance(some, Exception):
                    raise some
                self.batches_read += 1
                yield some
        finally:
            self.closed = True


async def next_batch(merged: BatchStream[bytes]) -> list[bytes] | Heartbeat:
    return await asyncio.wait_for(anext(merged), WAIT_TIMEOUT_SECONDS)


async def test_merge_streams_combines_batches_that_are_ready_together() -> None:
    one, merger = ScriptedSource([b"a1"]), StreamMerger()
    async with aclosing(merger.merge_streams(one.stream())) as merged:
        assert await next_batch(merged) == [b"a1"]
        others = [ScriptedSource([b"b1", b"b2"], [b"b3"]), ScriptedSource([b"c1"])]
        for other in others:
            merger.add_stream(other.stream())
        await wait_until(lambda: all(other.batches_read for other in others))
        assert await next_batch(merged) == [b"b1", b"b2", b"c1"]
        assert await next_batch(merged) == [b"b3"]


async def test_merge_streams_forwards_heartbeat() -> None:
    async with aclosing(StreamMerger().merge_streams(ScriptedSource(HEARTBEAT, [b"a"]).stream())) as merged:
        assert [await next_batch(merged), await next_batch(merged)] == [HEARTBEAT, [b"a"]]


async def test_add_stream_while_merging_delivers_its_batches_despite_idle_streams() -> None:
    silent, late = ScriptedSource(), ScriptedSource([b"b1"], [b"b2"])
    merger = StreamMerger()
    async with aclosing(merger.merge_streams(silent.stream())) as merged:
        waiting = asyncio.ensure_future(next_batch(merged))
        await asyncio.sleep(0)
        merger.add_stream(late.stream())
        assert await waiting == [b"b1"]
        assert await next_batch(merged) == [b"b2"]


async def test_merge_streams_ends_when_all_streams_ended() -> None:
    one, other = ScriptedSource([b"a"]), ScriptedSource([b"b"])
    merger = StreamMerger()
    async with aclosing(merger.merge_streams(one.stream())) as merged:
        assert await next_batch(merged) == [b"a"]
        merger.add_stream(other.stream())
        one.queue.put_nowait(None)
        assert await next_batch(merged) == [b"b"]
        other.queue.put_nowait(None)
        with pytest.raises(StopAsyncIteration):
            await next_batch(merged)


async def test_merge_streams_buffers_one_batch_per_stream_without_reader() -> None:
    sources = [ScriptedSource(*([b"x"] for _ in range(50))) for _ in range(3)]
    merger = StreamMerger()
    async with aclosing(merger.merge_streams(sources[0].stream())) as merged:
        assert await next_batch(merged) == [b"x"]
        for source in sources[1:]:
            merger.add_stream(source.stream())
        for _ in range(100):
            await asyncio.sleep(0)
        assert [source.batches_read for source in sources] == [1, 1, 1]


async def test_merge_streams_raises_stream_error_and_closes_all_streams() -> None:
    failing, other = ScriptedSource(), ScriptedSource()
    merger = StreamMerger()
    merger.add_stream(other.stream())
    async with aclosing(merger.merge_streams(failing.stream())) as merged:
        failing.queue.put_nowait(DatabaseUnavailable("away"))
        with pytest.raises(DatabaseUnavailable, match="away"):
            await next_batch(merged)
        assert failing.closed
        assert other.closed


@pytest.mark.parametrize("waiting", [True, False])
async def test_merge_streams_closes_all_streams_when_reader_leaves(*, waiting: bool) -> None:
    before = asyncio.all_tasks()
    one, other, merger = ScriptedSource([b"a"]), ScriptedSource(), StreamMerger()
    merged = merger.merge_streams(one.stream())
    await next_batch(merged)
    merger.add_stream(other.stream())
    if waiting:
        reading = asyncio.ensure_future(anext(merged))
        await asyncio.sleep(0.01)
        reading.cancel()
        with pytest.raises(asyncio.CancelledError):
            await reading
    else:
        other.queue.put_nowait([b"b"])
        await wait_until(lambda: other.batches_read == 1)
    await merged.aclose()
    assert one.closed
    assert other.closed
    assert asyncio.all_tasks() == before


async def test_merge_streams_starts_nothing_before_first_read() -> None:
    before, source = asyncio.all_tasks(), ScriptedSource([b"a"])
    merged = StreamMerger().merge_streams(source.stream())
    await asyncio.sleep(0)
    await merged.aclose()
    assert (source.batches_read, asyncio.all_tasks()) == (0, before)


@given(
    streams=st.lists(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 2)), max_size=8), min_size=1),
    pauses=st.lists(st.integers(0, 3), min_size=1),
)
async def test_merge_streams_keeps_every_stream_complete_and_in_order(
    streams: list[list[tuple[int, int]]], pauses: list[int]
) -> None:
    async def stream(name: int) -> BatchStream[bytes]:
        place = 0
        for size, pause in streams[name]:
            for _ in range(pause):
                await asyncio.sleep(0)
            yield [b"%d:%d" % (name, number) for number in range(place, place + size)]
            place += size

    merger = StreamMerger()
    for name in range(1, len(streams)):
        merger.add_stream(stream(name))
    got: defaultdict[int, list[int]] = defaultdict(list)
    turns = 0
    async with aclosing(merger.merge_streams(stream(0))) as merged:
        async for frames in merged:
            for frame in frames:
                of, _, number = frame.partition(b":")
                got[int(of)].append(int(number))
            turns += 1
            for _ in range(pauses[turns % len(pauses)]):
                await asyncio.sleep(0)
    for name, batches in enumerate(streams):
        assert got[name] == list(range(sum(size for size, _ in batches)))

import asyncio
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import aclosing, asynccontextmanager

import pytest
from hypothesis import given
from hypothesis import strategies as st

from moot.engine import telemetry
from moot.engine.events import hub as module
from moot.engine.events.hub import EventHub
from moot.store import database as database_module
from moot.store.database import Database
from moot.store.runs import event_log as stored
from moot.store.runs.event_log import EventLog, EventLogEntry, RunProgress, decode_signal
from moot.store.runs.runs import RunLease
from moot.types.errors import DatabaseUnavailable
from moot.types.streams import HEARTBEAT, BatchStream
from tests.support.databases import ON_BOTH_DATABASES
from tests.support.runs import prepare_leased_run
from tests.support.waiting import wait_until

RUN = "run_1"
DELTA = '{"type":"text_delta","n":%d}'
END = '{"type":"run_ended","n":%d}'


class MemoryEventLog(EventLog):
    """A slow event log in memory. It returns the events that existed when the call began."""

    def __init__(self) -> None:
        self.bodies: list[str] = []
        self.delay_steps = 0
        self.is_unavailable = False
        self.can_answer = asyncio.Event()
        self.can_answer.set()
        self.read_count = self.poll_count = 0

    async def read_events(self, id: str, after: int) -> list[tuple[int, str]]:
        self.read_count += 1
        if self.is_unavailable:
            raise DatabaseUnavailable("away")
        page = list(enumerate(self.bodies, 1))[after : after + stored.EVENTS_PER_PAGE]
        for _ in range(self.delay_steps):
            await asyncio.sleep(0)
        await self.can_answer.wait()
        return page

    async def newest_seqs(self, runs: Sequence[str]) -> dict[str, int]:
        self.poll_count += 1
        if self.is_unavailable:
            raise DatabaseUnavailable("away")
        return {RUN: len(self.bodies)} if RUN in runs else {}

    def read_signal(self, signal: str) -> Iterator[tuple[str, int]]:
        return decode_signal("we", signal)


class EventPublisher:
    """Adds events to the log and notifies the hub, in one of several ways."""

    def __init__(self, event_log: MemoryEventLog, event_hub: EventHub) -> None:
        self.event_log = event_log
        self.event_hub = event_hub

    def add_events(self, count: int, source: str, body: str = DELTA) -> None:
        first = len(self.event_log.bodies) + 1
        new = [body % number for number in range(first, first + count)]
        self.event_log.bodies += new
        match source:
            case "here":
                self.event_hub.publish(RUN, first, new)
            case "elsewhere":
                self.event_hub.on_notify(f"them,run_0:7,{RUN}:{len(self.event_log.bodies)}")
            case "in silence":
                pass


class RecordingSubscriber:
    """Subscribes after an event number and records the numbers of the events that arrive."""

    def __init__(self, event_hub: EventHub, start: int, progress: RunProgress | None = None) -> None:
        self.start = start
        self.received_seqs: list[int] = []
        self.task = asyncio.create_task(self._read(event_hub.subscribe(RUN, start, progress)))

    async def _read(self, stream: BatchStream[bytes]) -> None:
        async with aclosing(stream):
            async for frames in stream:
                self.received_seqs += [frame_seq(frame) for frame in frames]

    async def unsubscribe(self) -> None:
        self.task.cancel()
        await asyncio.gather(self.task, return_exceptions=True)


def frame_seq(frame: bytes) -> int:
    """Check a frame and return its event number."""
    id, data, *rest = frame.split(b"\n")
    assert data.endswith(b'"n":%d}' % int(id.removeprefix(b"id: ")))
    assert rest == [b"", b""]
    return int(id.removeprefix(b"id: "))


def has_all_events(subscriber: RecordingSubscriber, last_seq: int) -> bool:
    return subscriber.received_seqs == list(range(subscriber.start + 1, last_seq + 1))


@pytest.fixture
def small_buffers(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make buffers and pages small, so that a few events fill them."""
    shrink_buffers(monkeypatch)


def shrink_buffers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_BUFFERED_FRAMES", 5)
    monkeypatch.setattr(stored, "EVENTS_PER_PAGE", 3)


Step = st.one_of(
    st.tuples(st.sampled_from(["here", "elsewhere", "in silence"]), st.integers(1, 9)),
    st.tuples(st.sampled_from(["join", "leave"]), st.integers(0, 30)),
    st.tuples(st.just("look"), st.just(0)),
    st.tuples(st.just("rest"), st.integers(0, 8)),
)


@given(steps=st.lists(Step, max_size=40), slowness=st.integers(0, 4), end=st.sampled_from(["here", "elsewhere"]))
async def test_subscribers_receive_all_events_after_their_cursor_once_and_in_order(
    steps: list[tuple[str, int]], slowness: int, end: str
) -> None:
    with pytest.MonkeyPatch.context() as monkeypatch:
        shrink_buffers(monkeypatch)
        event_log = MemoryEventLog()
        event_log.delay_steps = slowness
        hub = EventHub(event_log)
        writer = EventPublisher(event_log, hub)
        readers: list[RecordingSubscriber] = []
        for step, count in steps:
            match step:
                case "join":
                    readers.append(RecordingSubscriber(hub, min(count, len(event_log.bodies))))
                case "leave" if readers:
                    gone = readers.pop(count % len(readers))
                    await gone.unsubscribe()
                    assert has_all_events(gone, gone.start + len(gone.received_seqs))
                case "look":
                    await hub.poll()
                case "rest":
                    for _ in range(count):
                        await asyncio.sleep(0)
                case "here" | "elsewhere" | "in silence":
                    writer.add_events(count, step)
        writer.add_events(1, end, END)
        async with asyncio.timeout(60):
            await asyncio.gather(*(reader.task for reader in readers))
        assert all(has_all_events(reader, len(event_log.bodies)) for reader in readers)
        assert hub._streams == {}


@asynccontextmanager
async def open_subscribers(
    event_hub: EventHub, *starts: int, progress: RunProgress | None = None
) -> AsyncIterator[list[RecordingSubscriber]]:
    """Open subscribers and wait until they have caught up. Then reset the count of reads."""
    readers = [RecordingSubscriber(event_hub, start, progress) for start in starts]
    try:
        await asyncio.sleep(0.01)
        if isinstance(event_hub._events, MemoryEventLog):
            event_hub._events.read_count = 0
        yield readers
    finally:
        for reader in readers:
            await reader.unsubscribe()


async def test_local_events_reach_subscribers_without_database_reads() -> None:
    event_log = MemoryEventLog()
    hub = EventHub(event_log)
    writer = EventPublisher(event_log, hub)
    async with open_subscribers(hub, *[0] * 20) as readers:
        for _ in range(50):
            writer.add_events(2, "here")
            await asyncio.sleep(0)
        await wait_until(lambda: all(has_all_events(reader, 100) for reader in readers))
        assert event_log.read_count == 0


async def test_remote_events_are_read_once_for_all_subscribers() -> None:
    event_log = MemoryEventLog()
    event_log.delay_steps = 3
    hub = EventHub(event_log)
    writer = EventPublisher(event_log, hub)
    async with open_subscribers(hub, *[0] * 20) as readers:
        for upto in (2, 4, 6):
            writer.add_events(2, "elsewhere")
            await wait_until(lambda: all(has_all_events(reader, upto) for reader in readers))  # noqa: B023 - at once
        assert event_log.read_count == 3


async def test_poll_queries_database_once_for_all_runs() -> None:
    event_log = MemoryEventLog()
    hub = EventHub(event_log)
    async with open_subscribers(hub, *[0] * 20) as readers:
        await hub.poll()
        await asyncio.sleep(0.01)
        assert (event_log.poll_count, event_log.read_count) == (1, 0)
        EventPublisher(event_log, hub).add_events(3, "in silence")
        await hub.poll()
        await wait_until(lambda: all(has_all_events(reader, 3) for reader in readers))
        assert (event_log.poll_count, event_log.read_count) == (2, 1)
        EventPublisher(event_log, hub).add_events(1, "here")
        await hub.poll()
        assert event_log.poll_count == 2


async def test_own_notification_causes_no_database_read() -> None:
    event_log = MemoryEventLog()
    hub = EventHub(event_log)
    async with open_subscribers(hub, 0) as (reader,):
        hub.on_notify(f"we,{RUN}:1")
        await asyncio.sleep(0.01)
        assert event_log.read_count == 0
        EventPublisher(event_log, hub).add_events(1, "here")
        await wait_until(lambda: has_all_events(reader, 1))
        assert event_log.read_count == 0


async def test_notified_seq_that_does_not_exist_is_read_once() -> None:
    event_log = MemoryEventLog()
    hub = EventHub(event_log)
    async with open_subscribers(hub, 0) as (reader,):
        hub.on_notify(f"them,{RUN}:7")
        await asyncio.sleep(0.01)
        assert event_log.read_count == 1
        EventPublisher(event_log, hub).add_events(2, "here")
        await wait_until(lambda: has_all_events(reader, 2))


async def test_subscribers_wait_while_database_is_unavailable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(database_module, "FIRST_RETRY_SECONDS", 0.01)
    event_log = MemoryEventLog()
    EventPublisher(event_log, hub := EventHub(event_log)).add_events(3, "in silence")
    event_log.is_unavailable = True
    async with open_subscribers(hub, 0) as (reader,):
        await wait_until(lambda: event_log.read_count > 2)
        assert not reader.task.done()
        event_log.is_unavailable = False
        await wait_until(lambda: has_all_events(reader, 3))


async def test_notification_during_database_read_is_not_lost() -> None:
    event_log = MemoryEventLog()
    hub = EventHub(event_log)
    writer = EventPublisher(event_log, hub)
    async with open_subscribers(hub, 0) as (reader,):
        event_log.can_answer.clear()
        writer.add_events(2, "elsewhere")
        await wait_until(lambda: event_log.read_count == 1)
        writer.add_events(2, "elsewhere")
        event_log.can_answer.set()
        await wait_until(lambda: has_all_events(reader, 4))


@pytest.mark.usefixtures("small_buffers")
async def test_remote_events_beyond_one_page_need_no_second_notification() -> None:
    event_log = MemoryEventLog()
    hub = EventHub(event_log)
    async with open_subscribers(hub, 0) as (reader,):
        EventPublisher(event_log, hub).add_events(20, "elsewhere")
        await wait_until(lambda: has_all_events(reader, 20))


async def test_other_subscribers_receive_events_when_reading_subscriber_leaves() -> None:
    event_log = MemoryEventLog()
    hub = EventHub(event_log)
    writer = EventPublisher(event_log, hub)
    async with open_subscribers(hub, 0, 0) as (first, second):
        event_log.can_answer.clear()
        writer.add_events(1, "elsewhere")
        await wait_until(lambda: event_log.read_count == 1)
        await first.unsubscribe()
        event_log.can_answer.set()
        await wait_until(lambda: has_all_events(second, 1))


async def test_poll_forever_recovers_lost_notification(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(module, "POLL_SECONDS", 0.01)
    event_log = MemoryEventLog()
    hub = EventHub(event_log)
    polling = asyncio.create_task(hub.poll_forever())
    async with open_subscribers(hub, 0) as (reader,):
        EventPublisher(event_log, hub).add_events(3, "in silence")
        await wait_until(lambda: has_all_events(reader, 3))
    polling.cancel()
    await asyncio.gather(polling, return_exceptions=True)


@pytest.mark.usefixtures("small_buffers")
async def test_slow_subscriber_keeps_buffer_bounded() -> None:
    event_log = MemoryEventLog()
    hub = EventHub(event_log)
    writer = EventPublisher(event_log, hub)
    writer.add_events(1, "in silence")
    async with aclosing(hub.subscribe(RUN, 0)) as slow:
        got = [frame_seq(frame) for frame in await anext(slow)]
        for _ in range(50):
            writer.add_events(2, "here")
        assert len(hub._streams[RUN]._frames) == 5
        writer.add_events(1, "here", END)
        async for frames in slow:
            assert len(frames) <= 5
            got += [frame_seq(frame) for frame in frames]
    assert got == list(range(1, 103))


async def test_poll_sends_heartbeat_to_idle_subscriber() -> None:
    hub = EventHub(MemoryEventLog())
    async with aclosing(hub.subscribe(RUN, 0)) as stream:
        waiting = asyncio.ensure_future(anext(stream))
        await asyncio.sleep(0.01)
        assert not waiting.done()
        await hub.poll()
        assert await waiting is HEARTBEAT


async def test_poll_sends_heartbeat_while_database_is_unavailable() -> None:
    event_log = MemoryEventLog()
    hub = EventHub(event_log)
    async with aclosing(hub.subscribe(RUN, 0)) as stream:
        waiting = asyncio.ensure_future(anext(stream))
        await asyncio.sleep(0.01)
        event_log.is_unavailable = True
        await hub.poll()
        assert await waiting is HEARTBEAT


@pytest.mark.parametrize("start", [0, 3, 9])
async def test_subscription_to_finished_run_ends(start: int) -> None:
    event_log = MemoryEventLog()
    hub = EventHub(event_log)
    EventPublisher(event_log, hub).add_events(9, "in silence")
    EventPublisher(event_log, hub).add_events(1, "in silence", END)
    async with open_subscribers(hub, start) as (reader,), asyncio.timeout(60):
        await reader.task
        assert has_all_events(reader, 10)


@pytest.mark.usefixtures("small_buffers")
async def test_subscription_to_deleted_run_ends() -> None:
    event_log = MemoryEventLog()
    hub = EventHub(event_log)
    writer = EventPublisher(event_log, hub)
    async with open_subscribers(hub, 0) as (ahead,), asyncio.timeout(60):
        writer.add_events(20, "here")
        await wait_until(lambda: has_all_events(ahead, 20))
        event_log.bodies.clear()
        behind = RecordingSubscriber(hub, 3)
        await behind.task
        assert behind.received_seqs == []


@pytest.mark.usefixtures("small_buffers")
@pytest.mark.parametrize("start", [0, 5, 7])
async def test_subscription_to_retried_run_continues_past_earlier_end(start: int) -> None:
    event_log = MemoryEventLog()
    hub = EventHub(event_log)
    writer = EventPublisher(event_log, hub)
    writer.add_events(6, "in silence")
    writer.add_events(1, "in silence", END)
    writer.add_events(2, "in silence")
    async with (
        open_subscribers(hub, start, progress=RunProgress(live=True, last_seq=9)) as (reader,),
        asyncio.timeout(60),
    ):
        await wait_until(lambda: has_all_events(reader, 9))
        assert not reader.task.done()
        writer.add_events(1, "here", END)
        await reader.task
        assert has_all_events(reader, 10)


async def test_new_subscriber_of_retried_run_waits_for_more_after_others_saw_the_end() -> None:
    event_log = MemoryEventLog()
    hub = EventHub(event_log)
    writer = EventPublisher(event_log, hub)
    async with open_subscribers(hub, 0) as (slow,), asyncio.timeout(60):
        writer.add_events(1, "here", END)
        again = RecordingSubscriber(hub, 1, RunProgress(live=True, last_seq=1))
        await wait_until(lambda: hub._streams[RUN].readers >= 1)
        writer.add_events(1, "here")
        writer.add_events(1, "here", END)
        await again.task
        assert again.received_seqs == [2, 3]
        await slow.task


async def test_text_that_resembles_run_ended_does_not_end_subscription() -> None:
    event_log = MemoryEventLog()
    hub = EventHub(event_log)
    writer = EventPublisher(event_log, hub)
    async with open_subscribers(hub, 0) as (reader,):
        writer.add_events(1, "here", '{"type":"text_delta","text":"{\\"type\\":\\"run_ended\\"","n":%d}')
        writer.add_events(1, "here")
        await wait_until(lambda: has_all_events(reader, 2))
        assert not reader.task.done()


async def test_streams_of_runs_are_separate_and_removed_with_last_subscriber() -> None:
    before = telemetry.EVENT_READERS._value.get()
    hub = EventHub(MemoryEventLog())
    one, other = hub.subscribe("run_a", 0), hub.subscribe("run_b", 0)
    waiting = [asyncio.ensure_future(anext(stream)) for stream in (one, other)]
    await asyncio.sleep(0.01)
    assert telemetry.EVENT_READERS._value.get() == before + 2
    hub.publish("run_a", 1, [DELTA % 1])
    assert [frame_seq(frame) for frame in await waiting[0]] == [1]
    assert not waiting[1].done()
    waiting[1].cancel()
    await asyncio.gather(waiting[1], return_exceptions=True)
    for stream in (one, other):
        await stream.aclose()
    assert hub._streams == {}
    assert telemetry.EVENT_READERS._value.get() == before
    hub.publish("run_a", 2, [DELTA % 2])
    assert hub._streams == {}


async def test_event_frame_is_encoded_once_for_all_subscribers() -> None:
    hub = EventHub(MemoryEventLog())
    streams = [hub.subscribe(RUN, 0) for _ in range(2)]
    waiting = [asyncio.ensure_future(anext(stream)) for stream in streams]
    await asyncio.sleep(0.01)
    hub.publish(RUN, 1, [DELTA % 1])
    one, other = [frame for frames in await asyncio.gather(*waiting) for frame in frames]
    assert one is other
    assert one == b'id: 1\ndata: {"type":"text_delta","n":1}\n\n'
    for stream in streams:
        await stream.aclose()


@ON_BOTH_DATABASES
async def test_concurrent_subscribers_receive_complete_log_from_database(database: Database) -> None:
    claim, log = await prepare_leased_run(database), EventLog(database)
    hub = EventHub(log)
    at = 0

    async def write(count: int, body: str = DELTA) -> None:
        nonlocal at
        bodies = [body % number for number in range(at + 1, at + count + 1)]
        await log.write_entries([_log_entry(claim, at + 1, bodies)])
        at += count
        if at % 2:
            hub.publish(claim.run, at - count + 1, bodies)
        else:
            hub.on_notify(f"them,{claim.run}:{at}")

    got: dict[int, list[int]] = {}

    async def read(start: int) -> None:
        got[start] = []
        async with aclosing(hub.subscribe(claim.run, start)) as stream:
            async for frames in stream:
                got[start] += [frame_seq(frame) for frame in frames]

    async with asyncio.timeout(60), asyncio.TaskGroup() as group:
        for turn in range(12):
            await write(1 + 7 * turn)
            group.create_task(read(at - 3 * turn))
        await write(1, END)
    for start, numbers in got.items():
        assert numbers == list(range(start + 1, at + 1))


def _log_entry(lease: RunLease, first: int, bodies: list[str]) -> EventLogEntry:
    return EventLogEntry(lease, first, bodies)


@pytest.mark.usefixtures("small_buffers")
@pytest.mark.parametrize("start", [0, 3, 6, 7])
async def test_earlier_end_is_ignored_when_subscribing_before_retry_continues(start: int) -> None:
    event_log = MemoryEventLog()
    hub = EventHub(event_log)
    writer = EventPublisher(event_log, hub)
    writer.add_events(6, "in silence")
    writer.add_events(1, "in silence", END)
    tried_again = RunProgress(live=True, last_seq=7)
    async with open_subscribers(hub, start, start, progress=tried_again) as readers, asyncio.timeout(60):
        await wait_until(lambda: all(has_all_events(reader, 7) for reader in readers))
        assert not any(reader.task.done() for reader in readers)
        writer.add_events(1, "here")
        writer.add_events(1, "here", END)
        await asyncio.gather(*(reader.task for reader in readers))
        assert all(has_all_events(reader, 9) for reader in readers)

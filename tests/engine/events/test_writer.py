import asyncio
import sqlite3
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, closing
from pathlib import Path
from typing import NamedTuple

import asyncpg
import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from moot.engine.events import writer as module
from moot.engine.events.hub import EventHub
from moot.engine.events.writer import EventWriter, RunEventBuffer
from moot.store import database as stored
from moot.store.database import Database
from moot.store.discussions.discussions import Discussions
from moot.store.runs.event_log import EventLog, EventLogEntry, WriteResult
from moot.store.runs.runs import Runs
from moot.types.chunks import Usage
from moot.types.errors import DatabaseUnavailable
from moot.types.events import (
    Answer,
    Event,
    Notice,
    RunEnded,
    StageStarted,
    TextDelta,
    TextRetracted,
    ThoughtDelta,
    TurnEnded,
    TurnStarted,
)
from moot.types.streams import BatchStream
from tests.support.accounts import ANNA, create_discussion
from tests.support.databases import ON_BOTH_DATABASES, open_migrated_database
from tests.support.runs import OTHER_WORKER, create_leased_run, lease_run, make_answer, prepare_leased_run
from tests.support.waiting import wait_until

decode_event = msgspec.json.Decoder(Event).decode


class UnreliableEventLog(EventLog):
    """An event log whose database can be unavailable, or can commit and then lose the reply."""

    def __init__(self, database: Database) -> None:
        super().__init__(database)
        self.is_available = asyncio.Event()
        self.is_available.set()
        self.lost_replies = 0
        self.batches: list[list[EventLogEntry]] = []

    async def write_entries(self, entries: Sequence[EventLogEntry]) -> WriteResult:
        await self.is_available.wait()
        self.batches.append(list(entries))
        written = await super().write_entries(entries)
        if self.lost_replies:
            self.lost_replies -= 1
            raise DatabaseUnavailable("The connection broke after the commit.")
        return written


class WriterHarness(NamedTuple):
    """A running event writer with its database and event log."""

    database: Database
    events: UnreliableEventLog
    event_writer: EventWriter
    fenced_runs: list[frozenset[str]]

    async def open_run(self) -> RunEventBuffer:
        return self.event_writer.open_run(
            await create_leased_run(self.database, await create_discussion(self.database))
        )

    async def read_events(self, run: str) -> list[Event]:
        read: list[Event] = []
        while page := await self.events.read_events(run, len(read)):
            read += [decode_event(body) for _, body in page]
        return read


@asynccontextmanager
async def running_writer(database: Database) -> AsyncIterator[WriterHarness]:
    await prepare_leased_run(database)
    fenced: list[frozenset[str]] = []
    events = UnreliableEventLog(database)
    event_writer = EventWriter(events, EventHub(events), fenced.append)
    writing = asyncio.create_task(event_writer.write_forever())
    try:
        yield WriterHarness(database, events, event_writer, fenced)
    finally:
        writing.cancel()
        await asyncio.gather(writing, return_exceptions=True)


@pytest.fixture
async def writer_harness(database: Database) -> AsyncIterator[WriterHarness]:
    async with running_writer(database) as harness:
        yield harness


@pytest.fixture
def fast_retries(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make waits and retries short."""
    monkeypatch.setattr(stored, "BUSY_SECONDS", 0.05)
    monkeypatch.setattr(stored, "FIRST_RETRY_SECONDS", 0.01)
    monkeypatch.setattr(stored, "MAX_RETRY_SECONDS", 0.02)


@pytest.fixture
def urgent_writes_only(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make the gap between batches ten minutes, so that only urgent events are written."""
    monkeypatch.setattr(module, "GAP_SECONDS", 600.0)
    monkeypatch.setattr(module, "MAX_GAP_SECONDS", 600.0)


def text_delta(text: str, participant: str = "alpha", round: int = 0) -> TextDelta:
    return TextDelta(participant=participant, stage="answer", round=round, text=text)


def thought_delta(text: str, participant: str = "alpha", round: int = 0) -> ThoughtDelta:
    return ThoughtDelta(participant=participant, stage="answer", round=round, text=text)


def turn_started(participant: str = "alpha", round: int = 0) -> TurnStarted:
    return TurnStarted(participant=participant, stage="answer", round=round, attempt=1, model="scripted/echo")


def text_retracted(participant: str = "alpha", round: int = 0) -> TextRetracted:
    return TextRetracted(participant=participant, stage="answer", round=round)


def turn_ended(text: str = "", participant: str = "alpha", round: int = 0) -> TurnEnded:
    return TurnEnded(
        participant=participant,
        stage="answer",
        round=round,
        status="completed",
        message=Answer(text),
        model="scripted/echo",
        usage=Usage(),
        cost_usd=None,
    )


def strip_numbering(event: Event) -> Event:
    """Return the event without its run, number and time."""
    return replace(event, run="", seq=0, at=0.0)


def is_delta(event: Event) -> bool:
    return isinstance(event, (TextDelta, ThoughtDelta))


def participant_events(events: Sequence[Event], participant: str) -> list[Event]:
    """Return the events of a participant in order, with consecutive deltas merged."""
    merged: list[Event] = []
    for event in map(strip_numbering, events):
        if getattr(event, "participant", None) != participant:
            continue
        last = merged[-1] if merged else None
        if (
            isinstance(event, (TextDelta, ThoughtDelta))
            and isinstance(last, (TextDelta, ThoughtDelta))
            and strip_numbering(replace(last, text="")) == strip_numbering(replace(event, text=""))
        ):
            merged[-1] = replace(last, text=last.text + event.text)
        else:
            merged.append(event)
    return merged


ParticipantIds = st.sampled_from(["alpha", "beta", "gamma"])
RoundNumbers = st.integers(0, 1)
AnyEvent = st.one_of(
    st.builds(text_delta, st.text(max_size=3), ParticipantIds, RoundNumbers),
    st.builds(text_delta, st.text(max_size=3), ParticipantIds),
    st.builds(thought_delta, st.text(max_size=3), ParticipantIds, RoundNumbers),
    st.builds(turn_started, ParticipantIds, RoundNumbers),
    st.builds(text_retracted, ParticipantIds, RoundNumbers),
    st.builds(lambda who: Notice(kind="retry", message="Again.", participant=who), ParticipantIds),
    st.just(Notice(kind="resumed", message="Here again.")),
    st.builds(lambda n: StageStarted(stage="round", round=n), RoundNumbers),
)
EventBatches = st.lists(st.lists(AnyEvent, min_size=1, max_size=5), min_size=1, max_size=25)


@ON_BOTH_DATABASES
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(appends=EventBatches, rests=st.lists(st.sampled_from(["no", "a moment", "until written"])))
async def test_append_events_loses_and_reorders_nothing(
    writer_harness: WriterHarness, appends: list[list[Event]], rests: list[str]
) -> None:
    run = await writer_harness.open_run()
    for place, events in enumerate(appends):
        await run.append_events(list(events))
        match rests[place] if place < len(rests) else "no":
            case "a moment":
                await asyncio.sleep(0.001)
            case "until written":
                await writer_harness.event_writer.flush_events()
    await writer_harness.event_writer.flush_events()
    appended = [event for events in appends for event in events]
    stored_events = await writer_harness.read_events(run.lease.run)
    assert [event.seq for event in stored_events] == list(range(1, len(stored_events) + 1))
    assert {event.run for event in stored_events} == {run.lease.run}
    for who in ("alpha", "beta", "gamma"):
        assert participant_events(stored_events, who) == participant_events(appended, who)
    assert [strip_numbering(e) for e in stored_events if not is_delta(e)] == [e for e in appended if not is_delta(e)]


@ON_BOTH_DATABASES
async def test_append_events_coalesces_pending_deltas_per_turn_and_kind(
    writer_harness: WriterHarness,
) -> None:
    run = await writer_harness.open_run()
    await run.append_events(
        [text_delta("a"), text_delta("b"), text_delta("x", "beta"), text_delta("c"), thought_delta("hm")]
    )
    await run.append_events([text_delta("y", "beta"), thought_delta("m"), text_delta("d"), text_delta("e", round=1)])
    await writer_harness.event_writer.flush_events()
    stored_events = [strip_numbering(event) for event in await writer_harness.read_events(run.lease.run)]
    assert stored_events == [
        text_delta("abc"),
        text_delta("xy", "beta"),
        thought_delta("hmm"),
        text_delta("d"),
        text_delta("e", round=1),
    ]


@ON_BOTH_DATABASES
async def test_event_numbers_continue_after_lease_changes_owner(writer_harness: WriterHarness) -> None:
    first = await writer_harness.open_run()
    await first.append_events([turn_started(), text_delta("a")])
    await writer_harness.event_writer.flush_events()
    second = writer_harness.event_writer.open_run(
        await lease_run(writer_harness.database, first.lease.run, OTHER_WORKER)
    )
    await second.append_events([Notice(kind="resumed", message="Here again.")])
    await second.append_events([turn_started()])
    await writer_harness.event_writer.flush_events()
    assert [event.seq for event in await writer_harness.read_events(first.lease.run)] == [1, 2, 3, 4]


@pytest.mark.usefixtures("urgent_writes_only")
async def test_first_delta_of_turn_is_written_at_once_and_later_ones_are_batched(
    database: Database,
) -> None:
    async with running_writer(database) as harness:
        run = await harness.open_run()
        await run.append_events([text_delta("first")])
        await wait_until(lambda: len(harness.events.batches) == 1)
        for word in ("second", "third"):
            await run.append_events([text_delta(word)])
            await asyncio.sleep(0.01)
        assert len(harness.events.batches) == 1
        await run.append_events([thought_delta("of another", "beta")])
        await wait_until(lambda: len(harness.events.batches) == 2)
        await run.append_events([turn_started(), text_delta("again the first")])
        await harness.event_writer.flush_events()
        stored_events = [strip_numbering(event) for event in await harness.read_events(run.lease.run)]
    assert stored_events == [
        text_delta("first"),
        text_delta("secondthird"),
        thought_delta("of another", "beta"),
        turn_started(),
        text_delta("again the first"),
    ]


async def test_write_gap_stays_bounded_after_long_pause(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    clock = iter(range(0, 10**9, 3600))
    monkeypatch.setattr("moot.engine.events.writer.time.perf_counter", lambda: next(clock))
    async with running_writer(database) as harness:
        run = await harness.open_run()
        await run.append_events([text_delta("first")])
        await wait_until(lambda: len(harness.events.batches) == 1)
        await run.append_events([text_delta("second")])
        await wait_until(lambda: len(harness.events.batches) == 2)


@ON_BOTH_DATABASES
async def test_commit_stores_turn_with_its_number_and_event(writer_harness: WriterHarness) -> None:
    run = await writer_harness.open_run()
    turns = [make_answer(run.lease, "Round.", participant=who) for who in ("alpha", "beta", "gamma")]
    for turn in turns:
        await run.append_events([text_delta("Round.", turn.participant or "")])
    numbers = await asyncio.gather(*(run.commit(turn_ended("Round.", turn.participant or ""), turn) for turn in turns))
    messages = await Discussions(writer_harness.database).list_messages(run.lease.discussion)
    assert messages == tuple(replace(turn, seq=n) for turn, n in zip(turns, numbers, strict=True))
    assert numbers == sorted(numbers)
    stored_events = [strip_numbering(event) for event in await writer_harness.read_events(run.lease.run)]
    assert stored_events[3:] == [turn_ended("Round.", who) for who in ("alpha", "beta", "gamma")]
    written_records = [entry.records for batch in writer_harness.events.batches for entry in batch if entry.records]
    assert [len(one.messages) for one in written_records] == [3]


@ON_BOTH_DATABASES
async def test_cancelled_commit_does_not_disturb_others(writer_harness: WriterHarness) -> None:
    run = await writer_harness.open_run()
    writer_harness.events.is_available.clear()
    cancelled = asyncio.create_task(run.commit(turn_ended(), make_answer(run.lease)))
    other = asyncio.create_task(run.commit(turn_ended(participant="beta"), make_answer(run.lease, participant="beta")))
    await asyncio.sleep(0.01)
    cancelled.cancel()
    await asyncio.gather(cancelled, return_exceptions=True)
    writer_harness.events.is_available.set()
    assert await other > 0
    assert len(await Discussions(writer_harness.database).list_messages(run.lease.discussion)) == 2


@ON_BOTH_DATABASES
async def test_end_run_writes_pending_events_and_final_status(writer_harness: WriterHarness) -> None:
    run = await writer_harness.open_run()
    await run.append_events([text_delta("Round.")])
    await run.end_run(RunEnded(status="completed"))
    stored_events = await writer_harness.read_events(run.lease.run)
    assert [type(event) for event in stored_events] == [TextDelta, RunEnded]
    over = await Runs(writer_harness.database).get_run(ANNA, run.lease.run)
    assert over.status == "completed"
    assert over.ended_at is not None
    assert await Runs(writer_harness.database).acquire_lease(run.lease.run, OTHER_WORKER) is None


@ON_BOTH_DATABASES
async def test_fenced_writer_writes_nothing_and_is_notified(
    writer_harness: WriterHarness,
) -> None:
    old, other = await writer_harness.open_run(), await writer_harness.open_run()
    await old.append_events([turn_started()])
    await writer_harness.event_writer.flush_events()
    new = await lease_run(writer_harness.database, old.lease.run, OTHER_WORKER)
    await old.append_events([text_delta("stale")])
    committing = asyncio.create_task(old.commit(turn_ended("stale"), make_answer(old.lease, "stale")))
    ending = asyncio.create_task(old.end_run(RunEnded(status="failed")))
    await other.append_events([text_delta("mine")])
    await wait_until(lambda: bool(writer_harness.fenced_runs))
    assert set(writer_harness.fenced_runs) == {frozenset({old.lease.run})}
    assert [strip_numbering(event) for event in await writer_harness.read_events(old.lease.run)] == [turn_started()]
    assert [strip_numbering(event) for event in await writer_harness.read_events(other.lease.run)] == [
        text_delta("mine")
    ]
    assert await Discussions(writer_harness.database).list_messages(old.lease.discussion) == ()
    assert (await Runs(writer_harness.database).get_run(ANNA, old.lease.run)).status == "running"
    assert new.epoch == old.lease.epoch + 1
    assert not committing.done()  # its caller must not continue, because nothing was stored
    assert not ending.done()
    for waiting in (committing, ending):
        waiting.cancel()
    await asyncio.gather(committing, ending, return_exceptions=True)


@pytest.mark.usefixtures("fast_retries")
async def test_write_is_not_duplicated_when_connection_breaks_after_commit(database: Database) -> None:
    async with running_writer(database) as harness:
        run = await harness.open_run()
        harness.events.lost_replies = 3
        await run.append_events([turn_started(), text_delta("Round.")])
        number = await run.commit(turn_ended("Round."), make_answer(run.lease))
        await run.end_run(RunEnded(status="completed"))
        stored_events = await harness.read_events(run.lease.run)
        messages = await Discussions(harness.database).list_messages(run.lease.discussion)
    assert [event.seq for event in stored_events] == [1, 2, 3, 4]
    assert [message.seq for message in messages] == [number]
    assert harness.fenced_runs == []


async def write_turn(event_buffer: RunEventBuffer, word_count: int) -> str:
    """Write a turn with many deltas and return its text."""
    await event_buffer.append_events([turn_started()])
    for word in range(word_count):
        await event_buffer.append_events([text_delta(f"{word} ")])
        await asyncio.sleep(0.002)
    full_text = "".join(f"{word} " for word in range(word_count))
    await event_buffer.commit(turn_ended(full_text), make_answer(event_buffer.lease, full_text))
    await event_buffer.end_run(RunEnded(status="completed"))
    return full_text


async def assert_stored(writer_harness: WriterHarness, event_buffer: RunEventBuffer, full_text: str) -> None:
    stored_events = await writer_harness.read_events(event_buffer.lease.run)
    assert [event.seq for event in stored_events] == list(range(1, len(stored_events) + 1))
    assert participant_events(stored_events, "alpha") == [turn_started(), text_delta(full_text), turn_ended(full_text)]
    assert isinstance(stored_events[-1], RunEnded)
    (message,) = await Discussions(writer_harness.database).list_messages(event_buffer.lease.discussion)
    assert message.content == full_text


@pytest.mark.usefixtures("fast_retries")
async def test_events_wait_and_are_not_lost_while_sqlite_file_is_locked(tmp_path: Path) -> None:
    async with open_migrated_database("sqlite", tmp_path) as database, running_writer(database) as harness:
        runs = [await harness.open_run() for _ in range(3)]
        writing = asyncio.gather(*(write_turn(run, 60) for run in runs))
        with closing(sqlite3.connect(database.path, isolation_level=None, check_same_thread=False)) as other:
            for _ in range(3):
                await asyncio.to_thread(other.execute, "BEGIN IMMEDIATE")
                await asyncio.sleep(0.1)
                await asyncio.to_thread(other.execute, "ROLLBACK")
                await asyncio.sleep(0.02)
        for run, full_text in zip(runs, await writing, strict=True):
            await assert_stored(harness, run, full_text)


@pytest.mark.usefixtures("fast_retries")
async def test_events_are_neither_lost_nor_duplicated_when_postgres_drops_connections(
    tmp_path: Path,
) -> None:
    async with open_migrated_database("postgres", tmp_path) as database, running_writer(database) as harness:
        runs = [await harness.open_run() for _ in range(3)]
        writing = asyncio.gather(*(write_turn(run, 60) for run in runs))
        other = await asyncpg.connect(database.url)
        for _ in range(8):
            await asyncio.sleep(0.02)
            await other.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
                " WHERE datname = current_database() AND pid <> pg_backend_pid()"
            )
        await other.close()
        for run, full_text in zip(runs, await writing, strict=True):
            await assert_stored(harness, run, full_text)
        assert harness.fenced_runs == []


@ON_BOTH_DATABASES
async def test_append_events_blocks_when_too_many_events_are_pending(
    writer_harness: WriterHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    most, speakers, each = 10, 4, 50
    monkeypatch.setattr(module, "MAX_PENDING_EVENTS", most)
    writer_harness.events.is_available.clear()
    runs = [await writer_harness.open_run() for _ in range(speakers)]
    taken = 0

    async def speak(run: RunEventBuffer) -> None:
        nonlocal taken
        for n in range(each):
            await run.append_events([StageStarted(stage="round", round=n)])
            taken += 1
            await asyncio.sleep(0)

    writing = asyncio.gather(*(speak(run) for run in runs))
    await asyncio.sleep(0.2)
    assert taken <= 2 * (most + speakers)  # pending events, and the batch being written
    assert writer_harness.event_writer.pending_events <= most + speakers
    writer_harness.events.is_available.set()
    await writing
    await writer_harness.event_writer.flush_events()
    for run in runs:
        rounds = [
            event.round for event in await writer_harness.read_events(run.lease.run) if isinstance(event, StageStarted)
        ]
        assert rounds == list(range(each))


@ON_BOTH_DATABASES
async def test_subscribers_receive_event_only_after_it_is_written(writer_harness: WriterHarness) -> None:
    run = await writer_harness.open_run()
    stream = writer_harness.event_writer._event_hub.subscribe(run.lease.run, 0)
    assert await asyncio.wait_for(_received_seqs(stream, writer_harness, run), 60) == [1, 2, 3]
    await stream.aclose()


async def _received_seqs(
    subscription: BatchStream[bytes], writer_harness: WriterHarness, event_buffer: RunEventBuffer
) -> list[int]:
    writer_harness.events.is_available.clear()
    await event_buffer.append_events([turn_started(), text_delta("Round.")])
    await asyncio.sleep(0.01)
    assert await writer_harness.events.read_events(event_buffer.lease.run, 0) == []
    writer_harness.events.is_available.set()
    await event_buffer.commit(turn_ended("Round."), make_answer(event_buffer.lease))
    numbers: list[int] = []
    while len(numbers) < 3:
        numbers += [int(frame.split(b"\n")[0][4:]) for frame in await anext(subscription)]
    return numbers


@pytest.mark.usefixtures("urgent_writes_only")
@pytest.mark.parametrize("steps", range(6))
async def test_write_forever_stops_when_cancelled_at_any_step(database: Database, steps: int) -> None:
    async with running_writer(database) as harness:
        run = await harness.open_run()
        await run.append_events([text_delta("first")])
        await harness.event_writer.flush_events()
        await run.append_events([text_delta("second")])
        await asyncio.sleep(0.01)
        await run.append_events([turn_started()])
        for _ in range(steps):
            await asyncio.sleep(0)

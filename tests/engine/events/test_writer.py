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

from moot.engine import waits
from moot.engine.events import writer as module
from moot.engine.events.hub import EventHub
from moot.engine.events.writer import EventWriter, RunEventBuffer
from moot.store import database as stored
from moot.store.database import Database
from moot.store.discussions.discussions import Discussions
from moot.store.runs.event_insert import EventLogEntry
from moot.store.runs.event_log import EventLog, WriteResult
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
from tests.databases import ON_BOTH_DATABASES, migrated
from tests.store.hearing import eventually
from tests.store.people import ANNA, discuss
from tests.store.running import OTHER, answer, claim, claimed, first_run

DECODE = msgspec.json.Decoder(Event).decode


class Tricky(EventLog):
    """A log whose database can be away, and can take something in without saying so."""

    def __init__(self, database: Database) -> None:
        super().__init__(database)
        self.is_there = asyncio.Event()
        self.is_there.set()
        self.lost_replies = 0
        self.batches: list[list[EventLogEntry]] = []

    async def write_entries(self, entries: Sequence[EventLogEntry]) -> WriteResult:
        await self.is_there.wait()
        self.batches.append(list(entries))
        written = await super().write_entries(entries)
        if self.lost_replies:
            self.lost_replies -= 1
            raise DatabaseUnavailable("The connection broke after the commit.")
        return written


class Desk(NamedTuple):
    """A journal at work, and what it rests on."""

    database: Database
    events: Tricky
    journal: EventWriter
    fenced: list[frozenset[str]]

    async def run(self) -> RunEventBuffer:
        return self.journal.open_run(await claimed(self.database, await discuss(self.database)))

    async def read(self, run: str) -> list[Event]:
        read: list[Event] = []
        while page := await self.events.read_events(run, len(read)):
            read += [DECODE(body) for _, body in page]
        return read


@asynccontextmanager
async def at_work(database: Database) -> AsyncIterator[Desk]:
    await first_run(database)
    fenced: list[frozenset[str]] = []
    events = Tricky(database)
    journal = EventWriter(events, EventHub(events), fenced.append)
    writing = asyncio.create_task(journal.write_forever())
    try:
        yield Desk(database, events, journal, fenced)
    finally:
        writing.cancel()
        await asyncio.gather(writing, return_exceptions=True)


@pytest.fixture
async def desk(database: Database) -> AsyncIterator[Desk]:
    async with at_work(database) as desk:
        yield desk


@pytest.fixture
def hasty(monkeypatch: pytest.MonkeyPatch) -> None:
    """Do not be patient for long, so that a test need not be."""
    monkeypatch.setattr(stored, "BUSY_SECONDS", 0.05)
    monkeypatch.setattr(waits, "FIRST_RETRY_SECONDS", 0.01)
    monkeypatch.setattr(waits, "MAX_RETRY_SECONDS", 0.02)


@pytest.fixture
def unhurried(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let nothing be written for minutes but what is urgent."""
    monkeypatch.setattr(module, "GAP_SECONDS", 600.0)
    monkeypatch.setattr(module, "MAX_GAP_SECONDS", 600.0)


def text(words: str, who: str = "alpha", round: int = 0) -> TextDelta:
    return TextDelta(participant=who, stage="answer", round=round, text=words)


def thought(words: str, who: str = "alpha", round: int = 0) -> ThoughtDelta:
    return ThoughtDelta(participant=who, stage="answer", round=round, text=words)


def started(who: str = "alpha", round: int = 0) -> TurnStarted:
    return TurnStarted(participant=who, stage="answer", round=round, attempt=1, model="scripted/echo")


def retracted(who: str = "alpha", round: int = 0) -> TextRetracted:
    return TextRetracted(participant=who, stage="answer", round=round)


def ended(words: str = "", who: str = "alpha", round: int = 0) -> TurnEnded:
    return TurnEnded(
        participant=who,
        stage="answer",
        round=round,
        status="completed",
        message=Answer(words),
        model="scripted/echo",
        usage=Usage(),
        cost=None,
    )


def bare(event: Event) -> Event:
    """The event as it was before it had a number."""
    return replace(event, run="", seq=0, at=0.0)


def is_delta(event: Event) -> bool:
    return isinstance(event, (TextDelta, ThoughtDelta))


def told_by(events: Sequence[Event], who: str) -> list[Event]:
    """All that concerns a participant, in order, with deltas that follow each other as one."""
    told: list[Event] = []
    for event in map(bare, events):
        if getattr(event, "participant", None) != who:
            continue
        last = told[-1] if told else None
        if (
            isinstance(event, (TextDelta, ThoughtDelta))
            and isinstance(last, (TextDelta, ThoughtDelta))
            and bare(replace(last, text="")) == bare(replace(event, text=""))
        ):
            told[-1] = replace(last, text=last.text + event.text)
        else:
            told.append(event)
    return told


Who = st.sampled_from(["alpha", "beta", "gamma"])
Round = st.integers(0, 1)
Something = st.one_of(
    st.builds(text, st.text(max_size=3), Who, Round),
    st.builds(text, st.text(max_size=3), Who),
    st.builds(thought, st.text(max_size=3), Who, Round),
    st.builds(started, Who, Round),
    st.builds(retracted, Who, Round),
    st.builds(lambda who: Notice(kind="retry", message="Again.", participant=who), Who),
    st.just(Notice(kind="resumed", message="Here again.")),
    st.builds(lambda n: StageStarted(stage="round", round=n), Round),
)
Appends = st.lists(st.lists(Something, min_size=1, max_size=5), min_size=1, max_size=25)


@ON_BOTH_DATABASES
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(appends=Appends, rests=st.lists(st.sampled_from(["no", "a moment", "until written"])))
async def test_nothing_is_lost_or_moved_whatever_is_said_in_whatever_order(
    desk: Desk, appends: list[list[Event]], rests: list[str]
) -> None:
    run = await desk.run()
    for place, events in enumerate(appends):
        await run.append_events(list(events))
        match rests[place] if place < len(rests) else "no":
            case "a moment":
                await asyncio.sleep(0.001)
            case "until written":
                await desk.journal.flush_events()
    await desk.journal.flush_events()
    said = [event for events in appends for event in events]
    kept = await desk.read(run.lease.run)
    assert [event.seq for event in kept] == list(range(1, len(kept) + 1))
    assert {event.run for event in kept} == {run.lease.run}
    for who in ("alpha", "beta", "gamma"):
        assert told_by(kept, who) == told_by(said, who)
    assert [bare(e) for e in kept if not is_delta(e)] == [e for e in said if not is_delta(e)]


@ON_BOTH_DATABASES
async def test_deltas_that_wait_together_leave_as_one_for_each_turn_and_kind(desk: Desk) -> None:
    run = await desk.run()
    await run.append_events([text("a"), text("b"), text("x", "beta"), text("c"), thought("hm")])
    await run.append_events([text("y", "beta"), thought("m"), text("d"), text("e", round=1)])
    await desk.journal.flush_events()
    kept = [bare(event) for event in await desk.read(run.lease.run)]
    assert kept == [text("abc"), text("xy", "beta"), thought("hmm"), text("d"), text("e", round=1)]


@ON_BOTH_DATABASES
async def test_numbers_go_on_where_a_former_owner_stopped(desk: Desk) -> None:
    first = await desk.run()
    await first.append_events([started(), text("a")])
    await desk.journal.flush_events()
    second = desk.journal.open_run(await claim(desk.database, first.lease.run, OTHER))
    await second.append_events([Notice(kind="resumed", message="Here again.")])
    await second.append_events([started()])
    await desk.journal.flush_events()
    assert [event.seq for event in await desk.read(first.lease.run)] == [1, 2, 3, 4]


@pytest.mark.usefixtures("unhurried")
async def test_the_first_words_of_a_turn_do_not_wait_and_the_others_wait_for_each_other(
    database: Database,
) -> None:
    async with at_work(database) as desk:
        run = await desk.run()
        await run.append_events([text("first")])
        await eventually(lambda: len(desk.events.batches) == 1)
        for word in ("second", "third"):
            await run.append_events([text(word)])
            await asyncio.sleep(0.01)
        assert len(desk.events.batches) == 1
        await run.append_events([thought("of another", "beta")])
        await eventually(lambda: len(desk.events.batches) == 2)
        await run.append_events([started(), text("again the first")])
        await desk.journal.flush_events()
        kept = [bare(event) for event in await desk.read(run.lease.run)]
    assert kept == [
        text("first"),
        text("secondthird"),
        thought("of another", "beta"),
        started(),
        text("again the first"),
    ]


async def test_after_a_long_time_away_words_do_not_wait_as_long_again(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = iter(range(0, 10**9, 3600))
    monkeypatch.setattr("moot.engine.events.writer.time.perf_counter", lambda: next(clock))
    async with at_work(database) as desk:
        run = await desk.run()
        await run.append_events([text("first")])
        await eventually(lambda: len(desk.events.batches) == 1)
        await run.append_events([text("second")])
        await eventually(lambda: len(desk.events.batches) == 2)


@ON_BOTH_DATABASES
async def test_a_turn_that_is_kept_has_its_number_and_is_in_the_log(desk: Desk) -> None:
    run = await desk.run()
    turns = [answer(run.lease, "Round.", participant=who) for who in ("alpha", "beta", "gamma")]
    for turn in turns:
        await run.append_events([text("Round.", turn.participant or "")])
    numbers = await asyncio.gather(
        *(run.commit(ended("Round.", turn.participant or ""), turn) for turn in turns)
    )
    said = await Discussions(desk.database).list_messages(run.lease.discussion)
    assert said == tuple(replace(turn, number=n) for turn, n in zip(turns, numbers, strict=True))
    assert numbers == sorted(numbers)
    kept = [bare(event) for event in await desk.read(run.lease.run)]
    assert kept[3:] == [ended("Round.", who) for who in ("alpha", "beta", "gamma")]
    turns_kept = [entry.records for batch in desk.events.batches for entry in batch if entry.records]
    assert [len(one.messages) for one in turns_kept] == [3]


@ON_BOTH_DATABASES
async def test_who_stops_waiting_disturbs_nobody(desk: Desk) -> None:
    run = await desk.run()
    desk.events.is_there.clear()
    impatient = asyncio.create_task(run.commit(ended(), answer(run.lease)))
    other = asyncio.create_task(run.commit(ended(who="beta"), answer(run.lease, participant="beta")))
    await asyncio.sleep(0.01)
    impatient.cancel()
    await asyncio.gather(impatient, return_exceptions=True)
    desk.events.is_there.set()
    assert await other > 0
    assert len(await Discussions(desk.database).list_messages(run.lease.discussion)) == 2


@ON_BOTH_DATABASES
async def test_a_run_ends_once_and_with_all_that_was_said(desk: Desk) -> None:
    run = await desk.run()
    await run.append_events([text("Round.")])
    await run.end_run(RunEnded(status="completed"))
    kept = await desk.read(run.lease.run)
    assert [type(event) for event in kept] == [TextDelta, RunEnded]
    over = await Runs(desk.database).get_run(ANNA, run.lease.run)
    assert over.status == "completed"
    assert over.ended_at is not None
    assert await Runs(desk.database).acquire_lease(run.lease.run, OTHER) is None


@ON_BOTH_DATABASES
async def test_27_whoever_was_taken_over_writes_nothing_and_hears_of_it(desk: Desk) -> None:
    old, other = await desk.run(), await desk.run()
    await old.append_events([started()])
    await desk.journal.flush_events()
    new = await claim(desk.database, old.lease.run, OTHER)
    await old.append_events([text("stale")])
    keeping = asyncio.create_task(old.commit(ended("stale"), answer(old.lease, "stale")))
    ending = asyncio.create_task(old.end_run(RunEnded(status="failed")))
    await other.append_events([text("mine")])
    await eventually(lambda: bool(desk.fenced))
    assert set(desk.fenced) == {frozenset({old.lease.run})}
    assert [bare(event) for event in await desk.read(old.lease.run)] == [started()]
    assert [bare(event) for event in await desk.read(other.lease.run)] == [text("mine")]
    assert await Discussions(desk.database).list_messages(old.lease.discussion) == ()
    assert (await Runs(desk.database).get_run(ANNA, old.lease.run)).status == "running"
    assert new.epoch == old.lease.epoch + 1
    assert not keeping.done()  # nothing may go on as if it were safe
    assert not ending.done()
    for waiting in (keeping, ending):
        waiting.cancel()
    await asyncio.gather(keeping, ending, return_exceptions=True)


@pytest.mark.usefixtures("hasty")
async def test_29_what_was_written_before_the_connection_broke_is_there_once(database: Database) -> None:
    async with at_work(database) as desk:
        run = await desk.run()
        desk.events.lost_replies = 3
        await run.append_events([started(), text("Round.")])
        number = await run.commit(ended("Round."), answer(run.lease))
        await run.end_run(RunEnded(status="completed"))
        kept = await desk.read(run.lease.run)
        said = await Discussions(desk.database).list_messages(run.lease.discussion)
    assert [event.seq for event in kept] == [1, 2, 3, 4]
    assert [message.number for message in said] == [number]
    assert desk.fenced == []


async def speak_on(run: RunEventBuffer, words: int) -> str:
    """Say something for some time, and return all of it."""
    await run.append_events([started()])
    for word in range(words):
        await run.append_events([text(f"{word} ")])
        await asyncio.sleep(0.002)
    said = "".join(f"{word} " for word in range(words))
    await run.commit(ended(said), answer(run.lease, said))
    await run.end_run(RunEnded(status="completed"))
    return said


async def expect(desk: Desk, run: RunEventBuffer, said: str) -> None:
    kept = await desk.read(run.lease.run)
    assert [event.seq for event in kept] == list(range(1, len(kept) + 1))
    assert told_by(kept, "alpha") == [started(), text(said), ended(said)]
    assert isinstance(kept[-1], RunEnded)
    (message,) = await Discussions(desk.database).list_messages(run.lease.discussion)
    assert message.content == said


@pytest.mark.usefixtures("hasty")
async def test_30_while_a_file_is_locked_whoever_speaks_waits_and_loses_nothing(tmp_path: Path) -> None:
    async with migrated("sqlite", tmp_path) as database, at_work(database) as desk:
        runs = [await desk.run() for _ in range(3)]
        speaking = asyncio.gather(*(speak_on(run, 60) for run in runs))
        with closing(sqlite3.connect(database.path, isolation_level=None, check_same_thread=False)) as other:
            for _ in range(3):
                await asyncio.to_thread(other.execute, "BEGIN IMMEDIATE")
                await asyncio.sleep(0.1)
                await asyncio.to_thread(other.execute, "ROLLBACK")
                await asyncio.sleep(0.02)
        for run, said in zip(runs, await speaking, strict=True):
            await expect(desk, run, said)


@pytest.mark.usefixtures("hasty")
async def test_29_when_postgres_breaks_off_all_connections_nothing_is_lost_or_doubled(
    tmp_path: Path,
) -> None:
    async with migrated("postgres", tmp_path) as database, at_work(database) as desk:
        runs = [await desk.run() for _ in range(3)]
        speaking = asyncio.gather(*(speak_on(run, 60) for run in runs))
        other = await asyncpg.connect(database.url)
        for _ in range(8):
            await asyncio.sleep(0.02)
            await other.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
                " WHERE datname = current_database() AND pid <> pg_backend_pid()"
            )
        await other.close()
        for run, said in zip(runs, await speaking, strict=True):
            await expect(desk, run, said)
        assert desk.fenced == []


@ON_BOTH_DATABASES
async def test_whoever_speaks_faster_than_it_can_be_written_waits(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    most, speakers, each = 10, 4, 50
    monkeypatch.setattr(module, "MAX_PENDING_EVENTS", most)
    desk.events.is_there.clear()
    runs = [await desk.run() for _ in range(speakers)]
    taken = 0

    async def speak(run: RunEventBuffer) -> None:
        nonlocal taken
        for n in range(each):
            await run.append_events([StageStarted(stage="round", round=n)])
            taken += 1
            await asyncio.sleep(0)

    speaking = asyncio.gather(*(speak(run) for run in runs))
    await asyncio.sleep(0.2)
    assert taken <= 2 * (most + speakers)  # what waits, and what is on its way
    assert desk.journal.pending_events <= most + speakers
    desk.events.is_there.set()
    await speaking
    await desk.journal.flush_events()
    for run in runs:
        rounds = [event.round for event in await desk.read(run.lease.run) if isinstance(event, StageStarted)]
        assert rounds == list(range(each))


@ON_BOTH_DATABASES
async def test_readers_see_an_event_when_it_is_written_and_not_before(desk: Desk) -> None:
    run = await desk.run()
    feed = desk.journal._event_hub.subscribe(run.lease.run, 0)
    assert await asyncio.wait_for(_frames(feed, desk, run), 60) == [1, 2, 3]
    await feed.aclose()


async def _frames(feed: AsyncIterator[list[bytes]], desk: Desk, run: RunEventBuffer) -> list[int]:
    desk.events.is_there.clear()
    await run.append_events([started(), text("Round.")])
    await asyncio.sleep(0.01)
    assert await desk.events.read_events(run.lease.run, 0) == []
    desk.events.is_there.set()
    await run.commit(ended("Round."), answer(run.lease))
    numbers: list[int] = []
    while len(numbers) < 3:
        numbers += [int(frame.split(b"\n")[0][4:]) for frame in await anext(feed)]
    return numbers


@pytest.mark.usefixtures("unhurried")
@pytest.mark.parametrize("steps", range(6))
async def test_it_ends_when_it_is_told_to_whatever_it_is_about_to_do(database: Database, steps: int) -> None:
    async with at_work(database) as desk:
        run = await desk.run()
        await run.append_events([text("first")])
        await desk.journal.flush_events()
        await run.append_events([text("second")])
        await asyncio.sleep(0.01)
        await run.append_events([started()])
        for _ in range(steps):
            await asyncio.sleep(0)

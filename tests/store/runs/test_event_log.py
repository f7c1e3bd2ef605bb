import asyncio
from collections.abc import Sequence
from pathlib import Path

import asyncpg
import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace
from sqlalchemy import func, select

from moot.store.database import Database
from moot.store.discussions.discussions import Discussions
from moot.store.runs import event_log
from moot.store.runs.event_log import (
    EVENTS_PER_PAGE,
    EventLog,
    EventLogEntry,
    RunEnding,
    RunProgress,
    RunRecords,
    decode_signal,
)
from moot.store.runs.runs import RunLease, Runs
from moot.store.schema.discussions import message
from moot.store.schema.runs import run_event
from moot.types.discussions import Message
from moot.types.errors import NotFound
from tests.support.accounts import ANNA, BERT, create_discussion
from tests.support.databases import open_migrated_database
from tests.support.runs import OTHER_WORKER, create_leased_run, lease_run, make_answer, prepare_leased_run


def make_entry(
    lease: RunLease,
    first_seq: int,
    bodies: Sequence[str],
    messages: Sequence[Message] = (),
    ending: RunEnding | None = None,
) -> EventLogEntry:
    return EventLogEntry(lease, first_seq, list(bodies), RunRecords(list(messages)) if messages else None, ending)


@pytest.fixture
async def first_lease(database: Database) -> RunLease:
    return await prepare_leased_run(database)


async def count_events_and_messages(database: Database) -> tuple[int, int]:
    async with database.read() as connection:
        counts = [await connection.execute(select(func.count()).select_from(t)) for t in (run_event, message)]
        return counts[0].scalar_one(), counts[1].scalar_one()


async def test_read_events_starts_after_any_seq(database: Database) -> None:
    log, run = EventLog(database), await prepare_leased_run(database)
    assert await log.run_progress(ANNA, run.run) == RunProgress(live=True, last_seq=0)
    assert await log.read_events(run.run, 0) == []
    await log.write_entries([make_entry(run, 1, ["a", "b"])])
    await log.write_entries([make_entry(run, 3, ["c"])])
    assert await log.run_progress(ANNA, run.run) == RunProgress(live=True, last_seq=3)
    assert await log.read_events(run.run, 0) == [(1, "a"), (2, "b"), (3, "c")]
    assert await log.read_events(run.run, 2) == [(3, "c")]
    assert await log.read_events(run.run, 3) == await log.read_events("another run", 0) == []


async def test_discussion_progress_equals_progress_of_each_run(database: Database) -> None:
    log, first = EventLog(database), await prepare_leased_run(database)
    discussion, another = await create_discussion(database), await create_discussion(database, BERT)
    runs = [await create_leased_run(database, discussion) for _ in range(2)]
    theirs = await create_leased_run(database, another, owner=BERT)
    await log.write_entries([make_entry(one, 1, ["a", "b"]) for one in (first, runs[0], theirs)])
    await log.write_entries([make_entry(runs[0], 3, ["end"], ending=RunEnding("completed", 1.0))])
    found = await log.discussion_progress(ANNA, discussion.id)
    assert found == {
        runs[0].run: RunProgress(live=False, last_seq=3),
        runs[1].run: RunProgress(live=True, last_seq=0),
    }
    assert found == {one.run: await log.run_progress(ANNA, one.run) for one in runs}
    for tenant, id in ((BERT, discussion.id), (ANNA, another.id), (ANNA, "dis_nothing")):
        assert await log.discussion_progress(tenant, id) == {}


async def test_long_log_is_read_in_pages(database: Database) -> None:
    log, run = EventLog(database), await prepare_leased_run(database)
    total = 2 * EVENTS_PER_PAGE + 7
    await log.write_entries([make_entry(run, 1, [str(n) for n in range(1, total + 1)])])
    read: list[tuple[int, str]] = []
    while page := await log.read_events(run.run, len(read)):
        assert len(page) <= EVENTS_PER_PAGE
        read += page
    assert read == [(n, str(n)) for n in range(1, total + 1)]


async def test_batch_written_twice_is_stored_once(database: Database) -> None:
    log, run = EventLog(database), await prepare_leased_run(database)
    answer = make_answer(run)
    batch = [make_entry(run, 1, ["a", "b"], [answer], RunEnding("completed", 5.0))]
    once, twice = await log.write_entries(batch), await log.write_entries(batch)
    assert once == twice
    assert once.message_numbers.keys() == {answer.id}
    assert await count_events_and_messages(database) == (2, 1)
    ended = await Runs(database).get_run(ANNA, run.run)
    assert (ended.status, ended.ended_at) == ("completed", 5.0)


async def test_finished_turn_is_stored_with_its_events_or_not_at_all(database: Database) -> None:
    log, run = EventLog(database), await prepare_leased_run(database)
    broken = replace(make_answer(run), discussion="none")
    with pytest.raises(Exception, match=r"(?i)foreign key"):
        await log.write_entries([make_entry(run, 1, ["a"], [broken])])
    assert await count_events_and_messages(database) == (0, 0)
    written = await log.write_entries([make_entry(run, 1, ["a"], [answer := make_answer(run)])])
    (stored,) = await Discussions(database).list_messages(run.discussion)
    assert stored == replace(answer, seq=written.message_numbers[answer.id])


async def test_writer_without_lease_writes_nothing(database: Database) -> None:
    log, old = EventLog(database), await prepare_leased_run(database)
    mine = await create_leased_run(database, await create_discussion(database))
    await log.write_entries([make_entry(old, 1, ["a"])])
    new = await lease_run(database, old.run, OTHER_WORKER)
    assert (new.epoch, new.seq) == (old.epoch + 1, 1)
    batch = [
        make_entry(old, 2, ["stale"], [make_answer(old)], RunEnding("failed", 1.0)),
        make_entry(mine, 1, ["mine"]),
    ]
    written = await log.write_entries(batch)
    assert written.stale_runs == {old.run}
    assert written.message_numbers == {}
    assert await log.read_events(old.run, 0) == [(1, "a")]
    assert await log.read_events(mine.run, 0) == [(1, "mine")]
    assert await count_events_and_messages(database) == (2, 0)
    assert (await Runs(database).get_run(ANNA, old.run)).status == "running"
    assert (await log.write_entries([make_entry(new, 2, ["new"])])).stale_runs == frozenset()


async def test_concurrent_writers_of_one_run_do_not_both_write(database: Database) -> None:
    log, old = EventLog(database), await prepare_leased_run(database)
    for turn in range(10):
        new, written = await asyncio.gather(
            lease_run(database, old.run, OTHER_WORKER),
            log.write_entries([make_entry(old, old.seq + 1, [f"{turn}"])]),
        )
        assert new.seq == old.seq + (old.run not in written.stale_runs)
        old = new
    assert [seq for seq, _ in await log.read_events(old.run, 0)] == list(range(1, old.seq + 1))


async def test_stop_request_racing_the_end_leaves_one_final_status(database: Database) -> None:
    log, runs, first = EventLog(database), Runs(database), await prepare_leased_run(database)
    discussion = await Discussions(database).get_discussion(ANNA, first.discussion)
    for _ in range(8):
        run = await create_leased_run(database, discussion)
        stopped, _ = await asyncio.gather(
            runs.request_stop(ANNA, run.run),
            log.write_entries([make_entry(run, 1, ["the end"], [], RunEnding("completed", 5.0))]),
        )
        assert stopped.status in {"running", "completed"}
        assert (await runs.get_run(ANNA, run.run)).status == "completed"
        assert (await runs.request_stop(ANNA, run.run)).status == "completed"
        await log.write_entries([make_entry(run, 1, ["the end"], [], RunEnding("stopped", 6.0))])
        assert (await runs.get_run(ANNA, run.run)).status == "completed"


async def test_concurrent_run_endings_in_same_discussions_do_not_deadlock(
    database: Database,
) -> None:
    log, run = EventLog(database), await prepare_leased_run(database)
    tables = [
        await Discussions(database).get_discussion(ANNA, run.discussion),
        await create_discussion(database),
    ]
    end = RunEnding("completed", 5.0)
    for _ in range(5):
        batches = [[await create_leased_run(database, table) for table in tables] for _ in range(4)]
        written = await asyncio.gather(
            *(
                log.write_entries(
                    [make_entry(one, 1, ["the end"], [make_answer(one)], end) for one in (batch, batch[::-1])[n % 2]]
                )
                for n, batch in enumerate(batches)
            )
        )
        assert all(batch.stale_runs == frozenset() for batch in written)


async def test_run_ending_moves_discussion_to_front(database: Database) -> None:
    run = await prepare_leased_run(database)
    await create_discussion(database, title="Later")
    later = RunEnding("completed", 4_000_000_000.0)
    await EventLog(database).write_entries([make_entry(run, 1, ["the end"], [], later)])
    page = await Discussions(database).list_discussions(ANNA)
    first = page.discussions[0]
    assert (first.id, first.updated_at) == (run.discussion, later.ended_at)


async def test_many_runs_are_written_at_once_with_any_text(database: Database) -> None:
    run = await prepare_leased_run(database)
    discussion = await Discussions(database).get_discussion(ANNA, run.discussion)
    runs = [await create_leased_run(database, discussion) for _ in range(40)]
    words = 'nul \\u0000 quote " percent % colon :x dollar $1 😀 \u2028'
    await asyncio.gather(
        *(
            EventLog(database).write_entries(
                [make_entry(one, 1, [words, one.run], [make_answer(one, words)]) for one in some]
            )
            for some in (runs[:20], runs[20:])
        )
    )
    for one in runs:
        assert await EventLog(database).read_events(one.run, 0) == [(1, words), (2, one.run)]


async def test_notifications_name_every_run_in_short_signals(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(event_log, "RUNS_PER_SIGNAL", 2)
    signals: list[str] = []
    async with open_migrated_database("postgres", tmp_path) as database:
        run = await prepare_leased_run(database)
        discussion = await Discussions(database).get_discussion(ANNA, run.discussion)
        runs = [await create_leased_run(database, discussion) for _ in range(5)]
        listening = await asyncpg.connect(database.url)
        await listening.add_listener("moot_events", lambda *arguments: signals.append(arguments[-1]))
        await EventLog(database).write_entries([make_entry(one, 1, ["a", "b"]) for one in runs])
        while len(signals) < 3:
            await asyncio.sleep(0.01)
        await listening.close()
    assert {signal.split(",")[0] for signal in signals} == {database.instance_id}
    decoded = [news for signal in signals for news in decode_signal("another", signal)]
    assert sorted(decoded) == sorted((one.run, 2) for one in runs)
    assert not any(list(decode_signal(database.instance_id, signal)) for signal in signals)


async def test_newest_seqs_are_read_only_on_postgres(database: Database) -> None:
    log, run = EventLog(database), await prepare_leased_run(database)
    other = await create_leased_run(database, await create_discussion(database))
    await log.write_entries([make_entry(run, 1, ["a", "b"])])
    newest = {run.run: 2, other.run: 0} if database.is_postgres else {}
    assert await log.newest_seqs([run.run, other.run, "none"]) == newest


async def test_run_progress_reflects_the_log(database: Database) -> None:
    log, run = EventLog(database), await prepare_leased_run(database)
    await log.write_entries([make_entry(run, 1, ["a"], [], RunEnding("completed", 5.0))])
    assert await log.run_progress(ANNA, run.run) == RunProgress(live=False, last_seq=1)
    for tenant, id in ((ANNA, "none"), ("somebody else", run.run)):
        with pytest.raises(NotFound):
            await log.run_progress(tenant, id)


BATCHES = st.lists(st.lists(st.text(max_size=5), min_size=1, max_size=4), min_size=1, max_size=8)


@settings(  # one example executes dozens of statements
    max_examples=max(10, settings().max_examples // 10),
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(batches=BATCHES, again=st.sets(st.integers(0, 7)))
async def test_rewritten_batches_do_not_change_the_log(
    database: Database, first_lease: RunLease, batches: list[list[str]], again: set[int]
) -> None:
    log = EventLog(database)
    run, at = await create_leased_run(database, await create_discussion(database)), 1
    for place, bodies in enumerate(batches):
        encoded = [msgspec.json.encode(body).decode() for body in bodies]
        for _ in range(1 + (place in again)):
            await log.write_entries([make_entry(run, at, encoded)])
        at += len(encoded)
    expected = [msgspec.json.encode(body).decode() for bodies in batches for body in bodies]
    assert await log.read_events(run.run, 0) == list(enumerate(expected, 1))
    assert (await log.run_progress(ANNA, run.run)).last_seq == len(expected)
    assert (await lease_run(database, run.run, OTHER_WORKER)).seq == len(expected)

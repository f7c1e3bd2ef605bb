import asyncio
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path

import asyncpg
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from moot.store import database as module
from moot.store.database import Database
from moot.store.runs.event_log import (
    RUNS_PER_SIGNAL,
    EventLog,
    EventLogEntry,
    decode_signal,
    encode_signals,
    insert_events,
    insert_events_in_transaction,
)
from moot.store.runs.runs import RunLease
from moot.types.errors import DatabaseUnavailable
from moot.types.participants import make_participants
from moot.types.run_plan import RunPlan
from tests.store.test_database import lock_sqlite_file
from tests.support.accounts import create_discussion
from tests.support.databases import open_migrated_database
from tests.support.runs import OTHER_WORKER, create_leased_run, lease_run, prepare_leased_run

InsertFunction = Callable[[Database, Sequence[EventLogEntry]], Awaitable[set[str]]]


def make_entry(lease: RunLease, first_seq: int, *bodies: str) -> EventLogEntry:
    return EventLogEntry(lease, first_seq, list(bodies))


async def insert_in_transaction(database: Database, entries: Sequence[EventLogEntry]) -> set[str]:
    async with database.write() as connection:
        return await insert_events_in_transaction(database, connection, entries)


@pytest.mark.parametrize("way", [insert_events, insert_in_transaction])
async def test_insert_events_writes_only_leased_runs_and_only_once(database: Database, way: InsertFunction) -> None:
    lost, mine = (
        await prepare_leased_run(database),
        await create_leased_run(database, await create_discussion(database)),
    )
    await way(database, [make_entry(lost, 1, "a")])
    await lease_run(database, lost.run, OTHER_WORKER)
    words = 'nul \\u0000 quote " dollar $1 question ? 😀 \u2028'
    batch = [make_entry(lost, 2, "stale"), make_entry(mine, 1, words, "b"), make_entry(mine, 3)]
    for _ in range(2):
        assert await way(database, batch) == {mine.run}
    assert await EventLog(database).read_events(lost.run, 0) == [(1, "a")]
    assert await EventLog(database).read_events(mine.run, 0) == [(1, words), (2, "b")]


async def test_concurrent_inserts_are_all_written(database: Database) -> None:
    run = await prepare_leased_run(database)
    batches = [[make_entry(run, n, str(n))] for n in range(1, 21)]
    assert await asyncio.gather(*(insert_events(database, batch) for batch in batches)) == [{run.run}] * 20
    assert await EventLog(database).read_events(run.run, 0) == [(n, str(n)) for n in range(1, 21)]


async def test_log_connection_reconnects_after_it_breaks(tmp_path: Path) -> None:
    async with open_migrated_database("postgres", tmp_path) as database:
        run = await prepare_leased_run(database)
        await insert_events(database, [make_entry(run, 1, "a")])
        async with database.log_connection() as connection:
            pid = connection.get_server_pid()
        other = await asyncpg.connect(database.url)
        await other.execute("SELECT pg_terminate_backend($1, 5000)", pid)
        await other.close()
        for _ in range(2):
            try:
                await insert_events(database, [make_entry(run, 2, "b")])
            except DatabaseUnavailable:
                continue
            break
        assert await EventLog(database).read_events(run.run, 0) == [(1, "a"), (2, "b")]


async def test_insert_events_is_rejected_while_sqlite_file_is_locked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "BUSY_SECONDS", 0.1)
    async with open_migrated_database("sqlite", tmp_path) as database:
        run = await prepare_leased_run(database)
        with lock_sqlite_file(database.path), pytest.raises(DatabaseUnavailable, match="busy"):
            await insert_events(database, [make_entry(run, 1, "a")])
        assert await insert_events(database, [make_entry(run, 1, "a")]) == {run.run}
        assert await EventLog(database).read_events(run.run, 0) == [(1, "a")]


async def test_invalid_statement_is_rolled_back(database: Database) -> None:
    run = await prepare_leased_run(database)
    with pytest.raises(Exception, match=r"(?i)null|str"):
        await insert_events(database, [make_entry(run, 1, "a", None)])  # type: ignore[arg-type]
    assert await insert_events(database, [make_entry(run, 1, "b")]) == {run.run}
    assert await EventLog(database).read_events(run.run, 0) == [(1, "b")]


PLAN = RunPlan(mode="single", participants=make_participants(("scripted/echo",)))
LEASE = RunLease(run="", tenant="t", discussion="d", plan=PLAN, epoch=1, seq=0, position=1)
BATCHES = st.lists(st.tuples(st.integers(0, 10**9), st.integers(1, 4)), max_size=400)


@given(ends=BATCHES)
def test_signals_name_last_seq_of_every_run_and_stay_short(ends: list[tuple[int, int]]) -> None:
    entries = [
        EventLogEntry(replace(LEASE, run=f"run_{n:026}"), first, ["x"] * count) for n, (first, count) in enumerate(ends)
    ]
    signals = list(encode_signals("us", entries))
    assert len(signals) == -(-len(entries) // RUNS_PER_SIGNAL)
    assert all(len(signal.encode()) < 8000 for signal in signals)
    decoded = [news for signal in signals for news in decode_signal("them", signal)]
    assert decoded == [(one.lease.run, one.first_seq + len(one.bodies) - 1) for one in entries]
    assert not any(list(decode_signal("us", signal)) for signal in signals)


async def test_log_connection_is_replaced_after_an_error(tmp_path: Path) -> None:
    async with open_migrated_database("postgres", tmp_path) as database:
        async with database.log_connection() as first:
            pass
        with pytest.raises(ZeroDivisionError):
            async with database.log_connection() as again:
                assert again is first
                raise ZeroDivisionError
        async with database.log_connection() as other:
            assert other is not first

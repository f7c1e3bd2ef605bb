"""Adding to the event log. Every token passes here, so this goes to the drivers themselves.

On Postgres a batch is one statement and one round trip; on SQLite it is one visit to a thread. Both see to it that a
batch is written by whoever owns its runs at that moment, and that what is written twice is there once.
"""

import sqlite3
from collections.abc import Iterator, Sequence
from typing import Any

import msgspec
from msgspec import Struct
from sqlalchemy.ext.asyncio import AsyncConnection

from moot.store.database import Database
from moot.store.runs.runs import RunLease
from moot.types.billing import Charge
from moot.types.debate import Lane
from moot.types.discussions import Message
from moot.types.events import RunStatus

RUNS_PER_SIGNAL = 150  # a signal holds less than 8,000 bytes

POSTGRES_INSERT = """
WITH owned AS MATERIALIZED (
  SELECT run.id FROM unnest($1::text[], $2::int[]) AS held (id, epoch)
  JOIN run ON run.id = held.id AND run.epoch = held.epoch
  ORDER BY run.id FOR SHARE OF run
), added AS (
  INSERT INTO run_event (run, seq, body)
  SELECT new.run, new.seq, new.body FROM unnest($3::text[], $4::bigint[], $5::text[]) AS new (run, seq, body)
  JOIN owned ON owned.id = new.run
  ON CONFLICT DO NOTHING
), told AS MATERIALIZED (
  SELECT count(pg_notify('moot_events', signal)) FROM unnest($6::text[]) AS signal
)
SELECT owned.id FROM owned, told
"""
SQLITE_OWNED = """
SELECT run.id FROM json_each(?) AS held
JOIN run ON run.id = held.value ->> 0 AND run.epoch = held.value ->> 1
"""
SQLITE_INSERT = """
INSERT INTO run_event (run, seq, body)
SELECT run.id, new.value ->> 2, new.value ->> 3 FROM json_each(?) AS new
JOIN run ON run.id = new.value ->> 0 AND run.epoch = new.value ->> 1
WHERE true ON CONFLICT DO NOTHING
"""


class RunEnding(Struct, frozen=True):
    """`revision` is the last one that was heeded: if more is to be tried again, the run goes on."""

    status: RunStatus
    ended_at: float
    applied_revision: int = 0


class RunRecords(Struct, frozen=True):
    """What is in tables of its own: finished turns, how far lanes have come, findings by their basis, what was paid."""

    messages: list[Message] = []
    lanes: list[Lane] = []
    analysis_results: dict[str, str] = {}
    charges: list[Charge] = []


class EventLogEntry(Struct, frozen=True):
    """What one run adds to the log at once: events from number `first` on, and what is kept together with them."""

    lease: RunLease
    first_seq: int
    bodies: list[str]
    records: "RunRecords | None" = None
    ending: RunEnding | None = None


async def insert_events(database: Database, entries: Sequence[EventLogEntry]) -> set[str]:
    """Add the events of entries to the log, and return the runs that are still ours: of others, nothing is added."""
    if database.is_postgres:
        arguments = _postgres_arguments(database.instance_id, entries)
        async with database.log_connection() as connection:
            return {row[0] for row in await connection.fetch(POSTGRES_INSERT, *arguments)}
    return await database.run_on_log_thread(lambda connection: _insert_into_sqlite(connection, entries))


async def insert_events_in_transaction(
    database: Database, connection: AsyncConnection, entries: Sequence[EventLogEntry]
) -> set[str]:
    """Do the same in a transaction that does more; the runs are held until its end."""
    if database.is_postgres:
        arguments = _postgres_arguments(database.instance_id, entries)
        return set((await connection.exec_driver_sql(POSTGRES_INSERT, arguments)).scalars())
    owned = set((await connection.exec_driver_sql(SQLITE_OWNED, (_encode_leases(entries),))).scalars())
    await connection.exec_driver_sql(SQLITE_INSERT, (_encode_events(entries),))
    return owned


def encode_signals(sender: str, entries: Sequence[EventLogEntry]) -> Iterator[str]:
    """Say what wakes the readers in other processes: the sender, and the newest number of each run."""
    ends = [
        f"{entry.lease.run}:{entry.first_seq + len(entry.bodies) - 1}" for entry in entries if entry.bodies
    ]
    for at in range(0, len(ends), RUNS_PER_SIGNAL):
        yield ",".join((sender, *ends[at : at + RUNS_PER_SIGNAL]))


def decode_signal(own_instance: str, signal: str) -> Iterator[tuple[str, int]]:
    """Read a signal: the newest number of each run, unless we sent it ourselves and know all that."""
    sender, *ends = signal.split(",")
    if sender != own_instance:
        for run, _, newest in (end.partition(":") for end in ends):
            yield run, int(newest)


def _postgres_arguments(sender: str, entries: Sequence[EventLogEntry]) -> tuple[list[Any], ...]:
    return (
        [entry.lease.run for entry in entries],
        [entry.lease.epoch for entry in entries],
        [entry.lease.run for entry in entries for _ in entry.bodies],
        [seq for entry in entries for seq, _ in enumerate(entry.bodies, entry.first_seq)],
        [body for entry in entries for body in entry.bodies],
        list(encode_signals(sender, entries)),
    )


def _insert_into_sqlite(connection: sqlite3.Connection, entries: Sequence[EventLogEntry]) -> set[str]:
    connection.execute("BEGIN IMMEDIATE")
    try:
        owned = {run for (run,) in connection.execute(SQLITE_OWNED, (_encode_leases(entries),))}
        connection.execute(SQLITE_INSERT, (_encode_events(entries),))
        connection.execute("COMMIT")
    except BaseException:
        connection.rollback()
        raise
    return owned


def _encode_leases(entries: Sequence[EventLogEntry]) -> str:
    return _encode_rows([(entry.lease.run, entry.lease.epoch) for entry in entries])


def _encode_events(entries: Sequence[EventLogEntry]) -> str:
    return _encode_rows(
        [
            (entry.lease.run, entry.lease.epoch, seq, body)
            for entry in entries
            for seq, body in enumerate(entry.bodies, entry.first_seq)
        ]
    )


def _encode_rows(rows: Sequence[tuple[Any, ...]]) -> str:
    return msgspec.json.encode(rows).decode()

"""Batch inserts into the event log.

Every streamed token passes here, so the code calls the database drivers directly. On Postgres a batch is one statement
and one round trip; on SQLite it is one call in the log thread. Only the current lease of a run can write its events.
Writing a batch twice has no effect.
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

RUNS_PER_SIGNAL = 150  # a NOTIFY payload must be shorter than 8,000 bytes

# `owned` is the fence: it keeps the runs whose epoch is still current. A new lease increments the epoch, and FOR SHARE
# makes it wait until this batch commits. All writers lock rows in the same order, so they cannot deadlock.
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
), notified AS MATERIALIZED (
  SELECT count(pg_notify('moot_events', signal)) FROM unnest($6::text[]) AS signal
)
SELECT owned.id FROM owned, notified
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
    status: RunStatus
    ended_at: float
    applied_revision: int = 0  # the run continues if a newer revision was requested


class RunRecords(Struct, frozen=True):
    """Rows of other tables that commit in the same transaction as the events."""

    messages: list[Message] = []  # finished turns
    lanes: list[Lane] = []  # new states in a debate
    analysis_results: dict[str, str] = {}  # cache key: JSON of the event
    charges: list[Charge] = []


class EventLogEntry(Struct, frozen=True):
    """The part of a batch that belongs to one run."""

    lease: RunLease
    first_seq: int  # seq of the first body; the others follow without gaps
    bodies: list[str]  # JSON of the events
    records: "RunRecords | None" = None
    ending: RunEnding | None = None


async def insert_events(database: Database, entries: Sequence[EventLogEntry]) -> set[str]:
    """Return the ids of runs whose lease is still valid. Events of other runs are not inserted."""
    if database.is_postgres:
        arguments = _postgres_arguments(database.instance_id, entries)
        async with database.log_connection() as connection:
            return {row[0] for row in await connection.fetch(POSTGRES_INSERT, *arguments)}
    return await database.run_on_log_thread(lambda connection: _insert_into_sqlite(connection, entries))


async def insert_events_in_transaction(
    database: Database, connection: AsyncConnection, entries: Sequence[EventLogEntry]
) -> set[str]:
    """Insert events in a larger transaction. The runs stay locked until it ends, so the lease stays valid."""
    if database.is_postgres:
        arguments = _postgres_arguments(database.instance_id, entries)
        return set((await connection.exec_driver_sql(POSTGRES_INSERT, arguments)).scalars())
    owned = set((await connection.exec_driver_sql(SQLITE_OWNED, (_encode_leases(entries),))).scalars())
    await connection.exec_driver_sql(SQLITE_INSERT, (_encode_events(entries),))
    return owned


def encode_signals(sender: str, entries: Sequence[EventLogEntry]) -> Iterator[str]:
    """Yield NOTIFY payloads that wake readers in other processes: `sender,run:seq,run:seq`, with the newest seq."""
    ends = [f"{entry.lease.run}:{entry.first_seq + len(entry.bodies) - 1}" for entry in entries if entry.bodies]
    for at in range(0, len(ends), RUNS_PER_SIGNAL):
        yield ",".join((sender, *ends[at : at + RUNS_PER_SIGNAL]))


def decode_signal(own_instance: str, signal: str) -> Iterator[tuple[str, int]]:
    """Yield each run with its newest seq. A signal of this process yields nothing."""
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

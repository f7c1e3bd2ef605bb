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
from moot.store.runs.runs import Claim
from moot.types.billing import Charge
from moot.types.debate import Lane
from moot.types.discussions import Message
from moot.types.events import RunStatus

RUNS_A_SIGNAL = 150  # a signal holds less than 8,000 bytes

POSTGRES_ADD = """
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
SQLITE_ADD = """
INSERT INTO run_event (run, seq, body)
SELECT run.id, new.value ->> 2, new.value ->> 3 FROM json_each(?) AS new
JOIN run ON run.id = new.value ->> 0 AND run.epoch = new.value ->> 1
WHERE true ON CONFLICT DO NOTHING
"""


class Ending(Struct, frozen=True):
    """`revision` is the last one that was heeded: if more is to be tried again, the run goes on."""

    status: RunStatus
    at: float
    revision: int = 0


class Kept(Struct, frozen=True):
    """What is in tables of its own: finished turns, how far lanes have come, findings by their basis, what was paid."""

    messages: list[Message] = []
    lanes: list[Lane] = []
    findings: dict[str, str] = {}
    charges: list[Charge] = []


class Entry(Struct, frozen=True):
    """What one run adds to the log at once: events from number `first` on, and what is kept together with them."""

    claim: Claim
    first: int
    bodies: list[str]
    kept: "Kept | None" = None
    ending: Ending | None = None


async def add(database: Database, entries: Sequence[Entry]) -> set[str]:
    """Add the events of entries to the log, and return the runs that are still ours: of others, nothing is added."""
    if database.is_postgres:
        arguments = _arguments(database.name, entries)
        async with database.own_connection() as connection:
            return {row[0] for row in await connection.fetch(POSTGRES_ADD, *arguments)}
    return await database.in_own_thread(lambda connection: _added(connection, entries))


async def add_within(database: Database, connection: AsyncConnection, entries: Sequence[Entry]) -> set[str]:
    """Do the same in a transaction that does more; the runs are held until its end."""
    if database.is_postgres:
        arguments = _arguments(database.name, entries)
        return set((await connection.exec_driver_sql(POSTGRES_ADD, arguments)).scalars())
    owned = set((await connection.exec_driver_sql(SQLITE_OWNED, (_held(entries),))).scalars())
    await connection.exec_driver_sql(SQLITE_ADD, (_rows(entries),))
    return owned


def signals(sender: str, entries: Sequence[Entry]) -> Iterator[str]:
    """Say what wakes the readers in other processes: the sender, and the newest number of each run."""
    ends = [f"{entry.claim.run}:{entry.first + len(entry.bodies) - 1}" for entry in entries if entry.bodies]
    for at in range(0, len(ends), RUNS_A_SIGNAL):
        yield ",".join((sender, *ends[at : at + RUNS_A_SIGNAL]))


def news_of_others(own: str, signal: str) -> Iterator[tuple[str, int]]:
    """Read a signal: the newest number of each run, unless we sent it ourselves and know all that."""
    sender, *ends = signal.split(",")
    if sender != own:
        for run, _, newest in (end.partition(":") for end in ends):
            yield run, int(newest)


def _arguments(sender: str, entries: Sequence[Entry]) -> tuple[list[Any], ...]:
    return (
        [entry.claim.run for entry in entries],
        [entry.claim.epoch for entry in entries],
        [entry.claim.run for entry in entries for _ in entry.bodies],
        [seq for entry in entries for seq, _ in enumerate(entry.bodies, entry.first)],
        [body for entry in entries for body in entry.bodies],
        list(signals(sender, entries)),
    )


def _added(connection: sqlite3.Connection, entries: Sequence[Entry]) -> set[str]:
    connection.execute("BEGIN IMMEDIATE")
    try:
        owned = {run for (run,) in connection.execute(SQLITE_OWNED, (_held(entries),))}
        connection.execute(SQLITE_ADD, (_rows(entries),))
        connection.execute("COMMIT")
    except BaseException:
        connection.rollback()
        raise
    return owned


def _held(entries: Sequence[Entry]) -> str:
    return _json([(entry.claim.run, entry.claim.epoch) for entry in entries])


def _rows(entries: Sequence[Entry]) -> str:
    return _json(
        [
            (entry.claim.run, entry.claim.epoch, seq, body)
            for entry in entries
            for seq, body in enumerate(entry.bodies, entry.first)
        ]
    )


def _json(rows: Sequence[tuple[Any, ...]]) -> str:
    return msgspec.json.encode(rows).decode()

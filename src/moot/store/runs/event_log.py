"""Event log of runs: batch writes, paged reads, and the analysis results and notices of runs.

Every streamed token is written here, so a batch of events goes directly to the database driver. On Postgres it is one
statement and one round trip; on SQLite it is one call in the log thread.

Only the current lease of a run can write. Entries with a stale lease are skipped, and the result lists their runs.
Writing a batch twice has no effect.
"""

import sqlite3
from collections.abc import Collection, Iterator, Sequence
from typing import Any

import msgspec
from msgspec import Struct
from sqlalchemy import bindparam, case, func, or_, select, update
from sqlalchemy.ext.asyncio import AsyncConnection

from moot.store.billing.usage import add_charges
from moot.store.database import Database
from moot.store.discussions.discussions import lock_discussions, message_values, notify_discussion_change
from moot.store.runs.runs import RunLease, fail_open_lanes, move_lane
from moot.store.schema.discussions import discussion, message
from moot.store.schema.runs import analysis_result, run, run_event
from moot.types.billing import Charge, Payer
from moot.types.debate import Lane
from moot.types.discussions import LIVE_STATUSES, Message
from moot.types.errors import not_found
from moot.types.events import AnalysisResult, Notice, RunStatus

EVENTS_PER_PAGE = 500
MAX_PAGE_CHARS = 256 * 1024  # the event that exceeds this is the last of its page

NEWEST_SEQ = (
    select(func.coalesce(func.max(run_event.c.seq), 0))
    .where(run_event.c.run == run.c.id)
    .scalar_subquery()
    .label("newest")
)
TURN_COLUMNS = (message.c.run, message.c.stage, message.c.round, message.c.participant)
NUMBER_BY_ID = select(message.c.seq).where(message.c.id == bindparam("of_id"))
NUMBER_BY_TURN = select(message.c.seq).where(*(column == bindparam(f"of_{column.name}") for column in TURN_COLUMNS))

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

ResultOrNotice = AnalysisResult | Notice
NOTICE_KEY_PREFIX = "notice/"  # followed by the seq, because a notice has no cache key
_decode_event = msgspec.json.Decoder(ResultOrNotice).decode


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
    records: RunRecords | None = None
    ending: RunEnding | None = None


class WriteResult(Struct, frozen=True):
    stale_runs: frozenset[str]  # the lease was lost, so nothing was written
    message_numbers: dict[str, int]  # message id: number


class RunProgress(Struct, frozen=True):
    live: bool
    last_seq: int  # seq of the newest event; 0 if there is none


class EventLog:
    def __init__(self, database: Database) -> None:
        self._database = database

    async def read_events(self, id: str, after: int) -> list[tuple[int, str]]:
        """Return a page of `(seq, body)` after seq `after`; an empty list if there are no more events."""
        query = select(run_event.c.seq, run_event.c.body).where(run_event.c.run == id, run_event.c.seq > after)
        rows = await self._database.fetch_all(query.order_by(run_event.c.seq).limit(EVENTS_PER_PAGE))
        return _limit_page([(seq, body) for seq, body in rows])

    async def newest_seqs(self, runs: Sequence[str]) -> dict[str, int]:
        """Return the newest seq of each run. On SQLite the dict is empty: no other process writes events."""
        if not self._database.is_postgres:
            return {}
        query = select(run.c.id, NEWEST_SEQ).where(run.c.id.in_(runs))
        return {row.id: row.newest for row in await self._database.fetch_all(query)}

    def read_signal(self, signal: str) -> Iterator[tuple[str, int]]:
        return decode_signal(self._database.instance_id, signal)

    async def run_progress(self, tenant: str, id: str) -> RunProgress:
        """Read status and newest seq in one query, so that they are consistent. Raises NotFound."""
        query = select(run.c.status, NEWEST_SEQ).where(run.c.id == id, run.c.tenant == tenant)
        row = await self._database.fetch_first(query)
        if row is None:
            raise not_found("run", id)
        return RunProgress(row.status in LIVE_STATUSES, row.newest)

    async def discussion_progress(self, tenant: str, discussion: str) -> dict[str, RunProgress]:
        """Return the progress of all runs in one query, oldest run first."""
        mine = (run.c.discussion == discussion, run.c.tenant == tenant)
        query = select(run.c.id, run.c.status, NEWEST_SEQ).where(*mine).order_by(run.c.id)
        rows = await self._database.fetch_all(query)
        return {row.id: RunProgress(row.status in LIVE_STATUSES, row.newest) for row in rows}

    async def write_entries(self, entries: Sequence[EventLogEntry]) -> WriteResult:
        if any(entry.records or entry.ending for entry in entries):
            owned, numbers = await self._write_with_records(entries)
        else:
            owned, numbers = await insert_events(self._database, entries), {}
        return WriteResult(frozenset(entry.lease.run for entry in entries) - owned, numbers)

    async def _write_with_records(self, entries: Sequence[EventLogEntry]) -> tuple[set[str], dict[str, int]]:
        numbers: dict[str, int] = {}
        async with self._database.write() as connection:
            # Lock discussions before runs, as all transactions do, so that they cannot deadlock.
            if ending := [entry.lease.discussion for entry in entries if entry.ending is not None]:
                await lock_discussions(connection, ending)
            owned = await insert_events_in_transaction(self._database, connection, entries)
            for entry in entries:
                if entry.lease.run in owned:
                    if entry.records is not None:
                        numbers |= await self._insert_records(connection, entry.lease, entry.records)
                    if entry.ending is not None:
                        await self._end_run(connection, entry, entry.ending)
        return owned, numbers

    async def _insert_records(
        self, connection: AsyncConnection, lease: RunLease, records: RunRecords
    ) -> dict[str, int]:
        """Return the numbers of the messages by id. Rows that exist already stay unchanged."""
        for moved in records.lanes:
            await move_lane(connection, lease.run, moved)
        for cache_key, body in records.analysis_results.items():
            insert_new = self._database.insert_into(analysis_result).on_conflict_do_nothing()
            await connection.execute(insert_new, {"run": lease.run, "cache_key": cache_key, "body": body})
        payer = Payer(tenant=lease.tenant, account=lease.account, discussion=lease.discussion, run=lease.run)
        await add_charges(self._database, connection, payer, records.charges)
        return {new.id: await self._insert_message(connection, lease, new) for new in records.messages}

    async def _insert_message(self, connection: AsyncConnection, lease: RunLease, new: Message) -> int:
        """Return the number of the message, also if the turn exists already.

        A batch may be written twice, and a turn may be repeated after a crash, under another message id.
        """
        insert_new = self._database.insert_into(message).on_conflict_do_nothing().returning(message.c.seq)
        added = await connection.execute(insert_new, message_values(lease.tenant, new, lease.position))
        if (number := added.scalar()) is not None:
            return int(number)
        if new.participant is None:
            return int((await connection.execute(NUMBER_BY_ID, {"of_id": new.id})).scalar_one())
        turn_key = {f"of_{column.name}": getattr(new, column.name) for column in TURN_COLUMNS}
        return int((await connection.execute(NUMBER_BY_TURN, turn_key)).scalar_one())

    async def _end_run(self, connection: AsyncConnection, entry: EventLogEntry, ending: RunEnding) -> None:
        """End the run, or set it to `waiting` if a user requested a retry that this execution has not applied."""
        is_applied = run.c.revision <= ending.applied_revision
        ended = (
            update(run)
            .where(run.c.id == entry.lease.run, run.c.status.in_(LIVE_STATUSES))
            .values(
                status=case((is_applied, ending.status), else_="waiting"),
                ended_at=case((is_applied, ending.ended_at), else_=None),
                running_revision=case((is_applied, run.c.running_revision), else_=run.c.revision),
            )
            .returning(run.c.status)
        )
        if (await connection.execute(ended)).scalar() == ending.status:
            await fail_open_lanes(connection, entry.lease.run)
        touched = update(discussion).where(discussion.c.id == entry.lease.discussion).values(updated_at=ending.ended_at)
        await connection.execute(touched)
        await notify_discussion_change(self._database, connection, entry.lease.tenant, entry.lease.discussion)


def _limit_page(rows: Sequence[tuple[int, str]]) -> list[tuple[int, str]]:
    """Limit a page to about MAX_PAGE_CHARS: a client that does not read keeps one page in memory."""
    page: list[tuple[int, str]] = []
    size = 0
    for seq, body in rows:
        page.append((seq, body))
        size += len(body)
        if size >= MAX_PAGE_CHARS:
            break
    return page


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
    leases, events = _sqlite_arguments(entries)
    owned = set((await connection.exec_driver_sql(SQLITE_OWNED, (leases,))).scalars())
    await connection.exec_driver_sql(SQLITE_INSERT, (events,))
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
    leases, events = _sqlite_arguments(entries)
    connection.execute("BEGIN IMMEDIATE")
    try:
        owned = {run for (run,) in connection.execute(SQLITE_OWNED, (leases,))}
        connection.execute(SQLITE_INSERT, (events,))
        connection.execute("COMMIT")
    except BaseException:
        connection.rollback()
        raise
    return owned


def _sqlite_arguments(entries: Sequence[EventLogEntry]) -> tuple[str, str]:
    """Return the leases and the events as JSON arrays."""
    leases = [(entry.lease.run, entry.lease.epoch) for entry in entries]
    events = [
        (entry.lease.run, entry.lease.epoch, seq, body)
        for entry in entries
        for seq, body in enumerate(entry.bodies, entry.first_seq)
    ]
    return msgspec.json.encode(leases).decode(), msgspec.json.encode(events).decode()


async def load_results_and_notices(
    database: Database, runs: Collection[str], *kinds: type[ResultOrNotice]
) -> list[ResultOrNotice]:
    """Return the events of these types, or of all types by default, sorted by run and seq."""
    query = select(analysis_result.c.body).where(analysis_result.c.run.in_(runs))
    if kinds:  # the tag is always the first field
        starts = (f'{{"type":"{kind.__struct_config__.tag}",' for kind in kinds)
        query = query.where(or_(*(analysis_result.c.body.startswith(start, autoescape=True) for start in starts)))
    events = [_decode_event(body) for body in await database.fetch_values(query)]
    return sorted(events, key=lambda one: (one.run, one.seq))

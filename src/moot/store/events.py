"""The event log in the database: batches in, pages out. Raw SQL, because every token passes here.

A batch is written by whoever owns its runs at that moment. What a former owner still has to say is left out and
its runs are named. Written twice, a batch is there once.
"""

from collections.abc import Sequence

import msgspec
from msgspec import Struct
from sqlalchemy import bindparam, func, select, text, update
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.ext.asyncio import AsyncConnection

from moot.model.discussions import LIVE, Message
from moot.model.events import RunStatus
from moot.store.database import Database
from moot.store.discussions import hold, message_values, tell_change
from moot.store.schema import discussion, message, run, run_event

A_PAGE = 500  # events
LARGEST_PAGE = 256 * 1024  # characters, and the event that goes past them
RUNS_A_SIGNAL = 150  # a signal holds less than 8,000 bytes

SQLITE_OWNED = text(
    "SELECT run.id FROM json_each(:held) AS held JOIN run ON run.id = held.value ->> 0 AND run.epoch = held.value ->> 1"
)
POSTGRES_OWNED = text(
    "SELECT run.id FROM unnest(CAST(:runs AS text[]), CAST(:epochs AS int[])) AS held (id, epoch)"
    " JOIN run ON run.id = held.id AND run.epoch = held.epoch ORDER BY run.id FOR SHARE OF run"
)
TURN = (message.c.run, message.c.stage, message.c.round, message.c.participant)
KEPT = select(message.c.number).where(*(column == bindparam(f"of_{column.name}") for column in TURN))
SQLITE_ADD = sqlite.insert(message).on_conflict_do_nothing()
POSTGRES_ADD = postgresql.insert(message).on_conflict_do_nothing()
SQLITE_INSERT = "INSERT OR IGNORE INTO run_event (run, seq, body) VALUES (?, ?, ?)"
POSTGRES_INSERT = text(
    "INSERT INTO run_event (run, seq, body)"
    " SELECT * FROM unnest(CAST(:runs AS text[]), CAST(:seqs AS bigint[]), CAST(:bodies AS text[]))"
    " ON CONFLICT DO NOTHING"
)


class Ending(Struct, frozen=True):
    status: RunStatus
    at: float


class Entry(Struct, frozen=True):
    """What one run adds to the log at once: events from number `first` on, finished turns, perhaps its end."""

    run: str
    epoch: int
    tenant: str
    discussion: str
    first: int
    bodies: list[str]
    messages: list[Message]
    ending: Ending | None
    place: int = 0


class Written(Struct, frozen=True):
    """Runs that were not ours any more, and the numbers of the messages, by their ids."""

    stale: frozenset[str]
    numbers: dict[str, int]


class Events:
    def __init__(self, database: Database) -> None:
        self._database = database

    async def read(self, id: str, after: int) -> list[tuple[int, str]]:
        """Return some events after a number; none where there are no more."""
        query = select(run_event.c.seq, run_event.c.body).where(
            run_event.c.run == id, run_event.c.seq > after
        )
        async with self._database.read() as connection:
            rows = await connection.execute(query.order_by(run_event.c.seq).limit(A_PAGE))
            return _first_of([(seq, body) for seq, body in rows])

    async def newest(self, id: str) -> int:
        query = select(func.coalesce(func.max(run_event.c.seq), 0)).where(run_event.c.run == id)
        async with self._database.read() as connection:
            return int((await connection.execute(query)).scalar_one())

    async def write(self, entries: Sequence[Entry]) -> Written:
        async with self._database.write() as connection:
            if ending := [entry.discussion for entry in entries if entry.ending is not None]:
                await hold(connection, ending)
            owned = await self._owned(connection, entries)
            mine = [entry for entry in entries if entry.run in owned]
            rows = [(e.run, seq, body) for e in mine for seq, body in enumerate(e.bodies, e.first)]
            if rows:
                await self._insert(connection, rows)
            numbers: dict[str, int] = {}
            for entry in mine:
                for new in entry.messages:
                    numbers[new.id] = await self._keep(connection, entry, new)
                if entry.ending is not None:
                    await self._end(connection, entry, entry.ending)
            await self._tell(connection, mine)
        return Written(frozenset(entry.run for entry in entries if entry.run not in owned), numbers)

    async def _owned(self, connection: AsyncConnection, entries: Sequence[Entry]) -> set[str]:
        """Find out which runs are still ours, and hold them until the batch is written."""
        if self._database.is_postgres:
            held = {"runs": [entry.run for entry in entries], "epochs": [entry.epoch for entry in entries]}
            return set((await connection.execute(POSTGRES_OWNED, held)).scalars())
        pairs = msgspec.json.encode([(entry.run, entry.epoch) for entry in entries]).decode()
        return set((await connection.execute(SQLITE_OWNED, {"held": pairs})).scalars())

    async def _insert(self, connection: AsyncConnection, rows: list[tuple[str, int, str]]) -> None:
        if self._database.is_postgres:
            runs, seqs, bodies = (list(column) for column in zip(*rows, strict=True))
            await connection.execute(POSTGRES_INSERT, {"runs": runs, "seqs": seqs, "bodies": bodies})
        else:
            await connection.exec_driver_sql(SQLITE_INSERT, rows)

    async def _keep(self, connection: AsyncConnection, entry: Entry, new: Message) -> int:
        """Insert a finished turn unless it is there, and return its number."""
        add = POSTGRES_ADD if self._database.is_postgres else SQLITE_ADD
        await connection.execute(add, message_values(entry.tenant, new, entry.place))
        name = {f"of_{column.name}": getattr(new, column.name) for column in TURN}
        return int((await connection.execute(KEPT, name)).scalar_one())

    async def _end(self, connection: AsyncConnection, entry: Entry, ending: Ending) -> None:
        await connection.execute(
            update(run)
            .where(run.c.id == entry.run, run.c.status.in_(LIVE))
            .values(status=ending.status, ended_at=ending.at)
        )
        touched = update(discussion).where(discussion.c.id == entry.discussion).values(updated_at=ending.at)
        await connection.execute(touched)
        await tell_change(self._database, connection, entry.tenant, entry.discussion)

    async def _tell(self, connection: AsyncConnection, entries: Sequence[Entry]) -> None:
        """Wake readers in other processes; those in this one are served by whoever wrote."""
        if not self._database.is_postgres:
            return
        ends = [f"{entry.run}:{entry.first + len(entry.bodies) - 1}" for entry in entries if entry.bodies]
        for at in range(0, len(ends), RUNS_A_SIGNAL):
            payload = ",".join(ends[at : at + RUNS_A_SIGNAL])
            await connection.execute(text("SELECT pg_notify('moot_events', :payload)"), {"payload": payload})


def _first_of(rows: Sequence[tuple[int, str]]) -> list[tuple[int, str]]:
    """Return as many events as make a page: a reader that does not read holds one."""
    page: list[tuple[int, str]] = []
    size = 0
    for seq, body in rows:
        page.append((seq, body))
        size += len(body)
        if size >= LARGEST_PAGE:
            break
    return page

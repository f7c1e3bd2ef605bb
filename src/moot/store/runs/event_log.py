"""The event log in the database: batches in, pages out.

A batch is written by whoever owns its runs at that moment. What a former owner still has to say is left out and
its runs are named. Written twice, a batch is there once.
"""

from collections.abc import Iterator, Sequence

from msgspec import Struct
from sqlalchemy import bindparam, case, func, select, update
from sqlalchemy.ext.asyncio import AsyncConnection

from moot.store.billing.charges import add_charges
from moot.store.database import Database
from moot.store.discussions.discussions import hold, message_values, tell_change
from moot.store.runs.event_insert import Ending, Entry, Kept, add, add_within, news_of_others
from moot.store.runs.lanes import close_lanes, move
from moot.store.runs.runs import Claim
from moot.store.schema import discussion, finding, message, run, run_event
from moot.types.billing import Payer
from moot.types.discussions import LIVE, Message
from moot.types.errors import NotFound

A_PAGE = 500  # events
LARGEST_PAGE = 256 * 1024  # characters, and the event that goes past them

NEWEST = (
    select(func.coalesce(func.max(run_event.c.seq), 0))
    .where(run_event.c.run == run.c.id)
    .scalar_subquery()
    .label("newest")
)
TURN = (message.c.run, message.c.stage, message.c.round, message.c.participant)
NUMBERED = select(message.c.number).where(message.c.id == bindparam("of_id"))
KEPT = select(message.c.number).where(*(column == bindparam(f"of_{column.name}") for column in TURN))


class Written(Struct, frozen=True):
    """Runs that were not ours any more, and the numbers of the messages, by their ids."""

    stale: frozenset[str]
    numbers: dict[str, int]


class Standing(Struct, frozen=True):
    """Whether a run is going on, and the number of its newest event."""

    live: bool
    newest: int


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

    async def newest(self, runs: Sequence[str]) -> dict[str, int]:
        """Return the newest numbers that other processes may have written; on SQLite there are no others."""
        if not self._database.is_postgres:
            return {}
        query = select(run.c.id, NEWEST).where(run.c.id.in_(runs))
        async with self._database.read() as connection:
            return {row.id: row.newest for row in await connection.execute(query)}

    def told(self, signal: str) -> Iterator[tuple[str, int]]:
        """Read a signal of another process: the newest number of each run."""
        return news_of_others(self._database.name, signal)

    async def standing(self, tenant: str, id: str) -> Standing:
        """Return how a run stands, and what was written of it until that moment."""
        query = select(run.c.status, NEWEST).where(run.c.id == id, run.c.tenant == tenant)
        async with self._database.read() as connection:
            row = (await connection.execute(query)).first()
        if row is None:
            raise NotFound(f"There is no run {id!r}.")
        return Standing(row.status in LIVE, row.newest)

    async def standings(self, tenant: str, discussion: str) -> dict[str, Standing]:
        """Return how all runs of a discussion stand at one moment, the oldest first."""
        mine = (run.c.discussion == discussion, run.c.tenant == tenant)
        query = select(run.c.id, run.c.status, NEWEST).where(*mine).order_by(run.c.id)
        async with self._database.read() as connection:
            rows = await connection.execute(query)
            return {row.id: Standing(row.status in LIVE, row.newest) for row in rows}

    async def write(self, entries: Sequence[Entry]) -> Written:
        if any(entry.kept or entry.ending for entry in entries):
            owned, numbers = await self._write_more(entries)
        else:
            owned, numbers = await add(self._database, entries), {}
        return Written(frozenset(entry.claim.run for entry in entries) - owned, numbers)

    async def _write_more(self, entries: Sequence[Entry]) -> tuple[set[str], dict[str, int]]:
        """Write finished turns and ends together with their events."""
        numbers: dict[str, int] = {}
        async with self._database.write() as connection:
            if ending := [entry.claim.discussion for entry in entries if entry.ending is not None]:
                await hold(connection, ending)
            owned = await add_within(self._database, connection, entries)
            for entry in entries:
                if entry.claim.run in owned:
                    if entry.kept is not None:
                        numbers |= await self._keep(connection, entry.claim, entry.kept)
                    if entry.ending is not None:
                        await self._end(connection, entry, entry.ending)
        return owned, numbers

    async def _keep(self, connection: AsyncConnection, claim: Claim, kept: Kept) -> dict[str, int]:
        """Write what is kept, and return the numbers of messages."""
        for moved in kept.lanes:
            await move(connection, claim.run, moved)
        for basis, body in kept.findings.items():
            unless_there = self._database.insert(finding).on_conflict_do_nothing()
            await connection.execute(unless_there, {"run": claim.run, "basis": basis, "body": body})
        payer = Payer(tenant=claim.tenant, account=claim.account, discussion=claim.discussion, run=claim.run)
        await add_charges(self._database, connection, payer, kept.charges)
        return {new.id: await self._keep_message(connection, claim, new) for new in kept.messages}

    async def _keep_message(self, connection: AsyncConnection, claim: Claim, new: Message) -> int:
        """Insert a finished turn unless it is there, and return its number."""
        unless_there = self._database.insert(message).on_conflict_do_nothing().returning(message.c.number)
        added = await connection.execute(unless_there, message_values(claim.tenant, new, claim.place))
        if (number := added.scalar()) is not None:
            return int(number)
        if new.participant is None:
            return int((await connection.execute(NUMBERED, {"of_id": new.id})).scalar_one())
        name = {f"of_{column.name}": getattr(new, column.name) for column in TURN}
        return int((await connection.execute(KEPT, name)).scalar_one())

    async def _end(self, connection: AsyncConnection, entry: Entry, ending: Ending) -> None:
        heeded = run.c.revision <= ending.revision
        ended = (
            update(run)
            .where(run.c.id == entry.claim.run, run.c.status.in_(LIVE))
            .values(
                status=case((heeded, ending.status), else_="waiting"),
                ended_at=case((heeded, ending.at), else_=None),
                begun=case((heeded, run.c.begun), else_=run.c.revision),
            )
            .returning(run.c.status)
        )
        if (await connection.execute(ended)).scalar() == ending.status:
            await close_lanes(connection, entry.claim.run)
        touched = (
            update(discussion).where(discussion.c.id == entry.claim.discussion).values(updated_at=ending.at)
        )
        await connection.execute(touched)
        await tell_change(self._database, connection, entry.claim.tenant, entry.claim.discussion)


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

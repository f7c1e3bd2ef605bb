"""Trials of answers: kept with every finished round, and held by one worker at a time while they are improved."""

from msgspec.structs import replace
from sqlalchemy import RowMapping, Select, insert, select, update
from sqlalchemy.ext.asyncio import AsyncConnection

from moot.model.errors import Conflict, NotFound
from moot.model.trials import Improvement, Round, Trial, with_round
from moot.store.database import Database
from moot.store.schema import trial, worker

NEWEST = 100  # trials of a message that are listed
ACCEPTED = "This trial is accepted already: ask again and judge the new answer, or undo it first."
BUSY = "This trial is being improved already: wait for that to end, or leave its stream to stop it."


class Trials:
    def __init__(self, database: Database) -> None:
        self._database = database

    async def add(self, tenant: str, new: Trial) -> None:
        values = {name: getattr(new, name) for name in Trial.__struct_fields__ if name in trial.c}
        values["rounds"] = None
        async with self._database.write() as connection:
            await connection.execute(insert(trial).values(**values, tenant=tenant))

    async def get(self, tenant: str, id: str) -> Trial:
        async with self._database.read() as connection:
            return _trial(await _row(connection, id, _of(tenant, id)))

    async def of_message(self, tenant: str, message: str) -> tuple[Trial, ...]:
        """Return the trials of an answer, the newest first."""
        mine = select(trial).where(trial.c.message == message, trial.c.tenant == tenant)
        async with self._database.read() as connection:
            rows = await connection.execute(mine.order_by(trial.c.id.desc()).limit(NEWEST))
            return tuple(_trial(row) for row in rows.mappings())

    async def hold(self, tenant: str, id: str, by: str) -> Trial:
        """Let a worker improve a trial; refuse it while another one that lives does."""
        async with self._database.write() as connection:
            row, now = await locked(connection, tenant, id)
            refuse_if_accepted(now)
            if now.held_by != by:
                await refuse_if_held(connection, now)
            await write(connection, id, replace(now, held_by=by))
        return _trial(row)

    async def let_go(self, tenant: str, id: str, by: str) -> None:
        async with self._database.write() as connection:
            try:
                _, now = await locked(connection, tenant, id)
            except NotFound:  # it was deleted with its discussion
                return
            if now.held_by == by:
                await write(connection, id, replace(now, held_by=None))

    async def keep(self, tenant: str, id: str, by: str, new: Round) -> Trial:
        """Keep a finished round, unless another worker has the trial by now."""
        async with self._database.write() as connection:
            row, now = await locked(connection, tenant, id)
            if now.held_by != by:
                raise Conflict(BUSY)
            more = with_round(_trial(row), new)
            await write(connection, id, replace(now, rounds=more.rounds))
        return more


async def locked(connection: AsyncConnection, tenant: str, id: str) -> tuple[RowMapping, Improvement]:
    """Read a trial that nobody else changes in this transaction."""
    row = await _row(connection, id, _of(tenant, id).with_for_update())
    return row, row["rounds"] or Improvement()


def refuse_if_accepted(trial: Trial | Improvement) -> None:
    """Refuse to improve what is in use already."""
    if trial.acceptance is not None:
        raise Conflict(ACCEPTED)


async def refuse_if_held(connection: AsyncConnection, now: Improvement) -> None:
    """Refuse what cannot be done while a worker that lives improves a trial."""
    alive = select(worker.c.id).where(worker.c.id == now.held_by, worker.c.reaper.is_(None))
    if now.held_by is not None and (await connection.execute(alive)).first() is not None:
        raise Conflict(BUSY)


async def write(connection: AsyncConnection, id: str, now: Improvement, **more: float | None) -> None:
    await connection.execute(update(trial).where(trial.c.id == id).values(rounds=now, **more))


def _of(tenant: str, id: str) -> Select[tuple[object, ...]]:
    return select(trial).where(trial.c.id == id, trial.c.tenant == tenant)


async def _row(connection: AsyncConnection, id: str, query: Select[tuple[object, ...]]) -> RowMapping:
    row = (await connection.execute(query)).mappings().first()
    if row is None:
        raise NotFound(f"There is no trial {id!r}.")
    return row


def _trial(row: RowMapping) -> Trial:
    came: Improvement = row["rounds"] or Improvement()
    own = {name: row[name] for name in Trial.__struct_fields__ if name in trial.c and name != "rounds"}
    return Trial(**own, rounds=came.rounds, acceptance=came.acceptance)

"""The roll of the workers on one Postgres: who lives, by beats that are counted, and who takes over from whom.

Whoever gives a worker something to do holds its line with a light lock; whoever strikes it off needs the line alone.
So nothing is ever given to a worker that has been struck off.
"""

import time
from typing import NamedTuple

from sqlalchemy import delete, insert, select, update
from sqlalchemy.ext.asyncio import AsyncConnection

from moot.store.database import Database
from moot.store.schema import worker
from moot.types.errors import ShuttingDown


class WorkerState(NamedTuple):
    """What a worker's line tells of it; `reaper` is who takes over, or itself where it has left."""

    heartbeats: int
    successor: str | None


class WorkerRegistry:
    def __init__(self, database: Database) -> None:
        self._database = database

    async def register(self, id: str) -> None:
        async with self._database.write() as connection:
            await connection.execute(insert(worker).values(id=id, beats=0, created_at=time.time()))

    async def mark_as_left(self, id: str) -> None:
        """Let others take over what may be left, without waiting for the lease."""
        async with self._database.write() as connection:
            await connection.execute(update(worker).where(worker.c.id == id).values(reaper=id))

    async def register_as_left(self, id: str) -> None:
        """Put down somebody who has something and is on no roll, so that one of those who live takes over."""
        left = self._database.insert_into(worker).values(id=id, beats=0, reaper=id, created_at=time.time())
        async with self._database.write() as connection:
            await connection.execute(left.on_conflict_do_nothing())

    async def send_heartbeat(self, id: str) -> bool:
        """Give a sign of life, and tell whether nobody has taken over yet."""
        mine = update(worker).where(worker.c.id == id, worker.c.reaper.is_(None))
        async with self._database.write() as connection:
            return bool((await connection.execute(mine.values(beats=worker.c.beats + 1))).rowcount)

    async def worker_states(self) -> dict[str, WorkerState]:
        query = select(worker.c.id, worker.c.beats, worker.c.reaper)
        async with self._database.read() as connection:
            return {row.id: WorkerState(row.beats, row.reaper) for row in await connection.execute(query)}

    async def begin_takeover(self, id: str, state: WorkerState, successor: str) -> bool:
        """Become the reaper of a worker, unless it gave a sign of life, somebody else was first, or its line is held."""
        same = (worker.c.beats == state.heartbeats, worker.c.reaper.is_not_distinct_from(state.successor))
        alone = select(worker.c.id).where(worker.c.id == id, *same).with_for_update(skip_locked=True)
        async with self._database.write() as connection:
            if (await connection.execute(alone)).first() is None:
                return False
            await connection.execute(update(worker).where(worker.c.id == id).values(reaper=successor))
        return True

    async def deregister(self, id: str) -> None:
        async with self._database.write() as connection:
            await connection.execute(delete(worker).where(worker.c.id == id))


async def lock_worker(connection: AsyncConnection, id: str) -> None:
    """Let nobody take over from a worker in this transaction; raise if somebody has done so."""
    if connection.dialect.name == "sqlite":
        return  # a file has one worker, and no roll
    mine = select(worker.c.id).where(worker.c.id == id, worker.c.reaper.is_(None))
    if (await connection.execute(mine.with_for_update(read=True, key_share=True))).first() is None:
        raise ShuttingDown("This server is ending: ask again in a moment.")

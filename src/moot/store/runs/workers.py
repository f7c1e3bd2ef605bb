"""Registry of the workers on one Postgres database, with heartbeats and takeovers.

A transaction that gives a run to a worker holds a shared lock on the row of that worker. A takeover locks the row
exclusively. Therefore no worker gets a run after its takeover has begun.
"""

import time
from typing import NamedTuple

from sqlalchemy import delete, insert, select, update
from sqlalchemy.ext.asyncio import AsyncConnection

from moot.store.database import Database
from moot.store.schema.runs import worker
from moot.types.errors import ShuttingDown


class WorkerState(NamedTuple):
    heartbeats: int  # a counter, because clocks of servers differ
    successor: str | None  # id of the worker that takes over; its own id after it left


class WorkerRegistry:
    def __init__(self, database: Database) -> None:
        self._database = database

    async def register(self, id: str) -> None:
        async with self._database.write() as connection:
            await connection.execute(insert(worker).values(id=id, heartbeats=0, created_at=time.time()))

    async def mark_as_left(self, id: str) -> None:
        """Let other workers take over remaining runs at once, before the lease times out."""
        async with self._database.write() as connection:
            await connection.execute(update(worker).where(worker.c.id == id).values(successor=id))

    async def register_as_left(self, id: str) -> None:
        """Register a worker that owns runs but has no row, so that a live worker takes over. Idempotent."""
        left = self._database.insert_into(worker).values(id=id, heartbeats=0, successor=id, created_at=time.time())
        async with self._database.write() as connection:
            await connection.execute(left.on_conflict_do_nothing())

    async def send_heartbeat(self, id: str) -> bool:
        """Return False if another worker is taking over: the caller is fenced."""
        mine = update(worker).where(worker.c.id == id, worker.c.successor.is_(None))
        async with self._database.write() as connection:
            return bool((await connection.execute(mine.values(heartbeats=worker.c.heartbeats + 1))).rowcount)

    async def worker_states(self) -> dict[str, WorkerState]:
        query = select(worker.c.id, worker.c.heartbeats, worker.c.successor)
        async with self._database.read() as connection:
            return {row.id: WorkerState(row.heartbeats, row.successor) for row in await connection.execute(query)}

    async def begin_takeover(self, id: str, state: WorkerState, successor: str) -> bool:
        """Return whether `successor` may take over.

        It may not if the worker sent a heartbeat since `state`, if another worker was first, or if the row is locked. A
        locked row means that the worker is getting a run, so it is alive.
        """
        same = (worker.c.heartbeats == state.heartbeats, worker.c.successor.is_not_distinct_from(state.successor))
        locked = select(worker.c.id).where(worker.c.id == id, *same).with_for_update(skip_locked=True)
        async with self._database.write() as connection:
            if (await connection.execute(locked)).first() is None:
                return False
            await connection.execute(update(worker).where(worker.c.id == id).values(successor=successor))
        return True

    async def deregister(self, id: str) -> None:
        async with self._database.write() as connection:
            await connection.execute(delete(worker).where(worker.c.id == id))


async def lock_worker(connection: AsyncConnection, id: str) -> None:
    """Block takeovers of this worker until the transaction ends. Raises ShuttingDown if one has begun."""
    if connection.dialect.name == "sqlite":
        return  # one worker per file, without a registry
    mine = select(worker.c.id).where(worker.c.id == id, worker.c.successor.is_(None))
    if (await connection.execute(mine.with_for_update(read=True, key_share=True))).first() is None:
        raise ShuttingDown("This server is shutting down. Try again in a moment.")

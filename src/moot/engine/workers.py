"""Many workers on one Postgres: each shows that it lives, and takes over from those that do not.

A worker counts its beats in a row of its own. Others watch the count by their own monotonic clocks, so no clock that
jumps can make a living worker look dead. Whoever finds itself taken over must end at once.
"""

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable
from typing import NamedTuple

from sqlalchemy import delete, insert, select, update

from moot.model.errors import StoreUnavailable
from moot.store.database import Database
from moot.store.schema import worker

BEATS_A_LEASE = 5
DEAD_AFTER = 0.8  # of the lease without a beat; the rest is for taking over

log = logging.getLogger(__name__)


class Sign(NamedTuple):
    """What can change in a worker's row; while it does, somebody is at work there."""

    beats: int
    reaper: str | None


class Workers:
    def __init__(
        self,
        database: Database,
        id: str,
        lease: float,
        take_over: Callable[[str], Awaitable[None]],
        fenced: Callable[[], None],
    ) -> None:
        self._database = database
        self._id = id
        self._lease = lease
        self._take_over = take_over
        self._fenced = fenced
        self._seen: dict[str, tuple[Sign, float]] = {}

    async def join(self) -> None:
        async with self._database.write() as connection:
            await connection.execute(insert(worker).values(id=self._id, beats=0, created_at=time.time()))

    async def leave(self, *, unfinished: bool) -> None:
        """Go, or, where runs are left, let others take over without waiting for the lease."""
        mine = worker.c.id == self._id
        query = (
            update(worker).where(mine).values(reaper=self._id) if unfinished else delete(worker).where(mine)
        )
        async with self._database.write() as connection:
            await connection.execute(query)

    async def beat_for_ever(self) -> None:
        while True:
            await asyncio.sleep(self._lease / BEATS_A_LEASE)
            try:
                if not await self._beat():
                    self._fenced()
                for dead in await self._silent():
                    await self._reap(dead)
            except StoreUnavailable as error:
                log.warning("the database is away; no beat", extra={"reason": str(error)})

    async def _beat(self) -> bool:
        query = (
            update(worker)
            .where(worker.c.id == self._id, worker.c.reaper.is_(None))
            .values(beats=worker.c.beats + 1)
        )
        async with self._database.write() as connection:
            return bool((await connection.execute(query)).rowcount)

    async def _silent(self) -> list[tuple[str, Sign]]:
        """Find the workers whose row has not changed for too long."""
        query = select(worker.c.id, worker.c.beats, worker.c.reaper).where(worker.c.id != self._id)
        async with self._database.read() as connection:
            rows = {row.id: Sign(row.beats, row.reaper) for row in await connection.execute(query)}
        now = time.monotonic()
        before, self._seen = self._seen, {}
        for id, sign in rows.items():
            known, since = before.get(id, (sign, now))
            self._seen[id] = (sign, since if known == sign else now)
        limit = self._lease * DEAD_AFTER
        return [
            (id, sign)
            for id, (sign, since) in self._seen.items()
            if sign.reaper == id or now - since >= limit
        ]

    async def _reap(self, dead: tuple[str, Sign]) -> None:
        """Take over from a silent worker; of several who try, one does."""
        id, sign = dead
        claim = (
            update(worker)
            .where(
                worker.c.id == id,
                worker.c.beats == sign.beats,
                worker.c.reaper.is_not_distinct_from(sign.reaper),
            )
            .values(reaper=self._id, beats=worker.c.beats + 1)
        )
        async with self._database.write() as connection:
            if not (await connection.execute(claim)).rowcount:
                return
        log.warning("taking over from a worker that is silent", extra={"worker": id})
        await self._take_over(id)
        async with self._database.write() as connection:
            await connection.execute(delete(worker).where(worker.c.id == id))

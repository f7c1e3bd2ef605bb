"""Many workers on one Postgres: each shows that it lives, and takes over from those that do not.

A worker counts its beats in a row of its own. Others look at it now and then, and take it for dead when they find the
same count several times: no clock is asked, and while nobody can beat or look, nobody dies. Whoever finds itself taken
over must end at once.
"""

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Mapping
from typing import NamedTuple

from sqlalchemy import delete, insert, select, update

from moot.model.errors import StoreUnavailable
from moot.store.database import Database
from moot.store.schema import worker

BEATS_A_LEASE = 5
LOOKS = 4  # that find nothing new, and a worker is dead; the rest of the lease is for taking over

log = logging.getLogger(__name__)


class Sign(NamedTuple):
    """What a worker's row tells of it; `reaper` is who takes over, or itself where it has left."""

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
        self._left = False
        self._seen: dict[str, tuple[int, int]] = {}  # by worker, its beats and how often they were the same
        self._reaping: set[str] = set()

    async def join(self) -> None:
        async with self._database.write() as connection:
            await connection.execute(insert(worker).values(id=self._id, beats=0, created_at=time.time()))

    async def leave(self) -> None:
        """Go, and let others take over what may be left without waiting for the lease."""
        self._left = True
        query = update(worker).where(worker.c.id == self._id).values(reaper=self._id)
        async with self._database.write() as connection:
            await connection.execute(query)

    async def beat_for_ever(self) -> None:
        """Beat until we leave, also while we take over from others, however long that takes."""
        async with asyncio.TaskGroup() as group:
            while not self._left:
                await asyncio.sleep(self._lease / BEATS_A_LEASE)
                await self._round(group)

    async def _round(self, group: asyncio.TaskGroup) -> None:
        try:
            if await self._beat():
                for id, sign in await self._dead():
                    self._reaping.add(id)
                    group.create_task(self._reap(id, sign))
            elif not self._left:
                self._fenced()
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

    async def _dead(self) -> list[tuple[str, Sign]]:
        """Look at the others, and find those whom nobody takes over from yet."""
        query = select(worker.c.id, worker.c.beats, worker.c.reaper)
        async with self._database.read() as connection:
            signs = {row.id: Sign(row.beats, row.reaper) for row in await connection.execute(query)}
        before, self._seen = self._seen, {}
        for id, sign in signs.items():
            beats, looks = before.get(id, (None, 0))
            self._seen[id] = (sign.beats, looks + 1 if beats == sign.beats else 0)
        others = signs.keys() - self._reaping - {self._id}
        return [(id, signs[id]) for id in others if self._is_dead(id, signs)]

    def _is_dead(self, id: str, signs: Mapping[str, Sign]) -> bool:
        reaper = signs[id].reaper
        if reaper is None:
            return self._seen[id][1] >= LOOKS
        if reaper in {id, self._id}:  # it has left; or we began to take over, and could not go on
            return True
        return reaper not in signs or signs[reaper].reaper is not None

    async def _reap(self, id: str, sign: Sign) -> None:
        """Take over from a dead worker; of several who try, one does."""
        try:
            if not await self._claimed(id, sign):
                return
            log.warning("taking over from a worker that is gone", extra={"worker": id})
            await self._take_over(id)
            async with self._database.write() as connection:
                await connection.execute(delete(worker).where(worker.c.id == id))
        except StoreUnavailable as error:
            log.warning("the database is away; taking over waits", extra={"reason": str(error)})
        finally:
            self._reaping.discard(id)

    async def _claimed(self, id: str, sign: Sign) -> bool:
        """Become the reaper of a worker, unless it gave a sign of life or somebody else was first.

        The lock lets whoever is just adding a run to it do so before; nobody can afterwards.
        """
        same = (worker.c.beats == sign.beats, worker.c.reaper.is_not_distinct_from(sign.reaper))
        mine = select(worker.c.id).where(worker.c.id == id, *same).with_for_update()
        async with self._database.write() as connection:
            if (await connection.execute(mine)).first() is None:
                return False
            await connection.execute(update(worker).where(worker.c.id == id).values(reaper=self._id))
        return True

"""Heartbeats and leases of workers, and the takeover of the runs of a dead one.

On one machine each worker also locks a file of its name. A free lock proves at once that the worker is dead. A held
lock proves nothing.
"""

import asyncio
import hashlib
import logging
import platform
from collections.abc import Awaitable, Callable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from contextlib import contextmanager
from pathlib import Path

from moot.store.locks import IS_KNOWN, hold
from moot.store.runs.workers import Roll, Sign
from moot.types.errors import StoreUnavailable


def folder_for(data: Path, database: str) -> Path:
    """Name the folder of this machine, which may share its data folder with others, and of one database."""
    return data / "workers" / f"{platform.node()}-{hashlib.sha256(database.encode()).hexdigest()[:16]}"


class Presence:
    def __init__(self, folder: Path) -> None:
        self._folder = folder

    @contextmanager
    def shown(self, worker: str) -> Iterator[None]:
        """Hold the file of a worker: before it is on the roll, and until it is done."""
        if not IS_KNOWN:
            yield
            return
        self._folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        path = self._folder / worker
        with path.open("w") as held:
            if not hold(held):  # then it would look as if we were dead
                path.unlink(missing_ok=True)
            yield
            path.unlink(missing_ok=True)

    def dead(self, roll: AbstractSet[str]) -> frozenset[str]:
        """Find who is on the roll and dead; what others left who are not on it any more is cleared away."""
        left = frozenset(path.name for path in self._folder.glob("*") if _is_left(path))
        for struck_off in left - roll:
            (self._folder / struck_off).unlink(missing_ok=True)
        return left & roll


def _is_left(path: Path) -> bool:
    try:
        with path.open() as file:
            return hold(file) is True
    except FileNotFoundError:  # it was cleared away a moment ago
        return False


BEATS_A_LEASE = 5
LOOKS = 4  # that find nothing new, and a worker is dead; the rest of the lease is for taking over

log = logging.getLogger(__name__)


class Workers:
    def __init__(
        self,
        roll: Roll,
        presence: Presence,
        id: str,
        lease: float,
        take_over: Callable[[str], Awaitable[None]],
        fenced: Callable[[], None],
    ) -> None:
        self._roll = roll
        self._presence = presence
        self._id = id
        self._lease = lease
        self._take_over = take_over
        self._fenced = fenced
        self._left = False
        self._seen: dict[str, tuple[int, int]] = {}  # by worker, its beats and how often they were the same
        self._reaping: set[str] = set()

    async def join(self) -> None:
        await self._roll.join(self._id)

    async def leave(self) -> None:
        self._left = True
        await self._roll.leave(self._id)

    async def beat_for_ever(self) -> None:
        """Beat until we leave, also while we take over from others, however long that takes."""
        async with asyncio.TaskGroup() as group:
            while not self._left:
                await self._round(group)
                await asyncio.sleep(self._lease / BEATS_A_LEASE)

    async def _round(self, group: asyncio.TaskGroup) -> None:
        try:
            if await self._roll.beat(self._id):
                for id, sign in await self._dead():
                    self._reaping.add(id)
                    group.create_task(self._reap(id, sign))
            elif not self._left:
                self._fenced()
        except StoreUnavailable as error:
            log.warning("the database is away; no beat", extra={"reason": str(error)})

    async def _dead(self) -> list[tuple[str, Sign]]:
        """Look at the others, and find those whom nobody takes over from yet."""
        signs = await self._roll.signs()
        before, self._seen = self._seen, {}
        for id, sign in signs.items():
            beats, looks = before.get(id, (None, 0))
            self._seen[id] = (sign.beats, looks + 1 if beats == sign.beats else 0)
        ended = await asyncio.to_thread(self._presence.dead, signs.keys())
        others = signs.keys() - self._reaping - {self._id}
        return [(id, signs[id]) for id in others if self._is_dead(id, signs, ended)]

    def _is_dead(self, id: str, signs: Mapping[str, Sign], ended: AbstractSet[str]) -> bool:
        reaper = signs[id].reaper
        if reaper is None:
            return id in ended or self._seen[id][1] >= LOOKS
        if reaper in {id, self._id}:  # it has left; or we began to take over, and could not go on
            return True
        return reaper not in signs or signs[reaper].reaper is not None

    async def _reap(self, id: str, sign: Sign) -> None:
        """Take over from a dead worker; of several who try, one does."""
        try:
            if await self._roll.claim(id, sign, self._id):
                log.warning("taking over from a worker that is gone", extra={"worker": id})
                await self._take_over(id)
                await self._roll.strike_off(id)
        except StoreUnavailable as error:
            log.warning("the database is away; taking over waits", extra={"reason": str(error)})
        finally:
            self._reaping.discard(id)

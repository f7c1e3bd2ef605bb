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

from moot.store.locks import HAS_FILE_LOCKS, try_lock_file
from moot.store.runs.workers import WorkerRegistry, WorkerState
from moot.types.errors import DatabaseUnavailable


def worker_lock_folder(data: Path, database: str) -> Path:
    """Name the folder of this machine, which may share its data folder with others, and of one database."""
    return data / "workers" / f"{platform.node()}-{hashlib.sha256(database.encode()).hexdigest()[:16]}"


class WorkerLockFiles:
    def __init__(self, folder: Path) -> None:
        self._folder = folder

    @contextmanager
    def lock_worker_file(self, worker: str) -> Iterator[None]:
        """Hold the file of a worker: before it is on the roll, and until it is done."""
        if not HAS_FILE_LOCKS:
            yield
            return
        self._folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        path = self._folder / worker
        with path.open("w") as held:
            if not try_lock_file(held):  # then it would look as if we were dead
                path.unlink(missing_ok=True)
            yield
            path.unlink(missing_ok=True)

    def dead_workers(self, registered: AbstractSet[str]) -> frozenset[str]:
        """Find who is on the roll and dead; what others left who are not on it any more is cleared away."""
        left = frozenset(path.name for path in self._folder.glob("*") if _is_abandoned(path))
        for struck_off in left - registered:
            (self._folder / struck_off).unlink(missing_ok=True)
        return left & registered


def _is_abandoned(path: Path) -> bool:
    try:
        with path.open() as file:
            return try_lock_file(file) is True
    except FileNotFoundError:  # it was cleared away a moment ago
        return False


HEARTBEATS_PER_LEASE = 5
MAX_MISSED_HEARTBEATS = (
    4  # that find nothing new, and a worker is dead; the rest of the lease is for taking over
)

log = logging.getLogger(__name__)


class WorkerMonitor:
    def __init__(
        self,
        registry: WorkerRegistry,
        lock_files: WorkerLockFiles,
        id: str,
        lease_seconds: float,
        take_over: Callable[[str], Awaitable[None]],
        on_fenced: Callable[[], None],
    ) -> None:
        self._registry = registry
        self._lock_files = lock_files
        self._id = id
        self._lease_seconds = lease_seconds
        self._take_over = take_over
        self._on_fenced = on_fenced
        self._has_left = False
        self._heartbeat_counts: dict[
            str, tuple[int, int]
        ] = {}  # by worker, its beats and how often they were the same
        self._takeovers: set[str] = set()

    async def join_cluster(self) -> None:
        await self._registry.register(self._id)

    async def leave_cluster(self) -> None:
        self._has_left = True
        await self._registry.mark_as_left(self._id)

    async def run_heartbeats(self) -> None:
        """Beat until we leave, also while we take over from others, however long that takes."""
        async with asyncio.TaskGroup() as group:
            while not self._has_left:
                await self._beat_once(group)
                await asyncio.sleep(self._lease_seconds / HEARTBEATS_PER_LEASE)

    async def _beat_once(self, group: asyncio.TaskGroup) -> None:
        try:
            if await self._registry.send_heartbeat(self._id):
                for id, sign in await self._find_dead_workers():
                    self._takeovers.add(id)
                    group.create_task(self._take_over_worker(id, sign))
            elif not self._has_left:
                self._on_fenced()
        except DatabaseUnavailable as error:
            log.warning("the database is away; no beat", extra={"reason": str(error)})

    async def _find_dead_workers(self) -> list[tuple[str, WorkerState]]:
        """Look at the others, and find those whom nobody takes over from yet."""
        signs = await self._registry.worker_states()
        before, self._heartbeat_counts = self._heartbeat_counts, {}
        for id, sign in signs.items():
            beats, looks = before.get(id, (None, 0))
            self._heartbeat_counts[id] = (sign.heartbeats, looks + 1 if beats == sign.heartbeats else 0)
        ended = await asyncio.to_thread(self._lock_files.dead_workers, signs.keys())
        others = signs.keys() - self._takeovers - {self._id}
        return [(id, signs[id]) for id in others if self._is_dead(id, signs, ended)]

    def _is_dead(self, id: str, states: Mapping[str, WorkerState], dead: AbstractSet[str]) -> bool:
        reaper = states[id].successor
        if reaper is None:
            return id in dead or self._heartbeat_counts[id][1] >= MAX_MISSED_HEARTBEATS
        if reaper in {id, self._id}:  # it has left; or we began to take over, and could not go on
            return True
        return reaper not in states or states[reaper].successor is not None

    async def _take_over_worker(self, id: str, state: WorkerState) -> None:
        """Take over from a dead worker; of several who try, one does."""
        try:
            if await self._registry.begin_takeover(id, state, self._id):
                log.warning("taking over from a worker that is gone", extra={"worker": id})
                await self._take_over(id)
                await self._registry.deregister(id)
        except DatabaseUnavailable as error:
            log.warning("the database is away; taking over waits", extra={"reason": str(error)})
        finally:
            self._takeovers.discard(id)

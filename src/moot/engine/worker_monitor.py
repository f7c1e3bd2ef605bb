"""Worker heartbeats and leases, and the takeover of a dead worker's runs.

Each worker also locks a file on its machine. A free lock proves at once that the process is dead, without waiting for
the lease. A held lock proves nothing: the process may hang, or the worker may be on another machine.
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
from moot.store.runs.runs import WorkerRegistry, WorkerState
from moot.types.errors import DatabaseUnavailable


def worker_lock_folder(data: Path, database: str) -> Path:
    """Return a folder per host and database, because machines may share a data folder."""
    return data / "workers" / f"{platform.node()}-{hashlib.sha256(database.encode()).hexdigest()[:16]}"


class WorkerLockFiles:
    def __init__(self, folder: Path) -> None:
        self._folder = folder

    @contextmanager
    def lock_worker_file(self, worker: str) -> Iterator[None]:
        """Lock before the worker registers and until it exits, so that a live worker never looks dead."""
        if not HAS_FILE_LOCKS:
            yield
            return
        self._folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        path = self._folder / worker
        with path.open("w") as held:
            if not try_lock_file(held):  # others could lock the file and take this worker for dead
                path.unlink(missing_ok=True)
            yield
            path.unlink(missing_ok=True)

    def dead_workers(self, registered: AbstractSet[str]) -> frozenset[str]:
        """Return registered workers whose lock is free. Deletes the lock files of deregistered workers."""
        abandoned = frozenset(path.name for path in self._folder.glob("*") if _is_abandoned(path))
        for deregistered in abandoned - registered:
            (self._folder / deregistered).unlink(missing_ok=True)
        return abandoned & registered


def _is_abandoned(path: Path) -> bool:
    try:
        with path.open() as file:
            return try_lock_file(file) is True
    except FileNotFoundError:  # deleted since the folder was listed
        return False


HEARTBEATS_PER_LEASE = 5
MAX_MISSED_HEARTBEATS = 4  # then a worker counts as dead; the rest of the lease is time for the takeover

log = logging.getLogger(__name__)


class WorkerMonitor:
    """Sends this worker's heartbeats and takes over from dead workers.

    Heartbeats are counters, so clocks need not agree: a worker is dead if its counter stays the same for several polls.
    """

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
        # By worker: its last heartbeat counter, and the number of polls without a change.
        self._heartbeat_counts: dict[str, tuple[int, int]] = {}
        self._takeovers: set[str] = set()

    async def join_cluster(self) -> None:
        await self._registry.register(self._id)

    async def leave_cluster(self) -> None:
        self._has_left = True
        await self._registry.mark_as_left(self._id)

    async def run_heartbeats(self) -> None:
        """Send heartbeats until the worker leaves. Takeovers run as tasks, so a slow one delays no heartbeat."""
        async with asyncio.TaskGroup() as group:
            while not self._has_left:
                await self._beat_once(group)
                await asyncio.sleep(self._lease_seconds / HEARTBEATS_PER_LEASE)

    async def _beat_once(self, group: asyncio.TaskGroup) -> None:
        try:
            if await self._registry.send_heartbeat(self._id):
                for id, state in await self._find_dead_workers():
                    self._takeovers.add(id)
                    group.create_task(self._take_over_worker(id, state))
            elif not self._has_left:  # another worker took over, so this one must not write any more
                self._on_fenced()
        except DatabaseUnavailable as error:
            log.warning("database unavailable; heartbeat skipped", extra={"reason": str(error)})

    async def _find_dead_workers(self) -> list[tuple[str, WorkerState]]:
        """Return dead workers without a takeover in progress in this process."""
        states = await self._registry.worker_states()
        before, self._heartbeat_counts = self._heartbeat_counts, {}
        for id, state in states.items():
            last, polls = before.get(id, (None, 0))
            self._heartbeat_counts[id] = (state.heartbeats, polls + 1 if last == state.heartbeats else 0)
        dead = await asyncio.to_thread(self._lock_files.dead_workers, states.keys())
        others = states.keys() - self._takeovers - {self._id}
        return [(id, states[id]) for id in others if self._is_dead(id, states, dead)]

    def _is_dead(self, id: str, states: Mapping[str, WorkerState], dead: AbstractSet[str]) -> bool:
        successor = states[id].successor
        if successor is None:
            return id in dead or self._heartbeat_counts[id][1] >= MAX_MISSED_HEARTBEATS
        # A worker that left names itself as successor. If it names this one, an earlier takeover failed.
        if successor in {id, self._id}:
            return True
        # The successor died during the takeover, so the takeover starts again here.
        return successor not in states or states[successor].successor is not None

    async def _take_over_worker(self, id: str, state: WorkerState) -> None:
        """Start the dead worker's runs here. `begin_takeover` lets one of several competing workers through."""
        try:
            if await self._registry.begin_takeover(id, state, self._id):
                log.warning("taking over runs of a dead worker", extra={"worker": id})
                await self._take_over(id)
                await self._registry.deregister(id)
        except DatabaseUnavailable as error:
            log.warning("database unavailable; takeover postponed", extra={"reason": str(error)})
        finally:
            self._takeovers.discard(id)

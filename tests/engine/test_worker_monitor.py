import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from sqlalchemy import select, update
from sqlalchemy.ext.asyncio import AsyncConnection

from moot.engine import worker_monitor
from moot.engine.worker_monitor import MAX_MISSED_HEARTBEATS, WorkerLockFiles, WorkerMonitor, worker_lock_folder
from moot.store.database import Database
from moot.store.runs.runs import Runs, WorkerRegistry, add_run, lock_worker
from moot.store.schema.runs import worker
from moot.types.billing import Payer
from moot.types.discussions import Run
from moot.types.errors import DatabaseUnavailable, ShuttingDown
from moot.types.run_plan import RunPlan
from tests.support.accounts import ANNA, create_accounts, create_discussion
from tests.support.databases import open_migrated_database
from tests.support.runs import create_run
from tests.support.waiting import wait_until

LEASE_SECONDS = 1.0
MANY_ROUNDS = 5 * MAX_MISSED_HEARTBEATS  # rounds
MISSING_FOLDER = Path("/nowhere")  # no lock files: each worker is on its own machine


class InterruptibleDatabase(Database):
    """A database that can be unavailable, for all or only for writes."""

    can_read = can_write = True

    @asynccontextmanager
    async def read(self) -> AsyncIterator[AsyncConnection]:
        if not self.can_read:
            raise DatabaseUnavailable("The database is away.")
        async with super().read() as connection:
            yield connection

    @asynccontextmanager
    async def write(self) -> AsyncIterator[AsyncConnection]:
        if not self.can_write:
            raise DatabaseUnavailable("The database is away.")
        async with super().write() as connection:
            yield connection


class RecordingWorker:
    """A worker that records its takeovers and whether it was fenced."""

    def __init__(
        self, database: Database, id: str, lock_files: WorkerLockFiles, lease_seconds: float = LEASE_SECONDS
    ) -> None:
        self.id = id
        self.taken_over: list[str] = []
        self.fenced_count = 0
        self.before_takeover: Callable[[], Awaitable[None]] | None = None  # called before a takeover ends
        self.monitor = WorkerMonitor(
            WorkerRegistry(database), lock_files, id, lease_seconds, self._take_over, self._on_fenced
        )

    def record_runs_of(self, database: Database, worker_id: str) -> list[str]:
        """Record the runs that a worker has when it is taken over."""
        found: list[str] = []

        async def look() -> None:
            found.extend(run for run, _ in await Runs(database).list_worker_runs(worker_id))

        self.before_takeover = look
        return found

    async def _take_over(self, other: str) -> None:
        if self.before_takeover is not None:
            await self.before_takeover()
        self.taken_over.append(other)

    def _on_fenced(self) -> None:
        self.fenced_count += 1


@pytest.fixture
async def database(tmp_path: Path) -> AsyncIterator[InterruptibleDatabase]:
    async with (
        open_migrated_database("postgres", tmp_path) as made,
        InterruptibleDatabase(made.url) as database,
    ):
        yield database


async def join_workers(
    database: Database, *ids: str, lock_folder: Path = MISSING_FOLDER, lease_seconds: float = LEASE_SECONDS
) -> list[RecordingWorker]:
    joined = [RecordingWorker(database, id, WorkerLockFiles(lock_folder), lease_seconds) for id in ids]
    for one in joined:
        await one.monitor.join_cluster()
    return joined


async def run_rounds(count: int, *live_workers: RecordingWorker) -> None:
    """Let all live workers send heartbeats, check the others and finish their takeovers."""
    for _ in range(count):
        async with asyncio.TaskGroup() as group:
            await asyncio.gather(*(one.monitor._beat_once(group) for one in live_workers))


async def worker_rows(database: Database) -> dict[str, str | None]:
    async with database.read() as connection:
        found = await connection.execute(select(worker.c.id, worker.c.successor))
        return {row.id: row.successor for row in found}


async def test_silent_worker_is_taken_over_once(database: InterruptibleDatabase) -> None:
    one, other, _ = await join_workers(database, "one", "other", "silent")
    await run_rounds(MAX_MISSED_HEARTBEATS, one, other)
    assert one.taken_over == other.taken_over == []
    await run_rounds(MANY_ROUNDS, one, other)
    assert [*one.taken_over, *other.taken_over] == ["silent"]
    assert await worker_rows(database) == {"one": None, "other": None}


async def test_dead_worker_on_same_machine_is_taken_over_at_first_check(
    database: InterruptibleDatabase, tmp_path: Path
) -> None:
    machine = tmp_path / "workers"
    with WorkerLockFiles(machine).lock_worker_file("living"):
        (one, *_) = await join_workers(database, "one", "living", "dead", lock_folder=machine)
        (machine / "dead").touch()
        await run_rounds(1, one)
        assert one.taken_over == ["dead"]
        assert await worker_rows(database) == {"one": None, "living": None}
        await run_rounds(1, one)
        assert [path.name for path in machine.iterdir()] == ["living"]


async def test_live_worker_is_never_taken_over(database: InterruptibleDatabase) -> None:
    live_workers = await join_workers(database, "one", "other", "third")
    await run_rounds(MANY_ROUNDS, *live_workers)
    assert [one.taken_over for one in live_workers] == [[], [], []]
    for _ in range(MANY_ROUNDS):  # slow workers are alive too
        await run_rounds(MAX_MISSED_HEARTBEATS - 1, live_workers[0])
        await run_rounds(1, *live_workers[1:])
    assert [one.taken_over for one in live_workers] == [[], [], []]
    assert [one.fenced_count for one in live_workers] == [0, 0, 0]


async def test_worker_that_was_taken_over_is_fenced_on_next_heartbeat(
    database: InterruptibleDatabase,
) -> None:
    one, sleeper = await join_workers(database, "one", "sleeper")
    await run_rounds(MANY_ROUNDS, one)
    assert one.taken_over == ["sleeper"]
    await run_rounds(1, one, sleeper)
    assert (sleeper.fenced_count, one.fenced_count) == (1, 0)
    assert sleeper.taken_over == []


async def test_worker_with_takeover_in_progress_is_fenced(database: InterruptibleDatabase) -> None:
    one, sleeper = await join_workers(database, "one", "sleeper")
    async with database.write() as connection:
        await connection.execute(update(worker).where(worker.c.id == "sleeper").values(successor="one"))
    await run_rounds(1, sleeper)
    assert sleeper.fenced_count == 1
    await run_rounds(1, one)
    assert one.taken_over == ["sleeper"]


async def test_takeover_does_not_depend_on_system_clock(
    database: InterruptibleDatabase, monkeypatch: pytest.MonkeyPatch
) -> None:
    one, other = await join_workers(database, "one", "other")
    for jump in (3600.0, -3600.0, 1e6):
        with monkeypatch.context() as patch:
            patch.setattr("time.time", lambda: 1e9 + jump)  # noqa: B023 - over before the next jump
            await run_rounds(1, one, other)
    assert one.taken_over == other.taken_over == []


@pytest.mark.parametrize("what", ["everything", "writing"])
async def test_no_worker_is_taken_over_while_database_is_unavailable(
    database: InterruptibleDatabase, what: str
) -> None:
    live_workers = await join_workers(database, "one", "other", "third")
    await run_rounds(MAX_MISSED_HEARTBEATS, *live_workers)
    database.can_read, database.can_write = what == "writing", False
    await run_rounds(MANY_ROUNDS, *live_workers)
    database.can_read = database.can_write = True
    for one in live_workers:
        await run_rounds(1, one)
    await run_rounds(MANY_ROUNDS, *live_workers)
    assert [one.taken_over for one in live_workers] == [[], [], []]
    assert [one.fenced_count for one in live_workers] == [0, 0, 0]


async def test_worker_that_dies_during_takeover_is_replaced(database: InterruptibleDatabase) -> None:
    successor, other, _ = await join_workers(database, "successor", "other", "silent")
    begun = asyncio.Event()

    async def die() -> None:
        begun.set()
        await asyncio.sleep(3600)

    successor.before_takeover = die

    async def live() -> None:
        async with asyncio.TaskGroup() as group:
            while True:
                await successor.monitor._beat_once(group)
                await WorkerRegistry(database).send_heartbeat(other.id)

    dying = asyncio.create_task(live())
    await begun.wait()
    dying.cancel()
    await asyncio.gather(dying, return_exceptions=True)
    assert await worker_rows(database) == {"successor": None, "other": None, "silent": "successor"}
    await run_rounds(MANY_ROUNDS, other)
    assert other.taken_over == ["successor", "silent"]
    assert await worker_rows(database) == {"other": None}


async def test_slow_takeover_is_not_replaced_while_worker_lives(
    database: InterruptibleDatabase,
) -> None:
    successor, other, _ = await join_workers(database, "successor", "other", "silent")
    done = asyncio.Event()

    async def linger() -> None:
        await done.wait()

    successor.before_takeover = linger
    async with asyncio.TaskGroup() as group:
        for _ in range(MAX_MISSED_HEARTBEATS + 1):
            await successor.monitor._beat_once(group)
            await WorkerRegistry(database).send_heartbeat(other.id)
        for _ in range(MANY_ROUNDS):
            await successor.monitor._beat_once(group)
            await run_rounds(1, other)
        assert await worker_rows(database) == {"successor": None, "other": None, "silent": "successor"}
        done.set()
    assert successor.taken_over == ["silent"]
    assert other.taken_over == []
    assert successor.fenced_count == other.fenced_count == 0


async def test_takeover_is_retried_when_database_becomes_unavailable(
    database: InterruptibleDatabase,
) -> None:
    one, _ = await join_workers(database, "one", "silent")
    tries: list[int] = []

    async def fail_twice() -> None:
        tries.append(1)
        if len(tries) < 3:
            raise DatabaseUnavailable("The database is away.")

    one.before_takeover = fail_twice
    await run_rounds(MANY_ROUNDS, one)
    assert one.taken_over == ["silent"]
    assert len(tries) == 3
    assert await worker_rows(database) == {"one": None}


async def test_workers_that_took_over_each_other_are_both_taken_over(database: InterruptibleDatabase) -> None:
    third, *_ = await join_workers(database, "third", "one", "other")
    async with database.write() as connection:
        for id, successor in (("one", "other"), ("other", "one")):
            await connection.execute(update(worker).where(worker.c.id == id).values(successor=successor))
    await run_rounds(1, third)
    assert sorted(third.taken_over) == ["one", "other"]
    assert await worker_rows(database) == {"third": None}


async def test_worker_that_leaves_with_runs_is_taken_over_at_once(database: InterruptibleDatabase) -> None:
    one, leaver = await join_workers(database, "one", "leaver")
    await leaver.monitor.leave_cluster()
    await run_rounds(1, leaver)
    assert leaver.fenced_count == 0
    await run_rounds(1, one)
    assert one.taken_over == ["leaver"]
    assert await worker_rows(database) == {"one": None}


async def test_unregistered_worker_marked_as_left_is_taken_over_once(database: InterruptibleDatabase) -> None:
    one, other = await join_workers(database, "one", "other")
    for _ in range(2):
        await WorkerRegistry(database).register_as_left("stranger")
    await WorkerRegistry(database).register_as_left("one")  # a registered worker stays unchanged
    await run_rounds(MANY_ROUNDS, one, other)
    assert [*one.taken_over, *other.taken_over] == ["stranger"]
    assert await worker_rows(database) == {"one": None, "other": None}


async def test_run_added_during_takeover_is_found_or_rejected(database: InterruptibleDatabase) -> None:
    await create_accounts(database)
    table = await create_discussion(database)
    one, _ = await join_workers(database, "one", "silent")
    found = one.record_runs_of(database, "silent")
    added: list[str] = []

    async def add() -> None:
        while True:
            added.append((await create_run(database, table, worker_id="silent")).id)

    adding = asyncio.create_task(add())
    await wait_until(lambda: bool(added))
    async with asyncio.timeout(60):
        while not one.taken_over:  # its row is locked most of the time, and each round tries once
            await run_rounds(1, one)
    with pytest.raises(ShuttingDown):
        await adding
    assert one.taken_over == ["silent"]
    assert sorted(found) == sorted(added)
    assert added != []


async def test_takeover_waits_for_run_that_is_being_added(
    database: InterruptibleDatabase,
) -> None:
    await create_accounts(database)
    table = await create_discussion(database)
    one, _ = await join_workers(database, "one", "silent")
    found = one.record_runs_of(database, "silent")
    plan = RunPlan(mode="single", participants=table.participants)
    new = Run(id="run_1", discussion=table.id, message=None, mode="single", status="waiting", created_at=0.0)
    async with database.write() as connection:
        await add_run(connection, Payer(tenant=ANNA, account=ANNA), new, plan, "silent")
        await run_rounds(MANY_ROUNDS, one)
        assert one.taken_over == []
    await run_rounds(1, one)
    assert found == ["run_1"]
    assert one.taken_over == ["silent"]


async def test_run_heartbeats_takes_over_dead_and_leaving_workers(
    database: InterruptibleDatabase, tmp_path: Path
) -> None:
    machine = tmp_path / "workers"
    one, other, mortal = joined = await join_workers(
        database, "one", "other", "mortal", lock_folder=machine, lease_seconds=10.0
    )
    machine.mkdir()
    (machine / "mortal").touch()
    heartbeats = {one.id: asyncio.create_task(one.monitor.run_heartbeats()) for one in joined}
    heartbeats["mortal"].cancel()
    await wait_until(lambda: [*one.taken_over, *other.taken_over] == ["mortal"])
    await one.monitor.leave_cluster()
    await wait_until(lambda: "one" in other.taken_over)
    async with asyncio.timeout(60):
        await heartbeats["one"]
        while await worker_rows(database) != {"other": None}:
            await asyncio.sleep(0.01)
    heartbeats["other"].cancel()
    await asyncio.gather(*heartbeats.values(), return_exceptions=True)
    assert one.fenced_count == other.fenced_count == mortal.fenced_count == 0


async def test_heartbeats_continue_during_takeover(database: InterruptibleDatabase) -> None:
    successor, _ = await join_workers(database, "successor", "silent")
    done = asyncio.Event()
    beats: list[int] = []

    async def linger() -> None:
        while len(beats) < 3:
            async with database.read() as connection:
                found = await connection.execute(select(worker.c.heartbeats).where(worker.c.id == "successor"))
                beats.extend({found.scalar_one()} - set(beats))
            await asyncio.sleep(0.01)
        done.set()

    successor.before_takeover = linger
    heartbeats = asyncio.create_task(successor.monitor.run_heartbeats())
    async with asyncio.timeout(60):
        await done.wait()
    heartbeats.cancel()
    await asyncio.gather(heartbeats, return_exceptions=True)


async def test_heartbeats_continue_while_row_of_dead_worker_is_locked(
    database: InterruptibleDatabase,
) -> None:
    one, _ = await join_workers(database, "one", "silent")
    async with Database(database.url, connections=1) as apart:
        one.monitor._registry = WorkerRegistry(apart)
        async with database.write() as connection:
            await lock_worker(connection, "silent")
            await run_rounds(MANY_ROUNDS, one)
            assert (await WorkerRegistry(database).worker_states())["one"].heartbeats == MANY_ROUNDS
            assert one.taken_over == []
        await run_rounds(1, one)
    assert one.taken_over == ["silent"]


REGISTERED_WORKERS = {"one", "other"}


def test_dead_workers_are_those_with_unlocked_file(tmp_path: Path) -> None:
    lock_files = WorkerLockFiles(tmp_path / "workers")
    assert lock_files.dead_workers(REGISTERED_WORKERS) == set()
    with lock_files.lock_worker_file("one"):
        assert lock_files.dead_workers(REGISTERED_WORKERS) == set()
        (tmp_path / "workers" / "other").touch()
        assert lock_files.dead_workers(REGISTERED_WORKERS) == {"other"}
        assert lock_files.dead_workers(REGISTERED_WORKERS) == {"other"}  # until it is deregistered


def test_lock_worker_file_removes_file_on_exit(tmp_path: Path) -> None:
    with WorkerLockFiles(tmp_path).lock_worker_file("one"):
        pass
    assert not list(tmp_path.iterdir())


def test_dead_workers_removes_files_of_deregistered_workers(tmp_path: Path) -> None:
    (tmp_path / "third").touch()
    with WorkerLockFiles(tmp_path).lock_worker_file("one"):
        assert WorkerLockFiles(tmp_path).dead_workers(REGISTERED_WORKERS) == set()
        assert [path.name for path in tmp_path.iterdir()] == ["one"]


@pytest.mark.parametrize(("name", "value"), [("try_lock_file", lambda _: False), ("HAS_FILE_LOCKS", False)])
def test_lock_worker_file_creates_no_file_when_locking_is_unavailable(
    tmp_path: Path, name: str, value: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(worker_monitor, name, value)
    with WorkerLockFiles(tmp_path).lock_worker_file("one"):
        assert not list(tmp_path.iterdir())


def test_worker_lock_folder_differs_by_machine_and_database(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    on_this_machine = [
        worker_lock_folder(tmp_path, url) for url in ("postgresql://one:secret@db/moot", "postgresql://db/other")
    ]
    monkeypatch.setattr("platform.node", lambda: "elsewhere")
    folders = {*on_this_machine, worker_lock_folder(tmp_path, "postgresql://db/other")}
    assert len(folders) == 3
    assert not any("secret" in str(folder) for folder in folders)

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from sqlalchemy import select, update
from sqlalchemy.ext.asyncio import AsyncConnection

from moot.engine import workers
from moot.engine.workers import MAX_MISSED_HEARTBEATS, WorkerLockFiles, WorkerMonitor, worker_lock_folder
from moot.store.database import Database
from moot.store.runs.runs import Runs, add_run
from moot.store.runs.workers import WorkerRegistry, lock_worker
from moot.store.schema import worker
from moot.types.billing import Payer
from moot.types.discussions import Run
from moot.types.errors import DatabaseUnavailable, ShuttingDown
from moot.types.run_plan import RunPlan
from tests.databases import migrated
from tests.store.hearing import eventually
from tests.store.people import ANNA, discuss, settle
from tests.store.running import start

LEASE = 1.0
LONG = 5 * MAX_MISSED_HEARTBEATS  # rounds
ELSEWHERE = Path("/nowhere")  # where nobody left a file: each is on a machine of its own


class Away(Database):
    """A database that can be away, for all or only for those who write."""

    reads = writes = True

    @asynccontextmanager
    async def read(self) -> AsyncIterator[AsyncConnection]:
        if not self.reads:
            raise DatabaseUnavailable("The database is away.")
        async with super().read() as connection:
            yield connection

    @asynccontextmanager
    async def write(self) -> AsyncIterator[AsyncConnection]:
        if not self.writes:
            raise DatabaseUnavailable("The database is away.")
        async with super().write() as connection:
            yield connection


class Somebody:
    """A worker that notes whom it takes over from, and whether it was taken over itself."""

    def __init__(self, database: Database, id: str, presence: WorkerLockFiles, lease: float = LEASE) -> None:
        self.id = id
        self.took: list[str] = []
        self.fenced = 0
        self.first: Callable[[], Awaitable[None]] | None = None  # what happens before a take-over is through
        self.workers = WorkerMonitor(
            WorkerRegistry(database), presence, id, lease, self._take_over, self._end
        )

    def look_for_runs(self, database: Database, of: str) -> list[str]:
        """Note the runs that a worker had when it was taken over."""
        found: list[str] = []

        async def look() -> None:
            found.extend(run for run, _ in await Runs(database).list_worker_runs(of))

        self.first = look
        return found

    async def _take_over(self, other: str) -> None:
        if self.first is not None:
            await self.first()
        self.took.append(other)

    def _end(self) -> None:
        self.fenced += 1


@pytest.fixture
async def database(tmp_path: Path) -> AsyncIterator[Away]:
    async with migrated("postgres", tmp_path) as made, Away(made.url) as database:
        yield database


async def join(
    database: Database, *ids: str, machine: Path = ELSEWHERE, lease: float = LEASE
) -> list[Somebody]:
    joined = [Somebody(database, id, WorkerLockFiles(machine), lease) for id in ids]
    for one in joined:
        await one.workers.join_cluster()
    return joined


async def rounds(count: int, *living: Somebody) -> None:
    """Let everybody who lives beat and look, and take over to the end."""
    for _ in range(count):
        async with asyncio.TaskGroup() as group:
            await asyncio.gather(*(one.workers._beat_once(group) for one in living))


async def rows(database: Database) -> dict[str, str | None]:
    async with database.read() as connection:
        found = await connection.execute(select(worker.c.id, worker.c.reaper))
        return {row.id: row.reaper for row in found}


async def test_who_is_silent_is_taken_over_once(database: Away) -> None:
    one, other, _ = await join(database, "one", "other", "silent")
    await rounds(MAX_MISSED_HEARTBEATS, one, other)
    assert one.took == other.took == []
    await rounds(LONG, one, other)
    assert [*one.took, *other.took] == ["silent"]
    assert await rows(database) == {"one": None, "other": None}


async def test_who_died_on_this_machine_is_taken_over_at_the_first_look(
    database: Away, tmp_path: Path
) -> None:
    machine = tmp_path / "workers"
    with WorkerLockFiles(machine).lock_worker_file("living"):
        (one, *_) = await join(database, "one", "living", "dead", machine=machine)
        (machine / "dead").touch()
        await rounds(1, one)
        assert one.took == ["dead"]
        assert await rows(database) == {"one": None, "living": None}
        await rounds(1, one)
        assert [path.name for path in machine.iterdir()] == ["living"]


async def test_who_lives_is_never_taken_over(database: Away) -> None:
    living = await join(database, "one", "other", "third")
    await rounds(LONG, *living)
    assert [one.took for one in living] == [[], [], []]
    for _ in range(LONG):  # those who are slow live too
        await rounds(MAX_MISSED_HEARTBEATS - 1, living[0])
        await rounds(1, *living[1:])
    assert [one.took for one in living] == [[], [], []]
    assert [one.fenced for one in living] == [0, 0, 0]


async def test_27_who_wakes_up_and_was_taken_over_must_end(database: Away) -> None:
    one, sleeper = await join(database, "one", "sleeper")
    await rounds(LONG, one)
    assert one.took == ["sleeper"]
    await rounds(1, one, sleeper)
    assert (sleeper.fenced, one.fenced) == (1, 0)
    assert sleeper.took == []


async def test_27_who_is_being_taken_over_must_end_too(database: Away) -> None:
    one, sleeper = await join(database, "one", "sleeper")
    async with database.write() as connection:
        await connection.execute(update(worker).where(worker.c.id == "sleeper").values(reaper="one"))
    await rounds(1, sleeper)
    assert sleeper.fenced == 1
    await rounds(1, one)
    assert one.took == ["sleeper"]


async def test_33_no_clock_is_asked(database: Away, monkeypatch: pytest.MonkeyPatch) -> None:
    one, other = await join(database, "one", "other")
    for jump in (3600.0, -3600.0, 1e6):
        with monkeypatch.context() as patch:
            patch.setattr("time.time", lambda: 1e9 + jump)  # noqa: B023 - over before the next jump
            await rounds(1, one, other)
    assert one.took == other.took == []


@pytest.mark.parametrize("what", ["everything", "writing"])
async def test_29_nobody_dies_while_the_database_is_away(database: Away, what: str) -> None:
    living = await join(database, "one", "other", "third")
    await rounds(MAX_MISSED_HEARTBEATS, *living)
    database.reads, database.writes = what == "writing", False
    await rounds(LONG, *living)
    database.reads = database.writes = True
    for one in living:
        await rounds(1, one)
    await rounds(LONG, *living)
    assert [one.took for one in living] == [[], [], []]
    assert [one.fenced for one in living] == [0, 0, 0]


async def test_a_reaper_that_dies_half_way_is_replaced(database: Away) -> None:
    reaper, other, _ = await join(database, "reaper", "other", "silent")
    begun = asyncio.Event()

    async def die() -> None:
        begun.set()
        await asyncio.sleep(3600)

    reaper.first = die

    async def live() -> None:
        async with asyncio.TaskGroup() as group:
            while True:
                await reaper.workers._beat_once(group)
                await WorkerRegistry(database).send_heartbeat(other.id)

    dying = asyncio.create_task(live())
    await begun.wait()
    dying.cancel()
    await asyncio.gather(dying, return_exceptions=True)
    assert await rows(database) == {"reaper": None, "other": None, "silent": "reaper"}
    await rounds(LONG, other)
    assert other.took == ["reaper", "silent"]
    assert await rows(database) == {"other": None}


async def test_a_reaper_that_lives_is_left_to_it_however_long_it_takes(database: Away) -> None:
    reaper, other, _ = await join(database, "reaper", "other", "silent")
    done = asyncio.Event()

    async def linger() -> None:
        await done.wait()

    reaper.first = linger
    async with asyncio.TaskGroup() as group:
        for _ in range(MAX_MISSED_HEARTBEATS + 1):
            await reaper.workers._beat_once(group)
            await WorkerRegistry(database).send_heartbeat(other.id)
        for _ in range(LONG):
            await reaper.workers._beat_once(group)
            await rounds(1, other)
        assert await rows(database) == {"reaper": None, "other": None, "silent": "reaper"}
        done.set()
    assert reaper.took == ["silent"]
    assert other.took == []
    assert reaper.fenced == other.fenced == 0


async def test_a_take_over_that_the_database_cuts_short_is_taken_up_again(database: Away) -> None:
    one, _ = await join(database, "one", "silent")
    tries: list[int] = []

    async def fail_twice() -> None:
        tries.append(1)
        if len(tries) < 3:
            raise DatabaseUnavailable("The database is away.")

    one.first = fail_twice
    await rounds(LONG, one)
    assert one.took == ["silent"]
    assert len(tries) == 3
    assert await rows(database) == {"one": None}


async def test_two_who_took_each_other_for_dead_are_both_taken_over(database: Away) -> None:
    third, *_ = await join(database, "third", "one", "other")
    async with database.write() as connection:
        for id, reaper in (("one", "other"), ("other", "one")):
            await connection.execute(update(worker).where(worker.c.id == id).values(reaper=reaper))
    await rounds(1, third)
    assert sorted(third.took) == ["one", "other"]
    assert await rows(database) == {"third": None}


async def test_26_who_leaves_with_runs_is_taken_over_at_once(database: Away) -> None:
    one, leaver = await join(database, "one", "leaver")
    await leaver.workers.leave_cluster()
    await rounds(1, leaver)
    assert leaver.fenced == 0
    await rounds(1, one)
    assert one.took == ["leaver"]
    assert await rows(database) == {"one": None}


async def test_a_stranger_that_was_noted_is_taken_over_once(database: Away) -> None:
    one, other = await join(database, "one", "other")
    for _ in range(2):
        await WorkerRegistry(database).register_as_left("stranger")
    await WorkerRegistry(database).register_as_left("one")  # who is on the roll stays as it is
    await rounds(LONG, one, other)
    assert [*one.took, *other.took] == ["stranger"]
    assert await rows(database) == {"one": None, "other": None}


async def test_27_a_run_that_comes_in_meanwhile_is_found_or_refused(database: Away) -> None:
    await settle(database)
    table = await discuss(database)
    one, _ = await join(database, "one", "silent")
    found = one.look_for_runs(database, "silent")
    added: list[str] = []

    async def add() -> None:
        while True:
            added.append((await start(database, table, of="silent")).id)

    adding = asyncio.create_task(add())
    await eventually(lambda: bool(added))
    async with asyncio.timeout(60):
        while not one.took:  # its line is held most of the time, and each round tries once
            await rounds(1, one)
    with pytest.raises(ShuttingDown):
        await adding
    assert one.took == ["silent"]
    assert sorted(found) == sorted(added)
    assert added != []


async def test_27_who_takes_over_waits_for_a_run_that_is_just_coming_in(database: Away) -> None:
    await settle(database)
    table = await discuss(database)
    one, _ = await join(database, "one", "silent")
    found = one.look_for_runs(database, "silent")
    plan = RunPlan(mode="single", participants=table.participants)
    new = Run(id="run_1", discussion=table.id, message=None, mode="single", status="waiting", created_at=0.0)
    async with database.write() as connection:
        await add_run(connection, Payer(tenant=ANNA, account=ANNA), new, plan, "silent")
        await rounds(LONG, one)
        assert one.took == []
    await rounds(1, one)
    assert found == ["run_1"]
    assert one.took == ["silent"]


async def test_workers_that_run_by_themselves(database: Away, tmp_path: Path) -> None:
    machine = tmp_path / "workers"
    one, other, mortal = joined = await join(database, "one", "other", "mortal", machine=machine, lease=10.0)
    machine.mkdir()
    (machine / "mortal").touch()
    beating = {one.id: asyncio.create_task(one.workers.run_heartbeats()) for one in joined}
    beating["mortal"].cancel()
    await eventually(lambda: [*one.took, *other.took] == ["mortal"])
    await one.workers.leave_cluster()
    await eventually(lambda: "one" in other.took)
    async with asyncio.timeout(60):
        await beating["one"]
        while await rows(database) != {"other": None}:
            await asyncio.sleep(0.01)
    beating["other"].cancel()
    await asyncio.gather(*beating.values(), return_exceptions=True)
    assert one.fenced == other.fenced == mortal.fenced == 0


async def test_beats_go_on_while_somebody_is_taken_over(database: Away) -> None:
    reaper, _ = await join(database, "reaper", "silent")
    done = asyncio.Event()
    beats: list[int] = []

    async def linger() -> None:
        while len(beats) < 3:
            async with database.read() as connection:
                found = await connection.execute(select(worker.c.beats).where(worker.c.id == "reaper"))
                beats.extend({found.scalar_one()} - set(beats))
            await asyncio.sleep(0.01)
        done.set()

    reaper.first = linger
    beating = asyncio.create_task(reaper.workers.run_heartbeats())
    async with asyncio.timeout(60):
        await done.wait()
    beating.cancel()
    await asyncio.gather(beating, return_exceptions=True)


async def test_beats_go_on_while_the_line_of_a_dead_worker_is_held(database: Away) -> None:
    one, _ = await join(database, "one", "silent")
    async with Database(database.url, connections=1) as apart:
        one.workers._registry = WorkerRegistry(apart)
        async with database.write() as connection:
            await lock_worker(connection, "silent")
            await rounds(LONG, one)
            assert (await WorkerRegistry(database).worker_states())["one"].heartbeats == LONG
            assert one.took == []
        await rounds(1, one)
    assert one.took == ["silent"]


ROLL = {"one", "other"}


def test_only_who_left_a_file_and_does_not_hold_it_is_dead(tmp_path: Path) -> None:
    here = WorkerLockFiles(tmp_path / "workers")
    assert here.dead_workers(ROLL) == set()
    with here.lock_worker_file("one"):
        assert here.dead_workers(ROLL) == set()
        (tmp_path / "workers" / "other").touch()
        assert here.dead_workers(ROLL) == {"other"}
        assert here.dead_workers(ROLL) == {"other"}  # until it is struck off


def test_whoever_is_done_leaves_nothing(tmp_path: Path) -> None:
    with WorkerLockFiles(tmp_path).lock_worker_file("one"):
        pass
    assert not list(tmp_path.iterdir())


def test_what_somebody_left_who_was_struck_off_is_cleared_away(tmp_path: Path) -> None:
    (tmp_path / "third").touch()
    with WorkerLockFiles(tmp_path).lock_worker_file("one"):
        assert WorkerLockFiles(tmp_path).dead_workers(ROLL) == set()
        assert [path.name for path in tmp_path.iterdir()] == ["one"]


@pytest.mark.parametrize(("name", "value"), [("try_lock_file", lambda _: False), ("HAS_FILE_LOCKS", False)])
def test_whoever_cannot_hold_its_file_has_none(
    tmp_path: Path, name: str, value: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(workers, name, value)
    with WorkerLockFiles(tmp_path).lock_worker_file("one"):
        assert not list(tmp_path.iterdir())


def test_another_machine_and_another_database_have_a_folder_of_their_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    here = [
        worker_lock_folder(tmp_path, url)
        for url in ("postgresql://one:secret@db/moot", "postgresql://db/other")
    ]
    monkeypatch.setattr("platform.node", lambda: "elsewhere")
    folders = {*here, worker_lock_folder(tmp_path, "postgresql://db/other")}
    assert len(folders) == 3
    assert not any("secret" in str(folder) for folder in folders)

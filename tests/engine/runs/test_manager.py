import asyncio
import sqlite3
from collections.abc import Callable, Coroutine
from contextlib import closing
from typing import Any
from urllib.parse import urlsplit

import asyncpg
import pytest
from sqlalchemy import text, update

from moot.engine.runs import dbos, manager
from moot.store.database import Database
from moot.store.runs.runs import Runs
from moot.store.schema.runs import worker
from moot.types.events import TextDelta
from tests.support.databases import DATABASE_KINDS
from tests.support.postgres import postgres_server_url
from tests.support.run_harness import RunHarness
from tests.support.runs import OTHER_WORKER, WORKER
from tests.support.waiting import WAIT_TIMEOUT_SECONDS, wait_until

pytestmark = [
    pytest.mark.asyncio(loop_scope="module"),
    pytest.mark.parametrize("run_harness", DATABASE_KINDS, indirect=True),
]


async def test_started_run_completes_and_calls_on_run_ended(run_harness: RunHarness) -> None:
    run = await run_harness.create_run()
    run_harness.run_manager.start_run(run.id)
    assert await run_harness.wait_for_end(run) == "completed"
    assert await run_harness.read_answers(run) == [("completed", "Why?")]
    kinds = [event.__struct_config__.tag for event in await run_harness.read_events(run)]
    assert kinds == ["run_started", "turn_started", "text_delta", "turn_ended", "run_ended"]
    await wait_until(lambda: any(claim.run == run.id for claim, _ in run_harness.ended_runs))
    (turns,) = [turns for claim, turns in run_harness.ended_runs if claim.run == run.id]
    assert [turn.content for turn in turns] == ["Why?"]


async def test_run_started_twice_executes_once(run_harness: RunHarness) -> None:
    before = len(run_harness.provider.requests)
    run = await run_harness.create_run()
    run_harness.run_manager.start_run(run.id)
    run_harness.run_manager.start_run(run.id)
    assert await run_harness.wait_for_end(run) == "completed"
    run_harness.run_manager.start_run(run.id)
    await wait_until(lambda: not run_harness.run_manager.executions)
    assert len(run_harness.provider.requests) == before + 1


async def execute_on_dbos(database: Database, statement: str) -> None:
    """Execute a statement on the tables of DBOS."""
    if database.is_postgres:
        async with database.write() as connection:
            await connection.execute(text("SET LOCAL search_path TO dbos"))
            await connection.execute(text(statement))
        return
    with closing(sqlite3.connect(dbos.dbos_file_path(database), timeout=30)) as file, file:
        file.execute(statement)


async def test_run_completes_when_step_cannot_be_recorded(run_harness: RunHarness) -> None:
    run = await run_harness.create_run()
    await execute_on_dbos(run_harness.database, "ALTER TABLE operation_outputs RENAME TO elsewhere")
    try:
        run_harness.run_manager.start_run(run.id)
        assert await run_harness.wait_for_end(run) == "completed"
    finally:
        await execute_on_dbos(run_harness.database, "ALTER TABLE elsewhere RENAME TO operation_outputs")
    assert await run_harness.read_answers(run) == [("completed", "Why?")]


async def test_run_starts_as_soon_as_workflow_can_be_recorded(run_harness: RunHarness) -> None:
    await wait_until(lambda: not run_harness.run_manager.executions)
    run = await run_harness.create_run()
    await execute_on_dbos(run_harness.database, "ALTER TABLE workflow_status RENAME TO elsewhere")
    try:
        run_harness.run_manager.start_run(run.id)
        await asyncio.sleep(0.1)
        assert await run_harness.read_events(run) == []
    finally:
        await execute_on_dbos(run_harness.database, "ALTER TABLE elsewhere RENAME TO workflow_status")
    assert await run_harness.wait_for_end(run) == "completed"


async def test_take_over_starts_unstarted_runs_of_dead_worker(run_harness: RunHarness) -> None:
    run = await run_harness.create_run(worker=OTHER_WORKER)
    await run_harness.run_manager.take_over(OTHER_WORKER)
    assert await run_harness.wait_for_end(run) == "completed"


async def wait_until_recorded(run_harness: RunHarness, run: str) -> None:
    """Wait until DBOS has recorded the end of a run, which happens shortly after Moot's own record."""
    status = text("SELECT status FROM dbos.workflow_status WHERE workflow_uuid = :run")
    async with asyncio.timeout(60):
        while True:
            async with run_harness.database.read() as connection:
                if (await connection.execute(status, {"run": run})).scalar() == "SUCCESS":
                    return
            await asyncio.sleep(0.01)


async def test_poll_unregistered_workers_takes_over_orphaned_run(run_harness: RunHarness) -> None:
    """A worker that was taken over claims a run again and dies when it is no longer registered."""
    require_postgres(run_harness)
    run = await run_harness.create_run()
    run_harness.run_manager.start_run(run.id)
    await run_harness.wait_for_end(run)
    await wait_until_recorded(run_harness, run.id)
    async with run_harness.database.write() as connection:
        this = {"run": run.id}
        await connection.execute(text("UPDATE run SET status = 'running' WHERE id = :run"), this)
        await connection.execute(text("DELETE FROM run_event WHERE run = :run"), this)
        await connection.execute(text("DELETE FROM message WHERE run = :run AND role = 'assistant'"), this)
        await connection.execute(text("DELETE FROM dbos.operation_outputs WHERE workflow_uuid = :run"), this)
        await connection.execute(text(ABANDON_WORKFLOW), this)
    polling = asyncio.create_task(
        run_harness.run_manager.poll_unregistered_workers(0.05, run_harness.run_manager.take_over)
    )
    assert await run_harness.wait_for_end(run) == "completed"
    polling.cancel()


async def test_poll_unstarted_runs_finds_stored_run(run_harness: RunHarness) -> None:
    run = await run_harness.create_run()
    polling = asyncio.create_task(run_harness.run_manager.poll_unstarted_runs(0.05))
    assert await run_harness.wait_for_end(run) == "completed"
    polling.cancel()


async def test_run_does_not_start_after_stop_accepting_runs(
    run_harness: RunHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    waits, goes_on = asyncio.Event(), asyncio.Event()

    async def for_the_end() -> None:
        """Wait for the end of the test instead of the end of the process."""
        waits.set()
        await goes_on.wait()

    monkeypatch.setattr(manager, "wait_forever", for_the_end)
    monkeypatch.setattr(
        run_harness.run_manager, "_is_draining", run_harness.run_manager._is_draining
    )  # so that monkeypatch restores it
    await wait_until(lambda: not run_harness.run_manager.executions)
    before = await run_harness.create_run("scripted/forever")
    run_harness.run_manager.start_run(before.id)
    await run_harness.wait_for_event(before, TextDelta)
    run_harness.run_manager.stop_accepting_runs()
    after = await run_harness.create_run()
    run_harness.run_manager.start_run(after.id)
    try:
        await wait_until(lambda: waits.is_set() or after.id in run_harness.run_manager.executions)
        assert waits.is_set()
        assert run_harness.run_manager.executions.keys() == {before.id}, "what had begun goes on"
        assert await run_harness.read_events(after) == []
    finally:
        goes_on.set()
    assert await run_harness.stop_run(before) == "stopped"
    assert await run_harness.wait_for_end(after) == "completed"


async def test_run_continues_when_postgres_drops_all_connections(run_harness: RunHarness) -> None:
    require_postgres(run_harness)
    run = await run_harness.create_run("scripted/forever")
    run_harness.run_manager.start_run(run.id)
    await run_harness.wait_for_event(run, TextDelta)
    await drop_connections(run_harness.database)
    written = len(await run_harness.read_events(run))
    async with asyncio.timeout(WAIT_TIMEOUT_SECONDS):
        while len(await run_harness.read_events(run)) == written:
            await asyncio.sleep(0.01)
    assert await run_harness.stop_run(run) == "stopped"
    seen = "".join(event.text for event in await run_harness.read_events(run) if isinstance(event, TextDelta))
    assert await run_harness.read_answers(run) == [("stopped", seen)]


async def test_worker_that_was_taken_over_does_not_finish_workflow(
    run_harness: RunHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Must be the last test of this file, because it ends the worker that all tests share."""
    require_postgres(run_harness)
    run = await run_harness.create_run()
    async with run_harness.database.write() as connection:
        await connection.execute(update(worker).where(worker.c.id == WORKER).values(successor=OTHER_WORKER))
    claims = spy_on(monkeypatch, Runs, "acquire_lease")
    run_harness.run_manager.start_run(run.id)
    await wait_until(lambda: bool(claims))
    await asyncio.sleep(0.2)
    noted = text("SELECT status FROM dbos.workflow_status WHERE workflow_uuid = :run")
    async with run_harness.database.read() as connection:
        assert (await connection.execute(noted, {"run": run.id})).scalar_one() == "PENDING"


async def drop_connections(database: Database) -> None:
    """End all connections to a Postgres database, as a restart does."""
    admin: Any = await asyncpg.connect(postgres_server_url())
    name = urlsplit(database.url).path.removeprefix("/")
    ended = await admin.fetch("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = $1", name)
    assert len(ended) > 1
    await admin.close()


def require_postgres(run_harness: RunHarness) -> None:
    if not run_harness.database.is_postgres:
        pytest.skip("a file has one worker")


def spy_on(monkeypatch: pytest.MonkeyPatch, owner: type, name: str) -> list[object]:
    """Record the calls of a method."""
    calls: list[object] = []
    method: Callable[..., Coroutine[None, None, object]] = getattr(owner, name)

    async def spy(*arguments: object) -> object:
        calls.append(arguments)
        return await method(*arguments)

    monkeypatch.setattr(owner, name, spy)
    return calls


ABANDON_WORKFLOW = "UPDATE dbos.workflow_status SET status = 'PENDING', executor_id = 'gone' WHERE workflow_uuid = :run"

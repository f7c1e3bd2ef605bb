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
from moot.store.schema import worker
from moot.types.events import TextDelta
from tests.databases import KINDS
from tests.engine.works import Works
from tests.postgres import server
from tests.store.hearing import SECONDS, eventually
from tests.store.running import OTHER, WORKER

pytestmark = [
    pytest.mark.asyncio(loop_scope="module"),
    pytest.mark.parametrize("works", KINDS, indirect=True),
]


async def test_a_run_is_executed_to_its_end_and_told_of(works: Works) -> None:
    run = await works.new()
    works.runs.start_run(run.id)
    assert await works.over(run) == "completed"
    assert await works.answers(run) == [("completed", "Why?")]
    kinds = [event.__struct_config__.tag for event in await works.events(run)]
    assert kinds == ["run_started", "turn_started", "text_delta", "turn_ended", "run_ended"]
    await eventually(lambda: any(claim.run == run.id for claim, _ in works.ended))
    (turns,) = [turns for claim, turns in works.ended if claim.run == run.id]
    assert [turn.content for turn in turns] == ["Why?"]


async def test_started_twice_it_runs_once(works: Works) -> None:
    before = len(works.provider.asked)
    run = await works.new()
    works.runs.start_run(run.id)
    works.runs.start_run(run.id)
    assert await works.over(run) == "completed"
    works.runs.start_run(run.id)
    await eventually(lambda: not works.runs.executions)
    assert len(works.provider.asked) == before + 1


async def on_books(database: Database, statement: str) -> None:
    """Do something to the books of DBOS behind its back."""
    if database.is_postgres:
        async with database.write() as connection:
            await connection.execute(text("SET LOCAL search_path TO dbos"))
            await connection.execute(text(statement))
        return
    with closing(sqlite3.connect(dbos.dbos_file_path(database), timeout=30)) as file, file:
        file.execute(statement)


async def test_a_step_that_cannot_be_noted_is_done_all_the_same(works: Works) -> None:
    run = await works.new()
    await on_books(works.database, "ALTER TABLE operation_outputs RENAME TO elsewhere")
    try:
        works.runs.start_run(run.id)
        assert await works.over(run) == "completed"
    finally:
        await on_books(works.database, "ALTER TABLE elsewhere RENAME TO operation_outputs")
    assert await works.answers(run) == [("completed", "Why?")]


async def test_a_run_begins_as_soon_as_it_can_be_noted(works: Works) -> None:
    await eventually(lambda: not works.runs.executions)
    run = await works.new()
    await on_books(works.database, "ALTER TABLE workflow_status RENAME TO elsewhere")
    try:
        works.runs.start_run(run.id)
        await asyncio.sleep(0.1)
        assert await works.events(run) == []
    finally:
        await on_books(works.database, "ALTER TABLE elsewhere RENAME TO workflow_status")
    assert await works.over(run) == "completed"


async def test_what_a_dead_worker_had_not_begun_is_begun(works: Works) -> None:
    run = await works.new(of=OTHER)
    await works.runs.take_over(OTHER)
    assert await works.over(run) == "completed"


async def noted_as_done(works: Works, run: str) -> None:
    """Wait until DBOS has written that a run is over: it does so a moment after we did."""
    status = text("SELECT status FROM dbos.workflow_status WHERE workflow_uuid = :run")
    async with asyncio.timeout(60):
        while True:
            async with works.database.read() as connection:
                if (await connection.execute(status, {"run": run})).scalar() == "SUCCESS":
                    return
            await asyncio.sleep(0.01)


async def test_what_nobody_has_is_adopted(works: Works) -> None:
    """A worker that was taken over takes a run up once more, and dies when all have forgotten it."""
    only_postgres(works)
    run = await works.new()
    works.runs.start_run(run.id)
    await works.over(run)
    await noted_as_done(works, run.id)
    async with works.database.write() as connection:
        this = {"run": run.id}
        await connection.execute(text("UPDATE run SET status = 'running' WHERE id = :run"), this)
        await connection.execute(text("DELETE FROM run_event WHERE run = :run"), this)
        await connection.execute(text("DELETE FROM message WHERE run = :run AND role = 'assistant'"), this)
        await connection.execute(text("DELETE FROM dbos.operation_outputs WHERE workflow_uuid = :run"), this)
        await connection.execute(text(GONE), this)
    looking = asyncio.create_task(works.runs.poll_unregistered_workers(0.05, works.runs.take_over))
    assert await works.over(run) == "completed"
    looking.cancel()


async def test_a_run_of_ours_that_was_stored_and_never_started_is_found(works: Works) -> None:
    run = await works.new()
    looking = asyncio.create_task(works.runs.poll_unstarted_runs(0.05))
    assert await works.over(run) == "completed"
    looking.cancel()


async def test_run_does_not_begin_after_begin_no_more(works: Works, monkeypatch: pytest.MonkeyPatch) -> None:
    waits, goes_on = asyncio.Event(), asyncio.Event()

    async def for_the_end() -> None:
        """Wait for the end of the test instead of that of the process."""
        waits.set()
        await goes_on.wait()

    monkeypatch.setattr(manager, "wait_forever", for_the_end)
    monkeypatch.setattr(works.runs, "_is_draining", works.runs._is_draining)  # so that it is put back
    await eventually(lambda: not works.runs.executions)
    before = await works.new("scripted/forever")
    works.runs.start_run(before.id)
    await works.until(before, TextDelta)
    works.runs.stop_accepting_runs()
    after = await works.new()
    works.runs.start_run(after.id)
    try:
        await eventually(lambda: waits.is_set() or after.id in works.runs.executions)
        assert waits.is_set()
        assert works.runs.executions.keys() == {before.id}, "what had begun goes on"
        assert await works.events(after) == []
    finally:
        goes_on.set()
    assert await works.stop(before) == "stopped"
    assert await works.over(after) == "completed"


async def test_a_run_goes_on_when_postgres_ends_all_connections(works: Works) -> None:
    only_postgres(works)
    run = await works.new("scripted/forever")
    works.runs.start_run(run.id)
    await works.until(run, TextDelta)
    await cut_off(works.database)
    written = len(await works.events(run))
    async with asyncio.timeout(SECONDS):
        while len(await works.events(run)) == written:
            await asyncio.sleep(0.01)
    assert await works.stop(run) == "stopped"
    seen = "".join(event.text for event in await works.events(run) if isinstance(event, TextDelta))
    assert await works.answers(run) == [("stopped", seen)]


async def test_a_worker_that_was_taken_over_does_not_say_that_its_run_is_over(
    works: Works, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The last test of this file: after it, the worker of all tests is no more."""
    only_postgres(works)
    run = await works.new()
    async with works.database.write() as connection:
        await connection.execute(update(worker).where(worker.c.id == WORKER).values(reaper=OTHER))
    claims = spied(monkeypatch, Runs, "acquire_lease")
    works.runs.start_run(run.id)
    await eventually(lambda: bool(claims))
    await asyncio.sleep(0.2)
    noted = text("SELECT status FROM dbos.workflow_status WHERE workflow_uuid = :run")
    async with works.database.read() as connection:
        assert (await connection.execute(noted, {"run": run.id})).scalar_one() == "PENDING"


async def cut_off(database: Database) -> None:
    """End all connections to a database of Postgres, as its restart does."""
    admin: Any = await asyncpg.connect(server())
    name = urlsplit(database.url).path.removeprefix("/")
    ended = await admin.fetch(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = $1", name
    )
    assert len(ended) > 1
    await admin.close()


def only_postgres(works: Works) -> None:
    if not works.database.is_postgres:
        pytest.skip("a file has one worker")


def spied(monkeypatch: pytest.MonkeyPatch, owner: type, name: str) -> list[object]:
    """Note the calls of a method."""
    calls: list[object] = []
    method: Callable[..., Coroutine[None, None, object]] = getattr(owner, name)

    async def spy(*arguments: object) -> object:
        calls.append(arguments)
        return await method(*arguments)

    monkeypatch.setattr(owner, name, spy)
    return calls


GONE = "UPDATE dbos.workflow_status SET status = 'PENDING', executor_id = 'gone' WHERE workflow_uuid = :run"

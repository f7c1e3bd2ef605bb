import asyncio
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import dbos
import pytest
import sqlalchemy
from sqlalchemy import delete, text

from moot.engine.runs import dbos as moot_dbos
from moot.engine.runs.dbos import DbosBackend
from moot.store.database import Database
from moot.store.schema.runs import worker
from moot.types.errors import DatabaseUnavailable
from tests.support.databases import open_migrated_database
from tests.support.runs import OTHER_WORKER, WORKER, prepare_leased_run

INSERT_WORKFLOW = "INSERT INTO dbos.workflow_status (workflow_uuid, status, executor_id) VALUES (:id, :status, :worker)"


@pytest.fixture
async def sqlite_database(tmp_path: Path) -> Database:
    return Database(f"sqlite:///{tmp_path / 'moot.db'}")


def table_names(path: Path) -> set[str]:
    with closing(sqlite3.connect(path)) as connection:
        return {name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}


async def test_prepare_dbos_database_creates_file_beside_database_in_wal_mode(
    sqlite_database: Database,
) -> None:
    await moot_dbos.prepare_dbos_database(dbos, sqlite_database)
    assert moot_dbos.dbos_file_path(sqlite_database).name == "moot.runs.db"
    assert {"workflow_status", "operation_outputs"} <= table_names(moot_dbos.dbos_file_path(sqlite_database))
    with closing(sqlite3.connect(moot_dbos.dbos_file_path(sqlite_database))) as connection:
        assert connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)


async def test_prepare_dbos_database_keeps_existing_file(sqlite_database: Database) -> None:
    await moot_dbos.prepare_dbos_database(dbos, sqlite_database)
    with closing(sqlite3.connect(moot_dbos.dbos_file_path(sqlite_database))) as connection, connection:
        connection.execute("CREATE TABLE ours (id)")
    await moot_dbos.prepare_dbos_database(dbos, sqlite_database)
    assert "ours" in table_names(moot_dbos.dbos_file_path(sqlite_database))


async def test_prepare_dbos_database_recreates_file_with_interrupted_migration(
    sqlite_database: Database, caplog: pytest.LogCaptureFixture
) -> None:
    with closing(sqlite3.connect(moot_dbos.dbos_file_path(sqlite_database))) as connection:
        connection.execute("CREATE TABLE dbos_migrations (version INTEGER NOT NULL PRIMARY KEY)")
        connection.execute("CREATE TABLE workflow_status (workflow_uuid TEXT PRIMARY KEY)")
    await moot_dbos.prepare_dbos_database(dbos, sqlite_database)
    assert "operation_outputs" in table_names(moot_dbos.dbos_file_path(sqlite_database))
    assert "recreating it" in caplog.text


async def test_run_step_returns_result_of_its_body(sqlite_database: Database) -> None:
    executed: asyncio.Queue[tuple[str, int, str]] = asyncio.Queue()

    async def part() -> str:
        return "done"

    async def execute(run: str, revision: int) -> None:
        await executed.put((run, revision, await opened.run_step("part", part)))

    opened = await moot_dbos.launch_dbos(sqlite_database, WORKER, execute)
    try:
        await opened.start_workflow("run_1", 2)
        assert await asyncio.wait_for(executed.get(), 60) == ("run_1", 2, "done")
    finally:
        await opened.close()


async def test_prepare_dbos_database_replaces_file_that_is_not_a_database(sqlite_database: Database) -> None:
    moot_dbos.dbos_file_path(sqlite_database).write_bytes(b"not a database, but long enough to be taken for one" * 20)
    await moot_dbos.prepare_dbos_database(dbos, sqlite_database)
    assert "operation_outputs" in table_names(moot_dbos.dbos_file_path(sqlite_database))


async def test_prepare_dbos_database_retries_until_postgres_is_reachable(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(moot_dbos, "RETRY_SECONDS", 0.0)
    asked: list[str] = []

    def migrate(url: str) -> None:
        asked.append(url)
        if len(asked) < 3:
            raise sqlalchemy.exc.OperationalError("SELECT 1", {}, OSError("nobody is there"))

    monkeypatch.setattr(dbos.DBOS, "migrate", migrate)
    await moot_dbos.prepare_dbos_database(dbos, Database("postgresql://nobody@127.0.0.1:1/moot"))
    assert len(asked) == 3
    assert "nobody is there" in str([record.__dict__["reason"] for record in caplog.records])


class FakeDbos:
    """The part of DBOS that a takeover uses. `remaining` are the workflows that it did not recover."""

    def __init__(self, *remaining: str, unavailable: bool = False) -> None:
        self.DBOS = self
        self.recovered_workers: list[str] = []
        self._remaining = remaining
        self._is_unavailable = unavailable

    def _recover_pending_workflows(self, workers: list[str]) -> None:
        if self._is_unavailable:
            raise sqlalchemy.exc.OperationalError("SELECT 1", {}, OSError("nobody is there"))
        self.recovered_workers += workers

    def list_workflows(self, **_: Any) -> tuple[str, ...]:
        return self._remaining


async def test_recover_worker_raises_until_all_workflows_are_recovered() -> None:
    await DbosBackend(done := FakeDbos(), ignore_run).recover_worker(WORKER)
    assert done.recovered_workers == [WORKER]
    with pytest.raises(DatabaseUnavailable, match="not recovered yet"):
        await DbosBackend(FakeDbos("run_1"), ignore_run).recover_worker(WORKER)
    with pytest.raises(DatabaseUnavailable, match="cannot be read"):
        await DbosBackend(FakeDbos(unavailable=True), ignore_run).recover_worker(WORKER)


async def ignore_run(_run: str, _revision: int) -> None:
    """Execute nothing."""


async def test_unregistered_workers_are_executors_with_pending_runs(tmp_path: Path) -> None:
    async with open_migrated_database("postgres", tmp_path) as database:
        await moot_dbos.prepare_dbos_database(dbos, database)
        await prepare_leased_run(database)
        rows = [("1", "PENDING", WORKER), ("2", "PENDING", "gone"), ("3", "SUCCESS", "long gone")]
        async with database.write() as connection:
            for id, status, name in rows:
                await connection.execute(text(INSERT_WORKFLOW), {"id": id, "status": status, "worker": name})
        assert await moot_dbos.unregistered_workers(database) == ["gone"]
        async with database.write() as connection:
            await connection.execute(delete(worker).where(worker.c.id == WORKER))
        assert sorted(await moot_dbos.unregistered_workers(database)) == ["gone", WORKER]
        assert OTHER_WORKER not in await moot_dbos.unregistered_workers(database)

"""DBOS backend: a run is a DBOS workflow, its turns are steps.

On Postgres, DBOS has its own schema in Moot's database; on SQLite, its own file in the same folder. DBOS is not the
source of truth: run status and finished turns are also in Moot's tables.
"""

import asyncio
import logging
import sqlite3
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from sqlalchemy import text
from sqlalchemy.exc import DatabaseError, OperationalError, SQLAlchemyError

from moot.store.database import Database, retry_while_unavailable
from moot.types.discussions import LIVE_STATUSES
from moot.types.errors import DatabaseUnavailable

if TYPE_CHECKING:
    from dbos import DBOSConfig


WORKFLOW_VERSION = "1"  # of the step names; DBOS does not recover workflows of another version
RETRY_SECONDS = 1.0

UNREGISTERED_WORKERS = text(
    "SELECT executor_id FROM dbos.workflow_status WHERE status = 'PENDING'"
    " UNION SELECT worker FROM run WHERE status = ANY(:live) EXCEPT SELECT id FROM worker"
)

S = TypeVar("S", bound=str)
ExecuteRun = Callable[[str, int], Coroutine[None, None, None]]
log = logging.getLogger(__name__)


class DbosBackend:
    """Starts and recovers the one workflow type, which executes a run."""

    def __init__(self, dbos: Any, workflow: ExecuteRun) -> None:
        self._dbos = dbos
        self._workflow = workflow

    @retry_while_unavailable
    async def start_workflow(self, run: str, revision: int) -> None:
        """Start the workflow of a revision. Idempotent: DBOS ignores a workflow id that it knows."""
        try:
            with self._dbos.SetWorkflowID(f"{run}.{revision}" if revision else run):
                await self._dbos.DBOS.start_workflow_async(self._workflow, run, revision)
        except SQLAlchemyError as error:
            raise DatabaseUnavailable("The workflow tables cannot be written.") from error

    async def run_step(self, name: str, body: Callable[[], Awaitable[S]]) -> S:
        """Run a step, or return its stored result if the workflow is replayed."""
        done: list[S] = []

        async def step() -> S:  # DBOS checks for a coroutine function
            done.append(await body())
            return done[0]

        try:  # no await before this call: DBOS numbers steps in call order, and a replay must match
            result: S = await self._dbos.DBOS.run_step_async({"name": name}, step)
        except SQLAlchemyError as error:
            # For example a full disk. The run continues, because Moot's own tables have the finished turns.
            log.warning("could not record a workflow step", extra={"step": name, "reason": str(error)})
            return done[0] if done else await body()
        return result

    async def recover_worker(self, worker: str) -> None:
        """Move all pending workflows of a dead worker to this one. Raises DatabaseUnavailable if some remain."""
        await asyncio.to_thread(self._recover_pending, worker)

    def _recover_pending(self, worker: str) -> None:
        dbos = self._dbos.DBOS
        try:
            dbos._recover_pending_workflows([worker])  # noqa: SLF001 - no public method
            left = dbos.list_workflows(executor_id=worker, status="PENDING", app_version=WORKFLOW_VERSION, limit=1)
        except SQLAlchemyError as error:
            raise DatabaseUnavailable("The workflow tables cannot be read.") from error
        if left:  # DBOS only logs workflows that it failed to recover
            raise DatabaseUnavailable("Some runs of a dead worker are not recovered yet.")

    async def close(self) -> None:
        await asyncio.to_thread(self._dbos.DBOS.destroy, destroy_registry=True)
        # DBOS replaced the loop's default executor and has shut it down.
        asyncio.get_running_loop().set_default_executor(ThreadPoolExecutor())


async def launch_dbos(database: Database, worker: str, execute: ExecuteRun) -> DbosBackend:
    """Import and start DBOS, which takes seconds. It also recovers the pending workflows of this worker."""
    dbos = await asyncio.to_thread(import_module, "dbos")
    await prepare_dbos_database(dbos, database)
    dbos.DBOS(config=dbos_config(database, worker))

    @dbos.DBOS.workflow(name="run", max_recovery_attempts=None)  # type: ignore[untyped-decorator]
    async def workflow(run: str, revision: int = 0) -> None:
        await execute(run, revision)

    dbos.DBOS.launch()
    return DbosBackend(dbos, workflow)


def dbos_config(database: Database, worker: str) -> "DBOSConfig":
    return {
        "name": "moot",
        "system_database_url": database.url if database.is_postgres else f"sqlite:///{dbos_file_path(database)}",
        "executor_id": worker,
        "application_version": WORKFLOW_VERSION,
        "log_level": "ERROR",
        "console_log_level": "CRITICAL",  # Moot's log has these errors
        # Moot sends no DBOS notifications, but a thread polls for them, and shutdown waits for that thread.
        "notification_listener_polling_interval_sec": 0.1,
    }


async def unregistered_workers(database: Database) -> Sequence[str]:
    """List worker ids that own pending workflows or live runs, but have no row in the worker table."""
    async with database.read() as connection:
        return (await connection.execute(UNREGISTERED_WORKERS, {"live": list(LIVE_STATUSES)})).scalars().all()


async def prepare_dbos_database(dbos: Any, database: Database) -> None:
    """Run the DBOS migrations in a thread, because they block.

    On SQLite they are not transactional: a crash leaves a file that cannot be migrated, so it is deleted and recreated.
    """
    if database.is_postgres:
        await _migrate_when_reachable(dbos, database.url)
        return
    path = dbos_file_path(database)
    try:
        await asyncio.to_thread(_prepare_file, dbos, path)
    except (DatabaseError, sqlite3.DatabaseError) as error:
        log.warning("workflow database unusable; recreating it", extra={"reason": str(error)})
        for suffix in ("", "-wal", "-shm"):
            path.with_name(path.name + suffix).unlink(missing_ok=True)
        await asyncio.to_thread(_prepare_file, dbos, path)


async def _migrate_when_reachable(dbos: Any, url: str) -> None:
    while True:
        try:
            await asyncio.to_thread(dbos.DBOS.migrate, url)
        except OperationalError as error:
            log.warning("database unavailable; retrying the workflow migration", extra={"reason": str(error)})
            await asyncio.sleep(RETRY_SECONDS)
        else:
            return


def dbos_file_path(database: Database) -> Path:
    return database.path.with_name(f"{database.path.stem}.runs.db")


def _prepare_file(dbos: Any, path: Path) -> None:
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA journal_mode=WAL")
    dbos.DBOS.migrate(f"sqlite:///{path}")

"""The books that DBOS keeps of runs: on Postgres in a schema beside our tables, else in a file beside ours.

Nothing is known from them alone. Which runs go on, and which turns are done, is in our own tables too.
"""

import asyncio
import contextlib
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

from moot.store.database import Database
from moot.types.discussions import LIVE_STATUSES
from moot.types.errors import DatabaseUnavailable

if TYPE_CHECKING:
    from dbos import DBOSConfig


WORKFLOW_VERSION = "1"  # of what a run's steps are called; runs of another version are not taken up again
RETRY_SECONDS = 1.0

UNREGISTERED_WORKERS = text(
    "SELECT executor_id FROM dbos.workflow_status WHERE status = 'PENDING'"
    " UNION SELECT worker FROM run WHERE status = ANY(:live) EXCEPT SELECT id FROM worker"
)

S = TypeVar("S", bound=str)
ExecuteRun = Callable[[str, int], Coroutine[None, None, None]]
log = logging.getLogger(__name__)


class DbosBackend:
    """DBOS, and the one workflow that it knows."""

    def __init__(self, dbos: Any, workflow: ExecuteRun) -> None:
        self._dbos = dbos
        self._workflow = workflow

    async def start_workflow(self, run: str, revision: int) -> None:
        """Execute a run, unless somebody does already; each revision is a workflow of its own."""
        try:
            with self._dbos.SetWorkflowID(f"{run}.{revision}" if revision else run):
                await self._dbos.DBOS.start_workflow_async(self._workflow, run, revision)
        except SQLAlchemyError as error:
            raise DatabaseUnavailable("The books of the runs cannot be written now.") from error

    async def run_step(self, name: str, body: Callable[[], Awaitable[S]]) -> S:
        """Do a part of a run, or return what came of it the last time."""
        done: list[S] = []

        async def part() -> S:  # DBOS looks whether it is given a coroutine function
            done.append(await body())
            return done[0]

        try:  # no await before the step has its place in the order
            came: S = await self._dbos.DBOS.run_step_async({"name": name}, part)
        except SQLAlchemyError as error:  # a full disk, say; but a turn that is done is in our log too
            log.warning("a step cannot be noted", extra={"step": name, "reason": str(error)})
            return done[0] if done else await body()
        return came

    async def recover_worker(self, worker: str) -> None:
        """Let DBOS hand on what a dead worker had begun, all of it; raise StoreUnavailable if it did not."""
        await asyncio.to_thread(self._recover_pending, worker)

    def _recover_pending(self, worker: str) -> None:
        dbos = self._dbos.DBOS
        try:
            dbos._recover_pending_workflows([worker])  # noqa: SLF001 - there is no public way
            left = dbos.list_workflows(
                executor_id=worker, status="PENDING", app_version=WORKFLOW_VERSION, limit=1
            )
        except SQLAlchemyError as error:
            raise DatabaseUnavailable("The books of the runs cannot be read now.") from error
        if left:  # it only logs what it could not do
            raise DatabaseUnavailable("Not all runs of a dead worker could be taken over yet.")

    async def close(self) -> None:
        await asyncio.to_thread(self._dbos.DBOS.destroy, destroy_registry=True)
        # It had given the loop threads of its own, and has ended them.
        asyncio.get_running_loop().set_default_executor(ThreadPoolExecutor())


async def launch_dbos(database: Database, worker: str, execute: ExecuteRun) -> DbosBackend:
    """Load and start DBOS, which takes its time, and let it execute runs."""
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
        "system_database_url": _dbos_url(database),
        "executor_id": worker,
        "application_version": WORKFLOW_VERSION,
        "log_level": "ERROR",
        "console_log_level": "CRITICAL",  # our own log has what it says
        # We send no notifications; a thread of DBOS waits for them all the same, and a server that ends waits for it.
        "notification_listener_polling_interval_sec": 0.1,
    }


async def unregistered_workers(database: Database) -> Sequence[str]:
    """List who has runs, by the books of DBOS or by ours, and is no worker that anybody knows."""
    async with database.read() as connection:
        return (await connection.execute(UNREGISTERED_WORKERS, {"live": list(LIVE_STATUSES)})).scalars().all()


async def prepare_dbos_database(dbos: Any, database: Database) -> None:
    """Bring the books up to date: in a thread, because DBOS waits for its database, and for others, in its sleep.

    On SQLite it makes its tables outside of any transaction: a file that was cut off half-way would never be
    finished, so it is begun anew.
    """
    if database.is_postgres:
        await _migrate_when_reachable(dbos, database.url)
        return
    try:
        await asyncio.to_thread(_prepare_file, dbos, dbos_file_path(database))
    except (DatabaseError, sqlite3.DatabaseError) as error:
        log.warning("the books of the runs cannot be used; they are begun anew", extra={"reason": str(error)})
        _remove_database_files(dbos_file_path(database))
        await asyncio.to_thread(_prepare_file, dbos, dbos_file_path(database))


async def _migrate_when_reachable(dbos: Any, url: str) -> None:
    while True:
        try:
            await asyncio.to_thread(dbos.DBOS.migrate, url)
        except OperationalError as error:
            log.warning("runs wait for the database", extra={"reason": str(error)})
            await asyncio.sleep(RETRY_SECONDS)
        else:
            return


def dbos_file_path(database: Database) -> Path:
    return database.path.with_name(f"{database.path.stem}.runs.db")


def _dbos_url(database: Database) -> str:
    return database.url if database.is_postgres else f"sqlite:///{dbos_file_path(database)}"


def _prepare_file(dbos: Any, path: Path) -> None:
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA journal_mode=WAL")
    dbos.DBOS.migrate(f"sqlite:///{path}")


def _remove_database_files(path: Path) -> None:
    for name in (path, path.with_name(f"{path.name}-wal"), path.with_name(f"{path.name}-shm")):
        with contextlib.suppress(FileNotFoundError):
            name.unlink()

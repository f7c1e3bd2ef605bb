"""The books that DBOS keeps of runs: on Postgres in a schema beside our tables, else in a file beside ours.

Nothing is known from them alone. Which runs go on, and which turns are done, is in our own tables too.
"""

import asyncio
import contextlib
import logging
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sqlalchemy.exc import DatabaseError

from moot.store.database import Database

if TYPE_CHECKING:
    from dbos import DBOSConfig

VERSION = "1"  # of what a run's steps are called; runs of another version are not taken up again

log = logging.getLogger(__name__)


def config(database: Database, worker: str) -> "DBOSConfig":
    return {
        "name": "moot",
        "system_database_url": _url(database),
        "executor_id": worker,
        "application_version": VERSION,
        "log_level": "ERROR",
        "console_log_level": "ERROR",
    }


async def prepare(dbos: Any, database: Database) -> None:
    """Bring the books up to date in a thread, because DBOS waits for its database, or for others, without a pause.

    On SQLite it makes its tables outside of any transaction: a file that was cut off half-way is never finished,
    and is begun anew.
    """
    url = _url(database)
    if database.is_postgres:
        await asyncio.to_thread(dbos.DBOS.migrate, url)
        return
    try:
        await asyncio.to_thread(_prepare_file, dbos, file(database))
    except (DatabaseError, sqlite3.DatabaseError) as error:
        log.warning("the books of the runs cannot be used; they are begun anew", extra={"reason": str(error)})
        _remove(file(database))
        await asyncio.to_thread(_prepare_file, dbos, file(database))


def file(database: Database) -> Path:
    return database.path.with_name(f"{database.path.stem}.runs.db")


def _url(database: Database) -> str:
    return database.url if database.is_postgres else f"sqlite:///{file(database)}"


def _prepare_file(dbos: Any, path: Path) -> None:
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA journal_mode=WAL")
    dbos.DBOS.migrate(f"sqlite:///{path}")


def _remove(path: Path) -> None:
    for name in (path, path.with_name(f"{path.name}-wal"), path.with_name(f"{path.name}-shm")):
        with contextlib.suppress(FileNotFoundError):
            name.unlink()

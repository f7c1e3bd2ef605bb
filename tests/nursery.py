"""`moot` in a process of its own, forked from one that has loaded it: all that a test gains are the seconds of loading."""

import multiprocessing
import os
import signal
import sys
from collections.abc import Callable, Mapping, Sequence
from multiprocessing.context import ForkServerProcess
from pathlib import Path

LOADED = [  # also what is loaded by name, in the end
    "moot.cli.app",
    "moot.cli.serve",
    "moot.cli.house",
    "aiosqlite",
    "alembic.command",
    "alembic.context",
    "asyncpg",
    "dbos._sys_db_sqlite",
    "litestar._kwargs",
    "litestar.middleware._internal.exceptions",
    "litestar.plugins.attrs",
    "litestar.plugins.pydantic",
    "uvicorn.lifespan.on",
    "uvicorn.protocols.http.httptools_impl",
    "uvloop",
]
_nursery = multiprocessing.get_context("forkserver")
_nursery.set_forkserver_preload(LOADED)


def as_it_is() -> None:
    """Prepare nothing."""


class Forked:
    """A process that is running, as `subprocess.Popen` shows one; `prepare` is done in it first."""

    def __init__(
        self,
        arguments: Sequence[str],
        folder: Path,
        environment: Mapping[str, str],
        log: Path,
        prepare: Callable[[], None] = as_it_is,
    ) -> None:
        self._process: ForkServerProcess = _nursery.Process(
            target=_be_moot, args=(list(arguments), folder, dict(environment), log, prepare)
        )
        self._process.start()

    @property
    def pid(self) -> int:
        assert self._process.pid is not None
        return self._process.pid

    def poll(self) -> int | None:
        return self._process.exitcode

    def wait(self, seconds: float) -> int:
        self._process.join(seconds)
        if self._process.exitcode is None:
            raise TimeoutError(f"process {self.pid} goes on")
        return self._process.exitcode

    def send_signal(self, sign: int) -> None:
        if self.poll() is None:
            os.kill(self.pid, sign)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)


def _be_moot(
    arguments: list[str],
    folder: Path,
    environment: dict[str, str],
    log: Path,
    prepare: Callable[[], None],
) -> None:
    """Be what the script `moot` would be, in its folder, with its environment and its log."""
    os.environ.clear()
    os.environ.update(environment)
    os.chdir(folder)
    written = os.open(log, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
    for number in (1, 2):
        os.dup2(written, number)
    prepare()
    sys.argv = ["moot", *arguments]
    from moot.cli.app import main  # noqa: PLC0415 - loaded in the nursery, and not where tests are collected

    main()

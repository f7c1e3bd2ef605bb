"""`moot` as a process of its own, on a machine without keys, without servers and without settings."""

import fcntl
import os
import select
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import IO

from tests.support.fork_server import ForkedProcess, Streams

MOOT_SCRIPT = Path(sys.executable).parent / "moot"
TIMEOUT_SECONDS = 120
UNREACHABLE_URL = "http://127.0.0.1:1/v1"  # where nothing listens
LOCAL_SERVER_VARIABLES = ("OLLAMA_BASE_URL", "LMSTUDIO_BASE_URL", "LLAMACPP_BASE_URL", "VLLM_BASE_URL")

FinishedProcess = subprocess.CompletedProcess[str]


class MootProcess(ForkedProcess):
    """A `moot` that is running, with our ends of those of its standard streams that are pipes."""

    def __init__(
        self,
        arguments: Sequence[str],
        folder: Path,
        environment: Mapping[str, str],
        *,
        stdin: int = subprocess.DEVNULL,
        stdout: int = subprocess.PIPE,
        stderr: int = subprocess.PIPE,
        at_terminal: bool = False,
        prepare: Callable[[], None] | None = None,
    ) -> None:
        with ExitStack() as child_descriptors:
            child_stdin, self.stdin = _open_stream(stdin, "wb", child_descriptors)
            child_stdout, self.stdout = _open_stream(stdout, "rb", child_descriptors)
            child_stderr, self.stderr = _open_stream(stderr, "rb", child_descriptors)
            streams = Streams(child_stdin, child_stdout, child_stderr)
            super().__init__(arguments, folder, environment, streams, at_terminal=at_terminal, prepare=prepare)

    def communicate(self, stdin_data: bytes | None = None, timeout: float = TIMEOUT_SECONDS) -> tuple[bytes, bytes]:
        """Write to stdin, read to the end, and wait for the process. Output that was read before is not repeated."""
        with ThreadPoolExecutor(2) as pool:
            reading = [pool.submit(file.read) if file else None for file in (self.stdout, self.stderr)]
            try:
                if self.stdin is not None:
                    with suppress(BrokenPipeError):  # it need not read
                        self.stdin.write(stdin_data or b"")
                    self.stdin.close()
                out, err = (one.result(timeout) if one else b"" for one in reading)
                self.wait(timeout)
            finally:
                self.kill()  # so that reading ends
        return out, err

    def close(self) -> None:
        """Kill it if it is still there."""
        self.kill()
        self.wait(TIMEOUT_SECONDS)
        for file in (self.stdin, self.stdout, self.stderr):
            if file is not None:
                file.close()


def _open_stream(redirection: int, mode: str, child_descriptors: ExitStack) -> tuple[int, IO[bytes] | None]:
    """Return the descriptor that it gets, and our end of it if that is a pipe."""
    if redirection == subprocess.DEVNULL:
        nothing = os.open(os.devnull, os.O_RDWR)
        child_descriptors.callback(os.close, nothing)
        return nothing, None
    if redirection != subprocess.PIPE:
        return redirection, None
    read, write = os.pipe()
    its, ours = (write, read) if mode == "rb" else (read, write)
    child_descriptors.callback(os.close, its)
    return its, open(ours, mode, buffering=0)  # noqa: PTH123 - `close` does


class MootCli:
    """Runs `moot` in a folder of its own; calling it waits for the end.

    What runs is a fork of a process that has loaded Moot (see tests/support/fork_server.py): `cold` runs the script instead.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.environment = {
            "PATH": os.environ.get("PATH", ""),
            "HOME": str(folder / "home"),
            "XDG_CONFIG_HOME": str(folder / "home" / ".config"),
            "LANG": "C.UTF-8",
            **dict.fromkeys(LOCAL_SERVER_VARIABLES, UNREACHABLE_URL),
        }
        self.prepare: Callable[[], None] | None = None  # in the fork of a call

    def __call__(self, *arguments: str, stdin: str = "", **environment: str) -> FinishedProcess:
        chosen = self._merge_environment(environment)
        process = MootProcess(arguments, self.folder, chosen, stdin=subprocess.PIPE, prepare=self.prepare)
        try:
            out, err = process.communicate(stdin.encode())
            code = process.wait(TIMEOUT_SECONDS)
        finally:
            process.close()
        return FinishedProcess(["moot", *arguments], code, out.decode(), err.decode())

    def run_script(self, *arguments: str, **environment: str) -> FinishedProcess:
        """Run the script, in a process that has loaded nothing."""
        return subprocess.run(  # noqa: S603 - our own script
            [str(MOOT_SCRIPT), *arguments],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            encoding="utf-8",
            timeout=TIMEOUT_SECONDS,
            check=False,
            cwd=self.folder,
            env=self.environment | environment,
        )

    def _merge_environment(self, overrides: Mapping[str, str]) -> Mapping[str, str]:
        chosen = self.environment | dict(overrides)
        assert not [name for name in chosen if name.startswith("PYTHON")], "a fork reads none of these"
        return chosen

    def write_file(self, name: str, text: str) -> Path:
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        return path

    @contextmanager
    def start_process(
        self,
        *arguments: str,
        stdin: int = subprocess.DEVNULL,
        stdout: int = subprocess.PIPE,
        stderr: int = subprocess.PIPE,
        at_terminal: bool = False,
        prepare: Callable[[], None] | None = None,
        **environment: str,
    ) -> Iterator[MootProcess]:
        """Start it and leave it running; it is killed if it is still there in the end."""
        process = MootProcess(
            arguments,
            self.folder,
            self._merge_environment(environment),
            stdin=stdin,
            stdout=stdout,
            stderr=stderr,
            at_terminal=at_terminal,
            prepare=prepare,
        )
        try:
            yield process
        finally:
            process.close()


def read_until(descriptor: int, text: str) -> str:
    """Read from a descriptor up to some words, and return what came."""
    came = b""
    while text.encode() not in came:
        ready, _, _ = select.select([descriptor], [], [], TIMEOUT_SECONDS)
        piece = os.read(descriptor, 4096) if ready else b""
        if not piece:
            raise AssertionError(f"{text!r} did not come, only {came!r}")
        came += piece
    return came.decode()


def read_until_eof(descriptor: int) -> str:
    """Read from a descriptor until its writers have closed it, and return what came."""
    came = b""
    while select.select([descriptor], [], [], TIMEOUT_SECONDS)[0]:
        try:
            piece = os.read(descriptor, 4096)
        except OSError:  # on Linux: the pseudo-terminal has no writer any more
            piece = b""
        if not piece:
            return came.decode()
        came += piece
    raise AssertionError(f"no end came, only {came!r}")


def wait_until_pipe_is_empty(pipe: int) -> None:
    """Wait until all that was written into a pipe is read."""
    until = time.monotonic() + TIMEOUT_SECONDS
    while struct.unpack("i", fcntl.ioctl(pipe, termios.FIONREAD, bytes(4)))[0]:
        assert time.monotonic() < until, "it is not read"
        time.sleep(0.01)


def usage_error_text(process: FinishedProcess) -> str:
    """Return the one line that says what to mend, once it is sure that there is nothing else."""
    assert process.returncode == 2, process
    assert process.stdout == ""
    assert process.stderr.startswith("moot: ")
    assert process.stderr.endswith("\n")
    assert process.stderr.count("\n") == 1, process.stderr
    return process.stderr.removeprefix("moot: ").rstrip("\n")

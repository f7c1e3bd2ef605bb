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

from tests.fork_server import Child, Streams

SCRIPT = Path(sys.executable).parent / "moot"
SECONDS = 120
NOBODY = "http://127.0.0.1:1/v1"  # where nothing listens
SERVERS = ("OLLAMA_BASE_URL", "LMSTUDIO_BASE_URL", "LLAMACPP_BASE_URL", "VLLM_BASE_URL")

Finished = subprocess.CompletedProcess[str]


class Running(Child):
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
        with ExitStack() as theirs:
            given, self.stdin = _end(stdin, "wb", theirs)
            taken, self.stdout = _end(stdout, "rb", theirs)
            told, self.stderr = _end(stderr, "rb", theirs)
            streams = Streams(given, taken, told)
            super().__init__(
                arguments, folder, environment, streams, at_terminal=at_terminal, prepare=prepare
            )

    def communicate(self, words: bytes | None = None, timeout: float = SECONDS) -> tuple[bytes, bytes]:
        """Write words, read to the end, and wait for it; what was read before does not come again."""
        with ThreadPoolExecutor(2) as pool:
            reading = [pool.submit(file.read) if file else None for file in (self.stdout, self.stderr)]
            try:
                if self.stdin is not None:
                    with suppress(BrokenPipeError):  # it need not read
                        self.stdin.write(words or b"")
                    self.stdin.close()
                out, err = (one.result(timeout) if one else b"" for one in reading)
                self.wait(timeout)
            finally:
                self.kill()  # so that reading ends
        return out, err

    def close(self) -> None:
        """Kill it if it is still there."""
        self.kill()
        self.wait(SECONDS)
        for file in (self.stdin, self.stdout, self.stderr):
            if file is not None:
                file.close()


def _end(wanted: int, mode: str, theirs: ExitStack) -> tuple[int, IO[bytes] | None]:
    """Return the descriptor that it gets, and our end of it if that is a pipe."""
    if wanted == subprocess.DEVNULL:
        nothing = os.open(os.devnull, os.O_RDWR)
        theirs.callback(os.close, nothing)
        return nothing, None
    if wanted != subprocess.PIPE:
        return wanted, None
    read, write = os.pipe()
    its, ours = (write, read) if mode == "rb" else (read, write)
    theirs.callback(os.close, its)
    return its, open(ours, mode, buffering=0)  # noqa: PTH123 - `close` does


class Moot:
    """Runs `moot` in a folder of its own; calling it waits for the end.

    What runs is a fork of a process that has loaded Moot (see tests/fork_server.py): `cold` runs the script instead.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.environment = {
            "PATH": os.environ.get("PATH", ""),
            "HOME": str(folder / "home"),
            "XDG_CONFIG_HOME": str(folder / "home" / ".config"),
            "LANG": "C.UTF-8",
            **dict.fromkeys(SERVERS, NOBODY),
        }
        self.prepare: Callable[[], None] | None = None  # in the fork of a call

    def __call__(self, *arguments: str, stdin: str = "", **environment: str) -> Finished:
        chosen = self._chosen(environment)
        process = Running(arguments, self.folder, chosen, stdin=subprocess.PIPE, prepare=self.prepare)
        try:
            out, err = process.communicate(stdin.encode())
            code = process.wait(SECONDS)
        finally:
            process.close()
        return Finished(["moot", *arguments], code, out.decode(), err.decode())

    def cold(self, *arguments: str, **environment: str) -> Finished:
        """Run the script, in a process that has loaded nothing."""
        return subprocess.run(  # noqa: S603 - our own script
            [str(SCRIPT), *arguments],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            encoding="utf-8",
            timeout=SECONDS,
            check=False,
            cwd=self.folder,
            env=self.environment | environment,
        )

    def _chosen(self, more: Mapping[str, str]) -> Mapping[str, str]:
        chosen = self.environment | dict(more)
        assert not [name for name in chosen if name.startswith("PYTHON")], "a fork reads none of these"
        return chosen

    def write(self, name: str, text: str) -> Path:
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        return path

    @contextmanager
    def running(
        self,
        *arguments: str,
        stdin: int = subprocess.DEVNULL,
        stdout: int = subprocess.PIPE,
        stderr: int = subprocess.PIPE,
        at_terminal: bool = False,
        prepare: Callable[[], None] | None = None,
        **environment: str,
    ) -> Iterator[Running]:
        """Start it and leave it running; it is killed if it is still there in the end."""
        process = Running(
            arguments,
            self.folder,
            self._chosen(environment),
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


def heard(file: int, words: str) -> str:
    """Read from a descriptor up to some words, and return what came."""
    came = b""
    while words.encode() not in came:
        ready, _, _ = select.select([file], [], [], SECONDS)
        piece = os.read(file, 4096) if ready else b""
        if not piece:
            raise AssertionError(f"{words!r} did not come, only {came!r}")
        came += piece
    return came.decode()


def heard_out(file: int) -> str:
    """Read from a descriptor until whoever writes to it has gone, and return what came."""
    came = b""
    while select.select([file], [], [], SECONDS)[0]:
        try:
            piece = os.read(file, 4096)
        except OSError:  # how Linux says that nobody writes to a pseudo-terminal any more
            piece = b""
        if not piece:
            return came.decode()
        came += piece
    raise AssertionError(f"no end came, only {came!r}")


def taken(pipe: int) -> None:
    """Wait until all that was written into a pipe is read."""
    until = time.monotonic() + SECONDS
    while struct.unpack("i", fcntl.ioctl(pipe, termios.FIONREAD, bytes(4)))[0]:
        assert time.monotonic() < until, "it is not read"
        time.sleep(0.01)


def complaint(finished: Finished) -> str:
    """Return the one line that says what to mend, once it is sure that there is nothing else."""
    assert finished.returncode == 2, finished
    assert finished.stdout == ""
    assert finished.stderr.startswith("moot: ")
    assert finished.stderr.endswith("\n")
    assert finished.stderr.count("\n") == 1, finished.stderr
    return finished.stderr.removeprefix("moot: ").rstrip("\n")

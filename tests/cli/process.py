"""`moot` as a process of its own, on a machine without keys, without servers and without settings."""

import os
import select
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

SCRIPT = Path(sys.executable).parent / "moot"
SECONDS = 120
NOBODY = "http://127.0.0.1:1/v1"  # where nothing listens
SERVERS = ("OLLAMA_BASE_URL", "LMSTUDIO_BASE_URL", "LLAMACPP_BASE_URL", "VLLM_BASE_URL")

Finished = subprocess.CompletedProcess[str]
Running = subprocess.Popen[bytes]


class Moot:
    """Runs `moot` in a folder of its own; calling it waits for the end."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.environment = {
            "PATH": os.environ.get("PATH", ""),
            "HOME": str(folder / "home"),
            "XDG_CONFIG_HOME": str(folder / "home" / ".config"),
            "LANG": "C.UTF-8",
            **dict.fromkeys(SERVERS, NOBODY),
        }

    def __call__(self, *arguments: str, stdin: str = "", **environment: str) -> Finished:
        return subprocess.run(  # noqa: S603 - our own script
            [str(SCRIPT), *arguments],
            input=stdin,
            capture_output=True,
            encoding="utf-8",
            timeout=SECONDS,
            check=False,
            cwd=self.folder,
            env=self.environment | environment,
        )

    def write(self, name: str, text: str) -> Path:
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        return path

    @contextmanager
    def running(
        self, *arguments: str, stdin: int = subprocess.DEVNULL, stdout: int = subprocess.PIPE, **more: str
    ) -> Iterator[Running]:
        """Start it and leave it running; it is killed if it is still there in the end."""
        with subprocess.Popen(  # noqa: S603 - our own script
            [str(SCRIPT), *arguments],
            stdin=stdin,
            stdout=stdout,
            stderr=subprocess.PIPE,
            cwd=self.folder,
            env=self.environment | more,
        ) as process:
            try:
                yield process
            finally:
                process.kill()


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


def idle(pid: int) -> None:
    """Wait until a process has nothing to do but to wait for us."""
    used, quiet = "", 0
    while quiet < 5:
        now = Path(f"/proc/{pid}/schedstat").read_text(encoding="utf-8").split()[0]
        quiet = quiet + 1 if now == used else 0
        used = now
        time.sleep(0.05)


def complaint(finished: Finished) -> str:
    """Return the one line that says what to mend, once it is sure that there is nothing else."""
    assert finished.returncode == 2, finished
    assert finished.stdout == ""
    assert finished.stderr.startswith("moot: ")
    assert finished.stderr.endswith("\n")
    assert finished.stderr.count("\n") == 1, finished.stderr
    return finished.stderr.removeprefix("moot: ").rstrip("\n")

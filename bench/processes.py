"""Processes that a measurement starts, speaks with line by line, times, and ends. CPU clocks are those of Linux."""

import asyncio
import os
import sys
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from socket import create_server

import aiohttp

ROOT = Path(__file__).parent.parent
RATES = ("requests", "model_requests", "messages", "debates", "model_calls")
UNLIMITED_RATES = "\n[rates]\n" + "".join(f"{name}_per_minute = 10_000_000\n" for name in RATES)
MOOT = Path(sys.executable).parent / "moot"
POLL_SECONDS = 0.005
CLOSED_ADDRESS = "http://127.0.0.1:1/v1"  # where nothing listens
LOCAL_SERVER_VARIABLES = ("OLLAMA_BASE_URL", "LMSTUDIO_BASE_URL", "LLAMACPP_BASE_URL", "VLLM_BASE_URL")
MAX_LINE_BYTES = 2**28  # bytes of a line: the report of all readers
EXIT_TIMEOUT_SECONDS = 20.0
LOG_TAIL_CHARACTERS = 4000  # characters


class ChildProcess:
    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self._process = process

    @property
    def pid(self) -> int:
        return self._process.pid

    async def write_line(self, line: bytes = b"") -> None:
        assert self._process.stdin
        self._process.stdin.write(line + b"\n")
        await self._process.stdin.drain()

    async def read_line(self) -> bytes:
        assert self._process.stdout
        line = await self._process.stdout.readline()
        assert line, "a process of the measurement has ended"
        return line.strip()

    def close_input(self) -> None:
        assert self._process.stdin
        self._process.stdin.close()


@asynccontextmanager
async def run_child(module: str, *arguments: str) -> AsyncIterator[ChildProcess]:
    """Run a module of the benchmark until the block ends."""
    pipe = asyncio.subprocess.PIPE
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", module, *arguments, stdin=pipe, stdout=pipe, cwd=ROOT, limit=MAX_LINE_BYTES
    )
    try:
        yield ChildProcess(process)
    finally:
        await _end_process(process)


class MootProcess:
    def __init__(self, process: asyncio.subprocess.Process, url: str, start_time: float, log: Path) -> None:
        self._process = process
        self._log = log
        self.url = url
        self.start_time = start_time

    @property
    def pid(self) -> int:
        return self._process.pid

    def show_log(self) -> None:
        """Show the last words of the server, where something went wrong."""
        sys.stderr.write(self._log.read_text("utf-8")[-LOG_TAIL_CHARACTERS:])

    async def wait_until_answered(self, path: str) -> float:
        """Wait until a path is answered, and return how many seconds after the start that was."""
        async with aiohttp.ClientSession() as http:
            while True:
                assert self._process.returncode is None, "moot serve has ended"
                with suppress(aiohttp.ClientConnectorError):
                    async with http.get(self.url + path) as response:
                        if response.status == 200:
                            return time.monotonic() - self.start_time
                await asyncio.sleep(POLL_SECONDS)


@asynccontextmanager
async def moot_serve(
    folder: Path, database_url: str, settings: str = "", *, auth: str = "local", limited: bool = False
) -> AsyncIterator[MootProcess]:
    """Start `moot serve` on a free port and end it; unless `limited`, one may call as often as one likes."""
    config = folder / "moot.toml"
    config.write_text(settings if limited else settings + UNLIMITED_RATES, encoding="utf-8")
    port = _free_port()
    path = folder / "serve.log"
    with path.open("ab") as log:
        began = time.monotonic()
        process = await asyncio.create_subprocess_exec(
            *(str(MOOT), "serve", "--port", str(port), "--config", str(config)),
            stdin=asyncio.subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            cwd=folder,
            env={**_environment(folder), "MOOT_DATABASE_URL": database_url, "MOOT_AUTH": auth},
        )
    server = MootProcess(process, f"http://127.0.0.1:{port}", began, path)
    try:
        yield server
    except Exception:
        server.show_log()
        raise
    finally:
        await _end_process(process)


def cpu_seconds(pid: int) -> float:
    """Return the CPU time that all threads of a process have used, user and system; 0 if it is gone."""
    try:
        return time.clock_gettime((~pid << 3) | 2)  # how Linux names the CPU clock of another process
    except OSError:
        return 0.0


def child_pids(pid: int) -> list[int]:
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            parent = int(stat.read_text("utf-8").rpartition(")")[2].split()[1])
        except OSError:  # it ended while we looked
            continue
        if parent == pid:
            found.append(int(stat.parent.name))
    return found


def _environment(folder: Path) -> Mapping[str, str]:
    """A machine without keys, servers and settings of its own."""
    return {
        "PATH": os.environ.get("PATH", ""),
        "HOME": str(folder),
        "XDG_CONFIG_HOME": str(folder / ".config"),
        "XDG_DATA_HOME": str(folder / "data"),
        "LANG": "C.UTF-8",
        **dict.fromkeys(LOCAL_SERVER_VARIABLES, CLOSED_ADDRESS),
    }


def _free_port() -> int:
    with create_server(("127.0.0.1", 0)) as listening:
        port: int = listening.getsockname()[1]
        return port


async def _end_process(process: asyncio.subprocess.Process) -> None:
    """Ask a process to end, and end it if it does not."""
    if process.returncode is None:
        process.terminate()
    try:
        await asyncio.wait_for(process.wait(), EXIT_TIMEOUT_SECONDS)
    except TimeoutError:
        process.kill()
        await process.wait()

"""Start, control and terminate the processes of a benchmark, and read their CPU time. Linux only."""

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
CLOSED_ADDRESS = "http://127.0.0.1:1/v1"  # no server listens on this port
LOCAL_SERVER_VARIABLES = ("OLLAMA_BASE_URL", "LMSTUDIO_BASE_URL", "LLAMACPP_BASE_URL", "VLLM_BASE_URL")
MAX_LINE_BYTES = 2**28  # the report of all readers is one line
EXIT_TIMEOUT_SECONDS = 20.0
LOG_TAIL_CHARACTERS = 4000


class ChildProcess:
    """A benchmark process; each message on its standard input and output is one line."""

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
        assert line, "a process of the benchmark has ended"
        return line.strip()

    def close_input(self) -> None:
        assert self._process.stdin
        self._process.stdin.close()


@asynccontextmanager
async def run_child(module: str, *arguments: str) -> AsyncIterator[ChildProcess]:
    """Run a module of the benchmark as a process, and terminate it at the end of the block."""
    pipe = asyncio.subprocess.PIPE
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", module, *arguments, stdin=pipe, stdout=pipe, cwd=ROOT, limit=MAX_LINE_BYTES
    )
    try:
        yield ChildProcess(process)
    finally:
        await _terminate_process(process)


class MootProcess:
    """A process of `moot serve`, with its URL and log file."""

    def __init__(self, process: asyncio.subprocess.Process, url: str, start_time: float, log: Path) -> None:
        self._process = process
        self._log = log
        self.url = url
        self.start_time = start_time

    @property
    def pid(self) -> int:
        return self._process.pid

    def print_log(self) -> None:
        """Print the end of the server log after an error."""
        sys.stderr.write(self._log.read_text("utf-8")[-LOG_TAIL_CHARACTERS:])

    async def wait_for_response(self, path: str) -> float:
        """Poll a path until the response status is 200, and return the seconds since the process started."""
        async with aiohttp.ClientSession() as http:
            while True:
                assert self._process.returncode is None, "moot serve has ended"
                with suppress(aiohttp.ClientConnectorError):
                    async with http.get(self.url + path) as response:
                        if response.status == 200:
                            return time.monotonic() - self.start_time
                await asyncio.sleep(POLL_SECONDS)


@asynccontextmanager
async def run_moot_server(
    folder: Path, database_url: str, settings: str = "", *, auth: str = "local", rate_limits: bool = False
) -> AsyncIterator[MootProcess]:
    """Run `moot serve` on a free port; by default, without rate limits for requests."""
    config = folder / "moot.toml"
    config.write_text(settings if rate_limits else settings + UNLIMITED_RATES, encoding="utf-8")
    port = _find_free_port()
    path = folder / "serve.log"
    with path.open("ab") as log:
        start_time = time.monotonic()
        process = await asyncio.create_subprocess_exec(
            *(str(MOOT), "serve", "--port", str(port), "--config", str(config)),
            stdin=asyncio.subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            cwd=folder,
            env={**_build_environment(folder), "MOOT_DATABASE_URL": database_url, "MOOT_AUTH": auth},
        )
    server = MootProcess(process, f"http://127.0.0.1:{port}", start_time, path)
    try:
        yield server
    except Exception:
        server.print_log()
        raise
    finally:
        await _terminate_process(process)


def read_cpu_seconds(pid: int) -> float:
    """Return the CPU seconds of all threads of a process, user and system; 0 if the process has ended."""
    try:
        return time.clock_gettime((~pid << 3) | 2)  # the id of the CPU clock of another process on Linux
    except OSError:
        return 0.0


def list_child_pids(pid: int) -> list[int]:
    children = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            parent = int(stat.read_text("utf-8").rpartition(")")[2].split()[1])
        except OSError:  # the process ended during the loop
            continue
        if parent == pid:
            children.append(int(stat.parent.name))
    return children


def _build_environment(folder: Path) -> Mapping[str, str]:
    """Return environment variables without API keys, local model servers or user config."""
    return {
        "PATH": os.environ.get("PATH", ""),
        "HOME": str(folder),
        "XDG_CONFIG_HOME": str(folder / ".config"),
        "XDG_DATA_HOME": str(folder / "data"),
        "LANG": "C.UTF-8",
        **dict.fromkeys(LOCAL_SERVER_VARIABLES, CLOSED_ADDRESS),
    }


def _find_free_port() -> int:
    with create_server(("127.0.0.1", 0)) as server_socket:
        port: int = server_socket.getsockname()[1]
        return port


async def _terminate_process(process: asyncio.subprocess.Process) -> None:
    """Terminate a process, and kill it after a timeout."""
    if process.returncode is None:
        process.terminate()
    try:
        await asyncio.wait_for(process.wait(), EXIT_TIMEOUT_SECONDS)
    except TimeoutError:
        process.kill()
        await process.wait()

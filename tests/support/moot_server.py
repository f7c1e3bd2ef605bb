"""`moot serve` as a process of its own on a free port: to be called, killed, paused, and started again on its data."""

import asyncio
import re
import signal
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp
import msgspec
from msgspec import Struct

from tests.support.databases import write_migrated_database
from tests.support.fork_server import LoggedProcess
from tests.support.moot_process import MootCli

SERVER_TIMEOUT_SECONDS = 120.0
POLL_SECONDS = 0.02
RATES = ("messages", "debates", "model_calls")
UNLIMITED_RATES = "\n[rates]\n" + "".join(f"{name}_per_minute = 1_000_000\n" for name in RATES)  # tests do not wait
LISTENING_LINE = re.compile(r"moot: listening on (http://\S+);")


class Reply(Struct, frozen=True):
    """What was answered: JSON as the value it stands for, everything else as text."""

    status: int
    headers: Mapping[str, str]
    text: str

    @property
    def body(self) -> Any:
        return msgspec.json.decode(self.text) if "json" in self.headers.get("Content-Type", "") else self.text


class ServerSentEvent(Struct, frozen=True):
    """One server-sent event; `id` is None where it has no number."""

    id: int | None
    event: str
    data: Any


class MootServer:
    """A server with a data folder, settings and a log of its own. Without an address its database is a file there."""

    def __init__(
        self,
        folder: Path,
        database_url: str | None = None,
        *,
        settings: str = "",
        host: str = "127.0.0.1",
        **environment: str,
    ) -> None:
        self.moot = MootCli(folder)
        self.moot.environment |= {"XDG_DATA_HOME": str(folder / "data"), **environment}
        if database_url is not None:
            self.moot.environment["MOOT_DATABASE_URL"] = database_url
        self.settings = self.moot.write_file(
            "moot.toml", settings if "[rates]" in settings else settings + UNLIMITED_RATES
        )
        self.data = folder / "data" / "moot"
        self.log = folder / "serve.log"
        self.arguments = ["serve", "--host", host, "--port", "0", "--config", str(self.settings)]
        self.prepare: Callable[[], None] | None = None  # called in the process before `moot` starts
        self.headers: Mapping[str, str] = {}  # of every request, beside those that it brings itself
        self.url = ""
        self.process: LoggedProcess | None = None
        self.http = aiohttp.ClientSession(
            cookie_jar=aiohttp.DummyCookieJar(),
            timeout=aiohttp.ClientTimeout(sock_read=SERVER_TIMEOUT_SECONDS),
        )

    async def start(self) -> None:
        """Start, or start again, and wait until requests are served."""
        if "MOOT_DATABASE_URL" not in self.moot.environment and not self.data.exists():
            await asyncio.to_thread(write_migrated_database, self.data)
        log_offset = len(self.read_log())
        self.process = LoggedProcess(self.arguments, self.moot.folder, self.moot.environment, self.log, self.prepare)
        self.url = await self._wait_for_address(log_offset)
        ready = await self.get("/readyz")
        assert ready.status == 200, ready

    async def _wait_for_address(self, log_offset: int) -> str:
        async with asyncio.timeout(SERVER_TIMEOUT_SECONDS):
            while not (found := LISTENING_LINE.search(self.read_log(), log_offset)):
                assert self.running_process.poll() is None, f"the server ended: {self.read_log()[log_offset:]}"
                await asyncio.sleep(POLL_SECONDS)
        return found[1]

    def read_log(self) -> str:
        return self.log.read_text("utf-8") if self.log.exists() else ""

    @property
    def running_process(self) -> LoggedProcess:
        assert self.process is not None
        return self.process

    def kill(self) -> None:
        """Kill the process."""
        self.running_process.kill()
        self.running_process.wait(SERVER_TIMEOUT_SECONDS)

    def pause(self) -> None:
        self.running_process.send_signal(signal.SIGSTOP)

    def resume(self) -> None:
        self.running_process.send_signal(signal.SIGCONT)

    async def terminate(self) -> int:
        """Send SIGTERM, and return the exit code."""
        self.running_process.send_signal(signal.SIGTERM)
        return await self.wait_for_exit()

    async def wait_for_exit(self) -> int:
        return await asyncio.to_thread(self.running_process.wait, SERVER_TIMEOUT_SECONDS)

    async def call(
        self, method: str, path: str, body: object = None, headers: Mapping[str, str] | None = None
    ) -> Reply:
        """Make a request; bytes are sent as they are, other bodies as JSON."""
        sent = {**self.headers, **(headers or {})}
        data = body if isinstance(body, bytes) or body is None else msgspec.json.encode(body)
        if data is not None:
            sent.setdefault("Content-Type", "application/json")
        async with self.http.request(method, self.url + path, data=data, headers=sent) as response:
            return Reply(response.status, response.headers, await response.text())

    async def get(self, path: str, headers: Mapping[str, str] | None = None) -> Reply:
        return await self.call("GET", path, headers=headers)

    async def post(self, path: str, body: object = None, headers: Mapping[str, str] | None = None) -> Reply:
        return await self.call("POST", path, body, headers)

    async def events(
        self, path: str, headers: Mapping[str, str] | None = None, body: object = None
    ) -> AsyncGenerator[ServerSentEvent, None]:
        """Yield the events of a stream until it ends; a body is posted. A caller that stops earlier closes the generator."""
        method = "GET" if body is None else "POST"
        sent = {**self.headers, **(headers or {})}
        async with self.http.request(method, self.url + path, headers=sent, json=body) as response:
            assert response.status == 200, await response.text()
            rest = b""
            async for piece in response.content.iter_any():
                *blocks, rest = (rest + piece).split(b"\n\n")
                for block in blocks:
                    if (frame := _parse_event(block.decode())) is not None:
                        yield frame
            assert not rest, "the stream ended inside an event"

    async def run_events(self, run: str, after: int = 0) -> list[Any]:
        """Return all events of a run after a number, once it is over."""
        return [frame.data async for frame in self.events(f"/api/runs/{run}/events?after={after}")]

    async def close(self) -> None:
        await self.http.close()
        if self.process is not None and self.process.poll() is None:
            self.process.kill()
            self.process.wait(SERVER_TIMEOUT_SECONDS)


def _parse_event(block: str) -> ServerSentEvent | None:
    fields = dict(line.split(": ", 1) for line in block.split("\n") if not line.startswith(":"))
    if not fields:
        return None
    id = int(fields["id"]) if "id" in fields else None
    return ServerSentEvent(id, fields.get("event", "message"), msgspec.json.decode(fields["data"]))


@asynccontextmanager
async def run_moot_server(
    folder: Path,
    database_url: str | None = None,
    prepare: Callable[[], None] | None = None,
    /,
    *,
    settings: str = "",
    **environment: str,
) -> AsyncIterator[MootServer]:
    """Serve until the block ends; what is still there then is killed."""
    server = MootServer(folder, database_url, settings=settings, **environment)
    server.prepare = prepare
    try:
        await server.start()
        yield server
    finally:
        await server.close()

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

from tests.cli.process import Moot
from tests.databases import write_migrated
from tests.fork_server import LoggingChild

SECONDS = 120.0
LOOK_SECONDS = 0.02
RATES = ("messages", "debates", "model_calls")
UNHURRIED = "\n[rates]\n" + "".join(f"{name}_a_minute = 1_000_000\n" for name in RATES)  # tests do not wait
LISTENING = re.compile(r"moot: listening on (http://\S+);")


class Reply(Struct, frozen=True):
    """What was answered: JSON as the value it stands for, everything else as text."""

    status: int
    headers: Mapping[str, str]
    text: str

    @property
    def body(self) -> Any:
        return msgspec.json.decode(self.text) if "json" in self.headers.get("Content-Type", "") else self.text


class Frame(Struct, frozen=True):
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
        self.moot = Moot(folder)
        self.moot.environment |= {"XDG_DATA_HOME": str(folder / "data"), **environment}
        if database_url is not None:
            self.moot.environment["MOOT_DATABASE_URL"] = database_url
        self.settings = self.moot.write(
            "moot.toml", settings if "[rates]" in settings else settings + UNHURRIED
        )
        self.data = folder / "data" / "moot"
        self.log = folder / "serve.log"
        self.arguments = ["serve", "--host", host, "--port", "0", "--config", str(self.settings)]
        self.prepare: Callable[[], None] | None = None  # called in the process before `moot` starts
        self.headers: Mapping[str, str] = {}  # of every request, beside those that it brings itself
        self.url = ""
        self.process: LoggingChild | None = None
        self.http = aiohttp.ClientSession(
            cookie_jar=aiohttp.DummyCookieJar(), timeout=aiohttp.ClientTimeout(sock_read=SECONDS)
        )

    async def start(self) -> None:
        """Start, or start again, and wait until requests are served."""
        if "MOOT_DATABASE_URL" not in self.moot.environment and not self.data.exists():
            await asyncio.to_thread(write_migrated, self.data)
        told = len(self.logged())
        self.process = LoggingChild(
            self.arguments, self.moot.folder, self.moot.environment, self.log, self.prepare
        )
        self.url = await self._address(told)
        ready = await self.get("/readyz")
        assert ready.status == 200, ready

    async def _address(self, told: int) -> str:
        async with asyncio.timeout(SECONDS):
            while not (found := LISTENING.search(self.logged(), told)):
                assert self.running.poll() is None, f"the server ended: {self.logged()[told:]}"
                await asyncio.sleep(LOOK_SECONDS)
        return found[1]

    def logged(self) -> str:
        return self.log.read_text("utf-8") if self.log.exists() else ""

    @property
    def running(self) -> LoggingChild:
        assert self.process is not None
        return self.process

    def kill(self) -> None:
        """End it as a power cut would."""
        self.running.kill()
        self.running.wait(SECONDS)

    def pause(self) -> None:
        self.running.send_signal(signal.SIGSTOP)

    def go_on(self) -> None:
        self.running.send_signal(signal.SIGCONT)

    async def end(self) -> int:
        """Tell it to end, and return the code with which it did."""
        self.running.send_signal(signal.SIGTERM)
        return await self.ended()

    async def ended(self) -> int:
        return await asyncio.to_thread(self.running.wait, SECONDS)

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
    ) -> AsyncGenerator[Frame, None]:
        """Yield the events of a stream until it ends; a body is posted. Whoever leaves earlier closes this."""
        method = "GET" if body is None else "POST"
        sent = {**self.headers, **(headers or {})}
        async with self.http.request(method, self.url + path, headers=sent, json=body) as response:
            assert response.status == 200, await response.text()
            rest = b""
            async for piece in response.content.iter_any():
                *blocks, rest = (rest + piece).split(b"\n\n")
                for block in blocks:
                    if (frame := _frame(block.decode())) is not None:
                        yield frame
            assert not rest, "the stream ended inside an event"

    async def heard(self, run: str, after: int = 0) -> list[Any]:
        """Return all events of a run after a number, once it is over."""
        return [frame.data async for frame in self.events(f"/api/runs/{run}/events?after={after}")]

    async def close(self) -> None:
        await self.http.close()
        if self.process is not None and self.process.poll() is None:
            self.process.kill()
            self.process.wait(SECONDS)


def _frame(block: str) -> Frame | None:
    fields = dict(line.split(": ", 1) for line in block.split("\n") if not line.startswith(":"))
    if not fields:
        return None
    id = int(fields["id"]) if "id" in fields else None
    return Frame(id, fields.get("event", "message"), msgspec.json.decode(fields["data"]))


@asynccontextmanager
async def serving(
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

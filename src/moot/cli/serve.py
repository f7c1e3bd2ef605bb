"""`moot serve`: listens at once, loads the rest, and when told to end lets runs finish before it goes."""

import asyncio
import logging
import os
import socket
import sys
import webbrowser
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager, contextmanager, nullcontext
from importlib import import_module
from pathlib import Path
from threading import Thread
from types import FrameType
from typing import TYPE_CHECKING

import uvicorn
from msgspec import Struct

from moot import settings
from moot.app import event_loop
from moot.app import logging as logs
from moot.app.startup import Gate
from moot.types.errors import StoreUnavailable, UsageError
from moot.types.primitives import is_loopback

if TYPE_CHECKING:
    from moot.app.container import House

DRAIN_SECONDS = 10.0
IDLE_SECONDS = (
    75  # longer than proxies and clients keep an idle connection, so that they close it, not the server
)
LEAVE_SECONDS = 5.0
LOOK_SECONDS = 0.05
BACKLOG = 2048
EVERYWHERE = ("0.0.0.0", "::")  # noqa: S104 - to be told apart from an address that can be opened

log = logging.getLogger(__name__)


class Options(Struct, frozen=True, kw_only=True):
    host: str
    port: int
    config: Path | None = None
    open: bool = False


Beside = Callable[["House", settings.Settings], AbstractAsyncContextManager[None]]


def nothing(*_: object) -> AbstractAsyncContextManager[None]:
    return nullcontext()


def run(options: Options, beside: Beside = nothing) -> int:
    """Serve until told to end; `beside` is what goes on in the same house meanwhile."""
    chosen = settings.load(options.config, os.environ)
    logs.configure()
    return event_loop.run(_serve(options, chosen, beside))


class Server(uvicorn.Server):
    """Told to end, it first lets `told` be set, and ends when the owner says so; told again, it ends at once."""

    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self.told = asyncio.Event()
        self._loop = asyncio.get_running_loop()

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:  # noqa: ARG002 - uvicorn's
        if self.told.is_set():
            self.force_exit = self.should_exit = True
        self._loop.call_soon_threadsafe(self.told.set)


class Guest(Server):
    """A server inside another command, which hears the signals itself."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


class Serving(Struct, frozen=True):
    """A server that answers: `page` is where a browser finds it, `task` ends when it does."""

    server: Server
    task: "asyncio.Task[None]"
    page: str


async def _serve(options: Options, chosen: settings.Settings, beside: Beside) -> int:
    listening = _listening(options)
    async with served(chosen, listening, loopback=is_loopback(options.host), beside=beside) as serving:
        sys.stderr.write(
            f"moot: listening on {_url(listening)}; open {serving.page} in a browser. Ctrl-C stops.\n"
        )
        if options.open:
            # Some browsers return when they end.
            Thread(target=_open, args=(serving.page,), daemon=True).start()
        await _until_told(serving)
    return 0


@asynccontextmanager
async def served(
    chosen: settings.Settings,
    listening: socket.socket,
    *,
    loopback: bool,
    kind: type[Server] = Server,
    beside: Beside = nothing,
) -> AsyncIterator[Serving]:
    """Open a house and serve it while the block goes on; then let its runs end, or leave them to the next."""
    gate = Gate()
    server = kind(
        uvicorn.Config(
            gate,
            lifespan="off",
            ws="none",
            log_config=None,
            access_log=False,
            timeout_graceful_shutdown=5,
            timeout_keep_alive=IDLE_SECONDS,
        )
    )
    serving = asyncio.create_task(server.serve(sockets=[listening]))
    try:
        building = await asyncio.to_thread(import_module, "moot.app.container")
        async with building.opened(chosen, os.environ, _page(listening)) as house:
            gate.open(await house.app(chosen, loopback=loopback))
            async with beside(house, chosen):
                yield Serving(server, serving, _page(listening))
                await _drain(house, server)
            await _hang_up(house, server, serving)
            await _leave(house)
    finally:
        gate.give_up()
        server.should_exit = True
        await asyncio.gather(serving, return_exceptions=True)


def _listening(options: Options) -> socket.socket:
    try:
        family = socket.AF_INET6 if ":" in options.host else socket.AF_INET
        return socket.create_server((options.host, options.port), family=family, backlog=BACKLOG)
    except OSError as error:
        raise UsageError(
            f"Cannot listen on {options.host}, port {options.port}: {error.strerror}. Choose another with --port."
        ) from error


def _url(listening: socket.socket) -> str:
    host, port = listening.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def _page(listening: socket.socket) -> str:
    """Say where a browser of this machine finds the page; an address that stands for all others is none to go to."""
    host, port = listening.getsockname()[:2]
    return f"http://localhost:{port}/" if host in EVERYWHERE else f"{_url(listening)}/"


def _open(page: str) -> None:
    if not webbrowser.open(page):
        sys.stderr.write(f"moot: there is no browser that could be started; open {page} yourself.\n")


async def _until_told(serving: Serving) -> None:
    told = asyncio.create_task(serving.server.told.wait())
    await asyncio.wait({told, serving.task}, return_when=asyncio.FIRST_COMPLETED)
    told.cancel()


async def _drain(house: "House", server: Server) -> None:
    """Take in nothing new, and give the runs that go on some time to end; their readers stay until then.

    Turns whose state is with the client are interrupted: it can have them taken elsewhere.
    """
    house.hall.leave()
    await house.stateless.close()
    if house.durable.live:
        sys.stderr.write(
            f"moot: waiting up to {DRAIN_SECONDS:.0f} s for runs to end; Ctrl-C again ends at once.\n"
        )
    until = asyncio.get_running_loop().time() + DRAIN_SECONDS
    while house.durable.live and not server.should_exit and asyncio.get_running_loop().time() < until:  # noqa: ASYNC110 - three things may end it
        await asyncio.sleep(LOOK_SECONDS)


async def _hang_up(house: "House", server: Server, serving: asyncio.Task[None]) -> None:
    """Take no more calls, and end all streams; readers that come back at once are ended again."""
    server.should_exit = True
    while not serving.done():
        house.readers.end_all()
        house.mcp.end_all()
        await asyncio.wait({serving}, timeout=LOOK_SECONDS)
    await serving


async def _leave(house: "House") -> None:
    """Leave what did not end to whoever starts next; it must not look as if it had failed."""
    left = len(house.durable.live)
    try:
        async with asyncio.timeout(LEAVE_SECONDS):
            await house.leave()
    except (StoreUnavailable, TimeoutError):
        log.warning("the database is away: others will find out by themselves that this server has left")
        left = left or 1
    if left:
        log.warning("runs are left to the next server", extra={"runs": left})
        logging.shutdown()
        os._exit(0)

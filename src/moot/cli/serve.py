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
from moot.app.startup import StartupApp
from moot.types.errors import DatabaseUnavailable, UsageError
from moot.types.primitives import is_loopback

if TYPE_CHECKING:
    from moot.app.container import Services

DRAIN_SECONDS = 10.0
KEEP_ALIVE_SECONDS = (
    75  # longer than proxies and clients keep an idle connection, so that they close it, not the server
)
SHUTDOWN_SECONDS = 5.0
POLL_SECONDS = 0.05
BACKLOG = 2048
WILDCARD_HOSTS = ("0.0.0.0", "::")  # noqa: S104 - to be told apart from an address that can be opened

log = logging.getLogger(__name__)


class ServeOptions(Struct, frozen=True, kw_only=True):
    host: str
    port: int
    config: Path | None = None
    open_browser: bool = False


BackgroundService = Callable[["Services", settings.Settings], AbstractAsyncContextManager[None]]


def no_background_service(*_: object) -> AbstractAsyncContextManager[None]:
    return nullcontext()


def run_serve(options: ServeOptions, background_service: BackgroundService = no_background_service) -> int:
    """Serve until told to end; `beside` is what goes on in the same house meanwhile."""
    chosen = settings.load_settings(options.config, os.environ)
    logs.configure_logging()
    return event_loop.run_coroutine(_serve_until_stopped(options, chosen, background_service))


class GracefulServer(uvicorn.Server):
    """Told to end, it first lets `told` be set, and ends when the owner says so; told again, it ends at once."""

    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self.shutdown_requested = asyncio.Event()
        self._loop = asyncio.get_running_loop()

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:  # noqa: ARG002 - uvicorn's
        if self.shutdown_requested.is_set():
            self.force_exit = self.should_exit = True
        self._loop.call_soon_threadsafe(self.shutdown_requested.set)


class EmbeddedServer(GracefulServer):
    """A server inside another command, which hears the signals itself."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


class RunningServer(Struct, frozen=True):
    """A server that answers: `page` is where a browser finds it, `task` ends when it does."""

    server: GracefulServer
    task: "asyncio.Task[None]"
    page_url: str


async def _serve_until_stopped(
    options: ServeOptions, app_settings: settings.Settings, background_service: BackgroundService
) -> int:
    listening = _open_listener(options)
    async with start_server(
        app_settings, listening, loopback=is_loopback(options.host), background_service=background_service
    ) as serving:
        sys.stderr.write(
            f"moot: listening on {_listener_url(listening)}; open {serving.page_url} in a browser. Ctrl-C stops.\n"
        )
        if options.open_browser:
            # Some browsers return when they end.
            Thread(target=_open_browser, args=(serving.page_url,), daemon=True).start()
        await _wait_for_shutdown(serving)
    return 0


@asynccontextmanager
async def start_server(
    app_settings: settings.Settings,
    listener: socket.socket,
    *,
    loopback: bool,
    server_class: type[GracefulServer] = GracefulServer,
    background_service: BackgroundService = no_background_service,
) -> AsyncIterator[RunningServer]:
    """Open a house and serve it while the block goes on; then let its runs end, or leave them to the next."""
    gate = StartupApp()
    server = server_class(
        uvicorn.Config(
            gate,
            lifespan="off",
            ws="none",
            log_config=None,
            access_log=False,
            timeout_graceful_shutdown=5,
            timeout_keep_alive=KEEP_ALIVE_SECONDS,
        )
    )
    serving = asyncio.create_task(server.serve(sockets=[listener]))
    try:
        building = await asyncio.to_thread(import_module, "moot.app.container")
        async with building.open_services(app_settings, os.environ, _page_url(listener)) as house:
            gate.attach_app(await house.build_asgi_app(app_settings, loopback=loopback))
            async with background_service(house, app_settings):
                yield RunningServer(server, serving, _page_url(listener))
                await _drain_runs(house, server)
            await _close_connections(house, server, serving)
            await _release_unfinished_runs(house)
    finally:
        gate.reject_requests()
        server.should_exit = True
        await asyncio.gather(serving, return_exceptions=True)


def _open_listener(options: ServeOptions) -> socket.socket:
    try:
        family = socket.AF_INET6 if ":" in options.host else socket.AF_INET
        return socket.create_server((options.host, options.port), family=family, backlog=BACKLOG)
    except OSError as error:
        raise UsageError(
            f"Cannot listen on {options.host}, port {options.port}: {error.strerror}. Choose another with --port."
        ) from error


def _listener_url(listener: socket.socket) -> str:
    host, port = listener.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def _page_url(listener: socket.socket) -> str:
    """Say where a browser of this machine finds the page; an address that stands for all others is none to go to."""
    host, port = listener.getsockname()[:2]
    return f"http://localhost:{port}/" if host in WILDCARD_HOSTS else f"{_listener_url(listener)}/"


def _open_browser(page_url: str) -> None:
    if not webbrowser.open(page_url):
        sys.stderr.write(f"moot: there is no browser that could be started; open {page_url} yourself.\n")


async def _wait_for_shutdown(running_server: RunningServer) -> None:
    told = asyncio.create_task(running_server.server.shutdown_requested.wait())
    await asyncio.wait({told, running_server.task}, return_when=asyncio.FIRST_COMPLETED)
    told.cancel()


async def _drain_runs(services: "Services", server: GracefulServer) -> None:
    """Take in nothing new, and give the runs that go on some time to end; their readers stay until then.

    Turns whose state is with the client are interrupted: it can have them taken elsewhere.
    """
    services.discussion_service.drain()
    await services.stateless.close()
    if services.run_manager.executions:
        sys.stderr.write(
            f"moot: waiting up to {DRAIN_SECONDS:.0f} s for runs to end; Ctrl-C again ends at once.\n"
        )
    until = asyncio.get_running_loop().time() + DRAIN_SECONDS
    while (  # noqa: ASYNC110 - three conditions end the loop
        services.run_manager.executions
        and not server.should_exit
        and asyncio.get_running_loop().time() < until
    ):
        await asyncio.sleep(POLL_SECONDS)


async def _close_connections(
    services: "Services", server: GracefulServer, server_task: asyncio.Task[None]
) -> None:
    """Take no more calls, and end all streams; readers that come back at once are ended again."""
    server.should_exit = True
    while not server_task.done():
        services.sse_connections.close_all()
        services.mcp.abort_all()
        await asyncio.wait({server_task}, timeout=POLL_SECONDS)
    await server_task


async def _release_unfinished_runs(services: "Services") -> None:
    """Leave what did not end to whoever starts next; it must not look as if it had failed."""
    left = len(services.run_manager.executions)
    try:
        async with asyncio.timeout(SHUTDOWN_SECONDS):
            await services.shutdown_services()
    except (DatabaseUnavailable, TimeoutError):
        log.warning("the database is away: others will find out by themselves that this server has left")
        left = left or 1
    if left:
        log.warning("runs are left to the next server", extra={"runs": left})
        logging.shutdown()
        os._exit(0)

"""`moot serve`: HTTP server with early listening and graceful shutdown.

Shutdown order: reject new runs, drain active runs, close connections, release unfinished runs.
"""

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
from moot.app import logging as logs
from moot.app.startup import StartupApp
from moot.types.errors import DatabaseUnavailable, UsageError
from moot.types.primitives import is_loopback

if TYPE_CHECKING:
    from moot.app.lifecycle import Worker

DRAIN_SECONDS = 10.0
# Longer than the idle timeout of proxies and clients. If the server closed first, a request could be lost.
KEEP_ALIVE_SECONDS = 75
SHUTDOWN_SECONDS = 5.0
POLL_SECONDS = 0.05
BACKLOG = 2048
WILDCARD_HOSTS = ("0.0.0.0", "::")  # noqa: S104 - only compared

BackgroundService = Callable[["Worker", settings.Settings], AbstractAsyncContextManager[None]]
log = logging.getLogger(__name__)


def no_background_service(*_: object) -> AbstractAsyncContextManager[None]:
    return nullcontext()


class GracefulServer(uvicorn.Server):
    """uvicorn server whose first exit signal only sets `shutdown_requested`; the second exits at once.

    The owner drains the runs and then sets `should_exit`.
    """

    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self.shutdown_requested = asyncio.Event()
        self._loop = asyncio.get_running_loop()

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:  # noqa: ARG002 - uvicorn's
        if self.shutdown_requested.is_set():
            self.force_exit = self.should_exit = True
        self._loop.call_soon_threadsafe(self.shutdown_requested.set)


class EmbeddedServer(GracefulServer):
    """Server inside another command, which handles the signals itself."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


class RunningServer(Struct, frozen=True):
    server: GracefulServer
    task: "asyncio.Task[None]"  # done when the server has stopped
    page_url: str


async def run_serve(
    host: str,
    port: int,
    config: Path | None,
    *,
    open_browser: bool = False,
    background_service: BackgroundService = no_background_service,
) -> int:
    """Serve until a signal arrives. `background_service` runs in the same process, as the Discord bot does."""
    chosen = settings.load_settings(config, os.environ)
    logs.configure_logging()
    listener = _open_listener(host, port)
    async with start_server(
        chosen, listener, loopback=is_loopback(host), background_service=background_service
    ) as running_server:
        sys.stderr.write(
            f"moot: listening on {_listener_url(listener)}; open {running_server.page_url} in a browser. Ctrl-C stops.\n"
        )
        if open_browser:
            # In a thread, because `webbrowser.open` may block until the browser exits.
            Thread(target=_open_browser, args=(running_server.page_url,), daemon=True).start()
        await _wait_for_shutdown(running_server)
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
    """Serve until the block ends; then drain the runs and release the unfinished ones."""
    startup_app = StartupApp()
    server = server_class(
        uvicorn.Config(
            startup_app,
            lifespan="off",
            ws="none",
            log_config=None,
            access_log=False,
            timeout_graceful_shutdown=5,
            timeout_keep_alive=KEEP_ALIVE_SECONDS,
        )
    )
    server_task = asyncio.create_task(server.serve(sockets=[listener]))
    try:
        lifecycle = await asyncio.to_thread(import_module, "moot.app.lifecycle")
        async with lifecycle.open_worker(app_settings, os.environ, _page_url(listener)) as worker:
            startup_app.attach_app(await worker.build_asgi_app(loopback=loopback))
            async with background_service(worker, app_settings):
                yield RunningServer(server, server_task, _page_url(listener))
                await _drain_runs(worker, server)
            await _close_connections(worker, server, server_task)
            await _release_unfinished_runs(worker)
    finally:
        startup_app.reject_requests()
        server.should_exit = True
        await asyncio.gather(server_task, return_exceptions=True)


def _open_listener(host: str, port: int) -> socket.socket:
    try:
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        return socket.create_server((host, port), family=family, backlog=BACKLOG)
    except OSError as error:
        reason = str(error.strerror).partition(" (while")[0]  # the rest repeats the address
        raise UsageError(f"Cannot listen on {host}, port {port}: {reason}. Choose another port with --port.") from error


def _listener_url(listener: socket.socket) -> str:
    host, port = listener.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def _page_url(listener: socket.socket) -> str:
    """Return the URL of the page for a local browser. A wildcard address becomes localhost."""
    host, port = listener.getsockname()[:2]
    return f"http://localhost:{port}/" if host in WILDCARD_HOSTS else f"{_listener_url(listener)}/"


def _open_browser(page_url: str) -> None:
    if not webbrowser.open(page_url):
        sys.stderr.write(f"moot: no browser could be started. Open {page_url} yourself.\n")


async def _wait_for_shutdown(running_server: RunningServer) -> None:
    requested = asyncio.create_task(running_server.server.shutdown_requested.wait())
    await asyncio.wait({requested, running_server.task}, return_when=asyncio.FIRST_COMPLETED)
    requested.cancel()


async def _drain_runs(worker: "Worker", server: GracefulServer) -> None:
    """Reject new runs and wait up to `DRAIN_SECONDS` for active ones. Event streams stay open.

    Stateless turns are interrupted, because the client can retry them on another server.
    """
    executions = worker.engine.run_manager.executions
    worker.services.discussion_service.drain()
    await worker.services.stateless_turns.close()
    if executions:
        sys.stderr.write(f"moot: waiting up to {DRAIN_SECONDS:.0f} s for runs to end. Ctrl-C again stops at once.\n")
    deadline = asyncio.get_running_loop().time() + DRAIN_SECONDS
    while (  # noqa: ASYNC110 - three conditions end the loop
        executions and not server.should_exit and asyncio.get_running_loop().time() < deadline
    ):
        await asyncio.sleep(POLL_SECONDS)


async def _close_connections(worker: "Worker", server: GracefulServer, server_task: asyncio.Task[None]) -> None:
    """Stop the server. Closes event streams in a loop, because clients may reconnect before it has stopped."""
    server.should_exit = True
    while not server_task.done():
        worker.services.sse_connections.close_all()
        worker.services.mcp.abort_all()
        await asyncio.wait({server_task}, timeout=POLL_SECONDS)
    await server_task


async def _release_unfinished_runs(worker: "Worker") -> None:
    """Release unfinished runs to other workers, then exit without cleanup.

    Cleanup would cancel the executions, and their runs could be recorded as failed.
    """
    unfinished = len(worker.engine.run_manager.executions)
    try:
        async with asyncio.timeout(SHUTDOWN_SECONDS):
            await worker.shut_down()
    except (DatabaseUnavailable, TimeoutError):
        log.warning("database unavailable; runs are released when the worker lease expires")
        unfinished = unfinished or 1
    if unfinished:
        log.warning("unfinished runs released", extra={"runs": unfinished})
        logging.shutdown()
        os._exit(0)

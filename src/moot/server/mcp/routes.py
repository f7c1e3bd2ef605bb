"""MCP over HTTP: the address where programs find Moot's tools. The SDK is loaded when the first one comes."""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from importlib import import_module
from typing import Any

from litestar import asgi
from litestar.types import Receive, Scope, Send

from moot.server.disconnects import hang_up
from moot.server.mcp.tools import Tools
from moot.server.request_body import BODY_SECONDS, coming_within
from moot.types.errors import Leaving

PATH = "/mcp"
MAX_BODY = 1_000_000

App = Callable[[Any, Any, Any], Awaitable[None]]
log = logging.getLogger(__name__)


class McpFace:
    """An ASGI app. All sessions live in one task, which begins with the first call and ends with `close`."""

    def __init__(self, tools: Tools) -> None:
        self._tools = tools
        self._ready: asyncio.Future[App] | None = None
        self._living: asyncio.Task[None] | None = None
        self._open: list[Scope] = []

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        app = await self._app()
        visitor = import_module("moot.server.mcp.server").Visitor(scope["user"])
        self._open.append(scope)
        try:
            await app({**scope, "user": visitor}, _in_time(receive), send)
        finally:
            self._open.remove(scope)

    def end_all(self) -> None:
        """Hang up on everybody."""
        for scope in tuple(self._open):
            hang_up(scope)

    async def close(self) -> None:
        if self._living is not None:
            self._living.cancel()
            await asyncio.gather(self._living, return_exceptions=True)

    async def _app(self) -> App:
        if self._ready is None:
            self._ready = asyncio.get_running_loop().create_future()
            self._living = asyncio.create_task(self._live(self._ready))
            self._living.add_done_callback(self._ended)
        return await asyncio.shield(self._ready)

    async def _live(self, ready: "asyncio.Future[App]") -> None:
        building = await asyncio.to_thread(import_module, "moot.server.mcp.server")
        manager = building.sessions(self._tools, MAX_BODY)
        async with manager.run():
            ready.set_result(manager.handle_request)
            await asyncio.get_running_loop().create_future()

    def _ended(self, living: "asyncio.Task[None]") -> None:
        """Send those away who wait for what will not come; what failed begins anew with the next call."""
        if self._ready is not None and not self._ready.done():
            self._ready.set_exception(Leaving("This server is ending: ask again in a moment."))
        if not living.cancelled() and (error := living.exception()) is not None:
            log.error("MCP over HTTP has failed", exc_info=error)
            self._ready = None


def _in_time(receive: Receive) -> Receive:
    """Wait for a body as long as elsewhere, and then for as long as somebody listens."""
    whole = False

    async def received() -> Any:
        nonlocal whole
        if whole:
            return await receive()
        async with coming_within(BODY_SECONDS):
            message = await receive()
        whole = not message.get("more_body", False)
        return message

    return received


@asgi(PATH, copy_scope=True)
async def mcp(scope: Scope, receive: Receive, send: Send) -> None:
    face: McpFace = scope["litestar_app"].state["mcp"]
    await face(scope, receive, send)

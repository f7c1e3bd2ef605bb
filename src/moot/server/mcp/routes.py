"""MCP over HTTP: the address where programs find Moot's tools. The SDK is loaded when the first one comes."""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from importlib import import_module
from typing import Any

from litestar import asgi
from litestar.types import Receive, Scope, Send

from moot.server.disconnects import abort_connection
from moot.server.mcp.tools import McpTools
from moot.server.request_body import BODY_SECONDS, limit_body_time
from moot.types.errors import ShuttingDown

MCP_PATH = "/mcp"
MAX_BODY = 1_000_000

AsgiApp = Callable[[Any, Any, Any], Awaitable[None]]
log = logging.getLogger(__name__)


class McpApp:
    """An ASGI app. All sessions live in one task, which begins with the first call and ends with `close`."""

    def __init__(self, tools: McpTools) -> None:
        self._tools = tools
        self._app_future: asyncio.Future[AsgiApp] | None = None
        self._session_task: asyncio.Task[None] | None = None
        self._open_scopes: list[Scope] = []

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        app = await self._get_app()
        visitor = import_module("moot.server.mcp.server").McpUser(scope["user"])
        self._open_scopes.append(scope)
        try:
            await app({**scope, "user": visitor}, _limit_body_time(receive), send)
        finally:
            self._open_scopes.remove(scope)

    def abort_all(self) -> None:
        """Hang up on everybody."""
        for scope in tuple(self._open_scopes):
            abort_connection(scope)

    async def close(self) -> None:
        if self._session_task is not None:
            self._session_task.cancel()
            await asyncio.gather(self._session_task, return_exceptions=True)

    async def _get_app(self) -> AsgiApp:
        if self._app_future is None:
            self._app_future = asyncio.get_running_loop().create_future()
            self._session_task = asyncio.create_task(self._run_sessions(self._app_future))
            self._session_task.add_done_callback(self._on_sessions_end)
        return await asyncio.shield(self._app_future)

    async def _run_sessions(self, app_future: "asyncio.Future[AsgiApp]") -> None:
        building = await asyncio.to_thread(import_module, "moot.server.mcp.server")
        manager = building.create_session_manager(self._tools, MAX_BODY)
        async with manager.run():
            app_future.set_result(manager.handle_request)
            await asyncio.get_running_loop().create_future()

    def _on_sessions_end(self, task: "asyncio.Task[None]") -> None:
        """Send those away who wait for what will not come; what failed begins anew with the next call."""
        if self._app_future is not None and not self._app_future.done():
            self._app_future.set_exception(ShuttingDown("This server is ending: ask again in a moment."))
        if not task.cancelled() and (error := task.exception()) is not None:
            log.error("MCP over HTTP has failed", exc_info=error)
            self._app_future = None


def _limit_body_time(receive: Receive) -> Receive:
    """Wait for a body as long as elsewhere, and then for as long as somebody listens."""
    whole = False

    async def receive_in_time() -> Any:
        nonlocal whole
        if whole:
            return await receive()
        async with limit_body_time(BODY_SECONDS):
            message = await receive()
        whole = not message.get("more_body", False)
        return message

    return receive_in_time


@asgi(MCP_PATH, copy_scope=True)
async def mcp_endpoint(scope: Scope, receive: Receive, send: Send) -> None:
    face: McpApp = scope["litestar_app"].state["mcp"]
    await face(scope, receive, send)

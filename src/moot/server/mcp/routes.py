"""The MCP endpoint `/mcp`. The MCP SDK is imported at the first request, because the import is slow."""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from importlib import import_module
from typing import Any

from litestar import asgi
from litestar.types import Receive, Scope, Send

from moot.server.abort import abort_connection
from moot.server.mcp.tools import McpTools
from moot.server.requests import BODY_SECONDS, limit_body_time
from moot.streaming.cancellation import cancel_tasks
from moot.types.errors import ShuttingDown

MCP_PATH = "/mcp"
MAX_BODY = 1_000_000

AsgiApp = Callable[[Any, Any, Any], Awaitable[None]]
log = logging.getLogger(__name__)


class McpApp:
    """ASGI app of the MCP endpoint. One task owns all sessions, from the first request to `close`.

    A single task is needed because anyio requires that a task group is entered and left in the same task.
    """

    def __init__(self, tools: McpTools) -> None:
        self._tools = tools
        self._app_future: asyncio.Future[AsgiApp] | None = None
        self._session_task: asyncio.Task[None] | None = None
        self._open_scopes: list[Scope] = []

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        app = await self._get_app()
        user = import_module("moot.server.mcp.server").McpUser(scope["user"])
        self._open_scopes.append(scope)
        try:
            await app({**scope, "user": user}, _limit_body_time(receive), send)
        finally:
            self._open_scopes.remove(scope)

    def abort_all(self) -> None:
        for scope in tuple(self._open_scopes):
            abort_connection(scope)

    async def close(self) -> None:
        if self._session_task is not None:
            await cancel_tasks(self._session_task)

    async def _get_app(self) -> AsgiApp:
        if self._app_future is None:
            self._app_future = asyncio.get_running_loop().create_future()
            self._session_task = asyncio.create_task(self._run_sessions(self._app_future))
            self._session_task.add_done_callback(self._on_sessions_end)
        return await asyncio.shield(self._app_future)

    async def _run_sessions(self, app_future: "asyncio.Future[AsgiApp]") -> None:
        module = await asyncio.to_thread(import_module, "moot.server.mcp.server")
        manager = module.create_session_manager(self._tools, MAX_BODY)
        async with manager.run():
            app_future.set_result(manager.handle_request)
            # Keep the session manager open until `close` cancels this task.
            await asyncio.get_running_loop().create_future()

    def _on_sessions_end(self, task: "asyncio.Task[None]") -> None:
        """Reject waiting requests. After an error, reset the future so that the next request starts again."""
        if self._app_future is not None and not self._app_future.done():
            self._app_future.set_exception(ShuttingDown("This server is shutting down. Try again in a moment."))
        if not task.cancelled() and (error := task.exception()) is not None:
            log.error("MCP session manager failed", exc_info=error)
            self._app_future = None


def _limit_body_time(receive: Receive) -> Receive:
    """Apply the read timeout to the body only. After it, `receive` waits for the disconnect of the client."""
    body_complete = False

    async def receive_in_time() -> Any:
        nonlocal body_complete
        if body_complete:
            return await receive()
        async with limit_body_time(BODY_SECONDS):
            message = await receive()
        body_complete = not message.get("more_body", False)
        return message

    return receive_in_time


@asgi(MCP_PATH, copy_scope=True)
async def mcp_endpoint(scope: Scope, receive: Receive, send: Send) -> None:
    mcp_app: McpApp = scope["litestar_app"].state["mcp"]
    await mcp_app(scope, receive, send)

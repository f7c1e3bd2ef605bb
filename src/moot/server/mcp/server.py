"""MCP over HTTP: the address where programs find Moot's tools. The SDK is loaded when the first one comes."""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from importlib import import_module
from typing import Any

import msgspec
from litestar import asgi
from litestar.types import Receive, Scope, Send
from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser
from mcp.server.auth.provider import AccessToken
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp_types import (
    CallToolRequestParams,
    CallToolResult,
    ListToolsResult,
    PaginatedRequestParams,
    TextContent,
    ToolAnnotations,
)
from mcp_types import Tool as ToolOffer

from moot import __version__
from moot.server.disconnects import hang_up
from moot.server.mcp.tools import Result, Tool, Tools
from moot.server.request_body import BODY_SECONDS, coming_within
from moot.types.accounts import Caller
from moot.types.errors import Leaving, MootError

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


INSTRUCTIONS = (
    "Moot puts several language models around one table. Use ask to put a question to a line-up or to models; "
    "the discussion that it names can be gone on with, and read."
)


class Visitor(AuthenticatedUser):
    """A caller as the SDK knows users: a session is only ever used by who opened it."""

    def __init__(self, caller: Caller) -> None:
        super().__init__(
            AccessToken(token="", client_id=caller.account, subject=caller.credential, scopes=[])
        )
        self.caller = caller


def mcp_server(tools: Tools) -> Server[Any]:
    async def listed(_: ServerRequestContext[Any], __: PaginatedRequestParams | None) -> ListToolsResult:
        return ListToolsResult(tools=[_offer(tool) for tool in tools.offered.values()])

    async def called(ctx: ServerRequestContext[Any], params: CallToolRequestParams) -> CallToolResult:
        told = 0.0

        async def tell(progress: float, message: str) -> None:
            nonlocal told
            told = max(told + 1, progress)  # each time more than before, as MCP demands
            await ctx.session.report_progress(told, message=message)

        try:
            return _result(await tools.call(_caller(ctx), params.name, params.arguments or {}, tell))
        except MootError as error:
            return CallToolResult(content=[TextContent(type="text", text=str(error))], is_error=True)

    return Server(
        "moot", version=__version__, instructions=INSTRUCTIONS, on_list_tools=listed, on_call_tool=called
    )


def sessions(tools: Tools, max_body: int) -> StreamableHTTPSessionManager:
    """Serve the tools over HTTP. Where a call comes from is looked at before it gets here."""
    return StreamableHTTPSessionManager(mcp_server(tools), max_request_body_size=max_body)


def _caller(ctx: ServerRequestContext[Any]) -> Caller:
    """Find out who sent this very message."""
    assert ctx.request is not None  # noqa: S101 - every message comes over HTTP
    visitor: Visitor = ctx.request.scope["user"]
    return visitor.caller


def _offer(tool: Tool) -> ToolOffer:
    return ToolOffer(
        name=tool.name,
        title=tool.title,
        description=tool.description,
        input_schema=tool.schema,
        annotations=ToolAnnotations(
            read_only_hint=tool.reads, destructive_hint=False, open_world_hint=not tool.reads
        ),
    )


def _result(result: Result) -> CallToolResult:
    return CallToolResult(
        content=[TextContent(type="text", text=result.text)],
        structured_content=msgspec.to_builtins(result.data),
        is_error=result.failed,
    )

"""Adapter between the MCP SDK and Moot's tools. Imported at the first request, because the SDK loads slowly."""

from typing import Any

import msgspec
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
from moot.server.mcp.tools import McpTool, McpTools
from moot.types.accounts import Caller
from moot.types.errors import MootError

INSTRUCTIONS = (
    "In Moot, several language models answer one question and discuss it. Use ask to put a question to a preset or to "
    "models. It returns the id of the discussion: continue the discussion with ask, or read it with read_discussion."
)


class McpUser(AuthenticatedUser):
    """A caller as the SDK's user type. The SDK rejects requests to a session of another user."""

    def __init__(self, caller: Caller) -> None:
        super().__init__(AccessToken(token="", client_id=caller.account, subject=caller.credential, scopes=[]))
        self.caller = caller


def create_session_manager(tools: McpTools, max_body: int) -> StreamableHTTPSessionManager:
    """The SDK's own origin check is not needed, because `SameOriginMiddleware` runs first."""

    async def list_tools(_: ServerRequestContext[Any], __: PaginatedRequestParams | None) -> ListToolsResult:
        return ListToolsResult(tools=list(map(_describe_tool, tools.by_name.values())))

    async def call_tool(ctx: ServerRequestContext[Any], params: CallToolRequestParams) -> CallToolResult:
        last_progress = 0.0

        async def report_progress(progress: float, message: str) -> None:
            nonlocal last_progress
            last_progress = max(last_progress + 1, progress)  # MCP requires that the value increases
            await ctx.session.report_progress(last_progress, message=message)

        assert ctx.request is not None  # noqa: S101 - every message comes over HTTP
        user: McpUser = ctx.request.scope["user"]  # of this message, not the user that opened the session
        try:
            output = await tools.call_tool(user.caller, params.name, params.arguments or {}, report_progress)
        except MootError as error:
            return CallToolResult(content=[TextContent(type="text", text=str(error))], is_error=True)
        return CallToolResult(
            content=[TextContent(type="text", text=output.text)],
            structured_content=msgspec.to_builtins(output.data),
            is_error=output.failed,
        )

    server = Server[Any](
        "moot", version=__version__, instructions=INSTRUCTIONS, on_list_tools=list_tools, on_call_tool=call_tool
    )
    return StreamableHTTPSessionManager(server, max_request_body_size=max_body)


def _describe_tool(tool: McpTool) -> ToolOffer:
    return ToolOffer(
        name=tool.name,
        title=tool.title,
        description=tool.description,
        input_schema=tool.input_schema,
        annotations=ToolAnnotations(
            read_only_hint=tool.read_only, destructive_hint=False, open_world_hint=not tool.read_only
        ),
    )

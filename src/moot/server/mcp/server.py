"""Moot as an MCP server: the official SDK on one side, Moot's tools on the other. Loaded when somebody calls."""

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
from moot.server.mcp.tools import McpTool, McpTools, ToolOutput
from moot.types.accounts import Caller
from moot.types.errors import MootError

INSTRUCTIONS = (
    "Moot puts several language models around one table. Use ask to put a question to a line-up or to models; "
    "the discussion that it names can be gone on with, and read."
)


class McpUser(AuthenticatedUser):
    """A caller as the SDK knows users: a session is only ever used by who opened it."""

    def __init__(self, caller: Caller) -> None:
        super().__init__(
            AccessToken(token="", client_id=caller.account, subject=caller.credential, scopes=[])
        )
        self.caller = caller


def create_mcp_server(tools: McpTools) -> Server[Any]:
    async def list_tools(_: ServerRequestContext[Any], __: PaginatedRequestParams | None) -> ListToolsResult:
        return ListToolsResult(tools=[_describe_tool(tool) for tool in tools.by_name.values()])

    async def call_tool(ctx: ServerRequestContext[Any], params: CallToolRequestParams) -> CallToolResult:
        told = 0.0

        async def report_progress(progress: float, message: str) -> None:
            nonlocal told
            told = max(told + 1, progress)  # each time more than before, as MCP demands
            await ctx.session.report_progress(told, message=message)

        try:
            return _tool_result(
                await tools.call_tool(
                    _message_caller(ctx), params.name, params.arguments or {}, report_progress
                )
            )
        except MootError as error:
            return CallToolResult(content=[TextContent(type="text", text=str(error))], is_error=True)

    return Server(
        "moot",
        version=__version__,
        instructions=INSTRUCTIONS,
        on_list_tools=list_tools,
        on_call_tool=call_tool,
    )


def create_session_manager(tools: McpTools, max_body: int) -> StreamableHTTPSessionManager:
    """Serve the tools over HTTP. Where a call comes from is looked at before it gets here."""
    return StreamableHTTPSessionManager(create_mcp_server(tools), max_request_body_size=max_body)


def _message_caller(ctx: ServerRequestContext[Any]) -> Caller:
    """Find out who sent this very message."""
    assert ctx.request is not None  # noqa: S101 - every message comes over HTTP
    visitor: McpUser = ctx.request.scope["user"]
    return visitor.caller


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


def _tool_result(result: ToolOutput) -> CallToolResult:
    return CallToolResult(
        content=[TextContent(type="text", text=result.text)],
        structured_content=msgspec.to_builtins(result.data),
        is_error=result.failed,
    )

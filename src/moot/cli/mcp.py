"""`moot mcp`: Moot's tools on standard input and output, for programs that start their MCP servers themselves.

What is called is passed on to a server's `/mcp`: one that runs, or one of our own for as long as the caller stays.
"""

import logging
import os
from pathlib import Path
from typing import Any

import httpx2
from mcp import Client, MCPError
from mcp.client.streamable_http import streamable_http_client
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server
from mcp_types import (
    CallToolRequestParams,
    CallToolResult,
    ListToolsResult,
    PaginatedRequestParams,
    TextContent,
)

from moot import __version__, settings
from moot.app import event_loop
from moot.app import logging as logs
from moot.cli.connect import Door, reached
from moot.cli.http_client import Api

CONNECT_SECONDS = 30.0


def run(server: str | None, config: Path | None) -> int:
    return event_loop.run(_run(server, config))


async def _run(server: str | None, config: Path | None) -> int:
    logs.configure(logging.WARNING)
    chosen = settings.load(config, os.environ)
    async with reached(server, chosen, os.environ) as door:
        async with Api(door, _silent) as api:
            await api.check()
        await _pass_on(door)
    return 0


async def _pass_on(door: Door) -> None:
    """Serve standard input until it ends."""
    patient = httpx2.Timeout(CONNECT_SECONDS, read=None)  # a table may think for long
    async with httpx2.AsyncClient(headers=door.headers, timeout=patient) as http:
        transport = streamable_http_client(f"{door.url}/mcp", http_client=http, max_sse_event_size=None)
        async with Client(transport) as client, stdio_server() as (read, write):
            passing = passing_on(client)
            await passing.run(read, write, passing.create_initialization_options())


def passing_on(client: Client) -> Server[Any]:
    """Make a server that offers what another one does."""

    async def listed(_: ServerRequestContext[Any], params: PaginatedRequestParams | None) -> ListToolsResult:
        return await client.list_tools(cursor=params.cursor if params else None)

    async def called(ctx: ServerRequestContext[Any], params: CallToolRequestParams) -> CallToolResult:
        async def tell(progress: float, total: float | None, message: str | None) -> None:
            await ctx.session.report_progress(progress, total, message)

        try:
            return await client.call_tool(params.name, params.arguments or {}, progress_callback=tell)
        except MCPError as error:
            words = f"The Moot server did not answer: {error}"
            return CallToolResult(content=[TextContent(type="text", text=words)], is_error=True)

    return Server(
        "moot",
        version=__version__,
        instructions=client.instructions,
        on_list_tools=listed,
        on_call_tool=called,
    )


def _silent(_: str) -> None:
    """Nobody reads along."""

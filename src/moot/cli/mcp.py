"""`moot mcp`: MCP server over standard input and output, for clients that start their own servers.

A proxy to `/mcp` of a Moot server: a running one, or one embedded in this process.
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
from mcp_types import CallToolRequestParams, CallToolResult, ListToolsResult, PaginatedRequestParams, TextContent

from moot import __version__, settings
from moot.app import logging as logs
from moot.cli.http_client import ApiClient, ServerAddress, connect_to_server

CONNECT_SECONDS = 30.0


async def run_mcp(server: str | None, config: Path | None) -> int:
    logs.configure_logging(logging.WARNING)
    chosen = settings.load_settings(config, os.environ)
    async with connect_to_server(server, chosen, os.environ) as address:
        async with ApiClient(address, _ignore_message) as api:
            await api.check_connection()
        await _serve_stdio_proxy(address)
    return 0


async def _serve_stdio_proxy(server: ServerAddress) -> None:
    timeouts = httpx2.Timeout(CONNECT_SECONDS, read=None)  # a run may take long; no read timeout
    async with httpx2.AsyncClient(headers=server.headers, timeout=timeouts) as http:
        transport = streamable_http_client(f"{server.url}/mcp", http_client=http, max_sse_event_size=None)
        async with Client(transport) as client, stdio_server() as (read, write):
            proxy = build_proxy_server(client)
            await proxy.run(read, write, proxy.create_initialization_options())


def build_proxy_server(client: Client) -> Server[Any]:
    """Return an MCP server that forwards tool requests and progress to `client`."""

    async def list_tools(_: ServerRequestContext[Any], params: PaginatedRequestParams | None) -> ListToolsResult:
        return await client.list_tools(cursor=params.cursor if params else None)

    async def call_tool(ctx: ServerRequestContext[Any], params: CallToolRequestParams) -> CallToolResult:
        async def report_progress(progress: float, total: float | None, message: str | None) -> None:
            await ctx.session.report_progress(progress, total, message)

        try:
            return await client.call_tool(params.name, params.arguments or {}, progress_callback=report_progress)
        except MCPError as error:
            text = f"The Moot server did not answer: {error}"
            return CallToolResult(content=[TextContent(type="text", text=text)], is_error=True)

    return Server(
        "moot", version=__version__, instructions=client.instructions, on_list_tools=list_tools, on_call_tool=call_tool
    )


def _ignore_message(_: str) -> None:
    """Discard connection notices: stdout carries the protocol."""

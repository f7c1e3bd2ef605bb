"""The test server of tools, as a command and at an address."""

import asyncio
import socket
import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from functools import partial
from pathlib import Path

import uvicorn

from moot.tools.mcp import McpToolbox
from moot.tools.mcp_transports import open_http_transport, open_stdio_transport
from tests.tools import server

TOOL_SERVER_COMMAND = (sys.executable, "-IS", str(Path(__file__).parents[1] / "tools/light_server.py"))
OFFICIAL_SERVER_COMMAND = (
    sys.executable,
    str(Path(__file__).parents[1] / "tools/server.py"),
)  # with the official library
OTHER_COMMANDS = {  # commands that are not the light server
    "official": OFFICIAL_SERVER_COMMAND,
    "dies": (sys.executable, "-c", "raise SystemExit(1)"),
    "hangs": (sys.executable, "-c", "import time; time.sleep(600)"),
}
# Scripts of models that call a tool of the server `notes`: one only reads, the other has effects.
TOOL_CALLING_SCRIPTS = """\
[reader]
answer = "Let me look."
answer_after_tool = "It says: {result}"
[reader.tool]
name = "notes__look_up"
arguments = '{"word": "moot"}'

[writer]
answer = "I note it."
answer_after_tool = "Done: {result}"
[writer.tool]
name = "notes__write_down"
arguments = '{"text": "one"}'
"""
START_TIMEOUT_SECONDS = 120.0  # seconds, on a machine that does much else


def stdio_toolbox(behaviour: str = "", start_seconds: float = START_TIMEOUT_SECONDS, **environment: str) -> McpToolbox:
    connect = partial(
        open_stdio_transport, OTHER_COMMANDS.get(behaviour, (*TOOL_SERVER_COMMAND, behaviour)), environment
    )
    return McpToolbox("test", connect, start_seconds=start_seconds)


def http_toolbox(
    url: str,
    headers: Mapping[str, str] | None = None,
    *,
    allow_private_hosts: bool = True,
    start_seconds: float = START_TIMEOUT_SECONDS,
) -> McpToolbox:
    connect = partial(open_http_transport, url, headers or {}, allow_private_hosts=allow_private_hosts)
    return McpToolbox("test", connect, list((headers or {}).values()), start_seconds=start_seconds)


@asynccontextmanager
async def serve_app(app: object) -> AsyncIterator[str]:
    """Serve an application on a port of this machine, and return its address."""
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        port = bound.getsockname()[1]
        config = uvicorn.Config(app, log_level="critical", timeout_graceful_shutdown=1)  # type: ignore[arg-type]
        running = uvicorn.Server(config)
        running.install_signal_handlers = lambda: None  # type: ignore[attr-defined]
        task = asyncio.create_task(running._serve([bound]))
        try:
            while not running.started:
                await asyncio.sleep(0.01)
            yield f"http://127.0.0.1:{port}"
        finally:
            running.should_exit = running.force_exit = True
            with suppress(asyncio.CancelledError):
                await task


@asynccontextmanager
async def serve_http_tools() -> AsyncIterator[str]:
    async with serve_app(server.create_server().streamable_http_app()) as address:
        yield f"{address}/mcp"

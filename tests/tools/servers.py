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

COMMAND = (sys.executable, "-IS", str(Path(__file__).with_name("light_server.py")))
OFFICIAL = (sys.executable, str(Path(__file__).with_name("server.py")))  # with the official library
OTHERS = {  # commands that are not the light server
    "official": OFFICIAL,
    "dies": (sys.executable, "-c", "raise SystemExit(1)"),
    "hangs": (sys.executable, "-c", "import time; time.sleep(600)"),
}
# Scripts of voices that call a tool of a server that is called `notes`: one only reads, the other has effects.
READER_AND_WRITER = """\
[reader]
answer = "Let me look."
then = "It says: {result}"
[reader.tool]
name = "notes__look_up"
arguments = '{"word": "moot"}'

[writer]
answer = "I note it."
then = "Done: {result}"
[writer.tool]
name = "notes__write_down"
arguments = '{"text": "one"}'
"""
PATIENT = 120.0  # seconds, on a machine that does much else


def by_command(how: str = "", seconds: float = PATIENT, **environment: str) -> McpToolbox:
    connect = partial(open_stdio_transport, OTHERS.get(how, (*COMMAND, how)), environment)
    return McpToolbox("test", connect, start_seconds=seconds)


def by_address(
    url: str, headers: Mapping[str, str] | None = None, *, anywhere: bool = True, seconds: float = PATIENT
) -> McpToolbox:
    connect = partial(open_http_transport, url, headers or {}, allow_private_hosts=anywhere)
    return McpToolbox("test", connect, list((headers or {}).values()), start_seconds=seconds)


@asynccontextmanager
async def listening(app: object) -> AsyncIterator[str]:
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
async def at_an_address() -> AsyncIterator[str]:
    async with listening(server.made().streamable_http_app()) as address:
        yield f"{address}/mcp"

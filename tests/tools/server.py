"""A server of tools for tests, over standard input and output or HTTP, that can be told to misbehave."""

import os
import sys
import time

import anyio
from mcp.server import MCPServer
from mcp_types import ToolAnnotations

server = MCPServer("test")
READ_ONLY = ToolAnnotations(read_only_hint=True)


@server.tool(annotations=READ_ONLY)
def look_up(word: str) -> str:
    """Look a word up."""
    return f"{word}: a meeting"


@server.tool()
def write_down(text: str) -> str:
    """Write something down."""
    if path := os.environ.get("NOTES"):
        with open(path, "a", encoding="utf-8") as file:  # noqa: PTH123
            file.write(f"{text}\n")
    return "Written."


@server.tool(annotations=READ_ONLY)
def fail() -> str:
    """Fail."""
    raise ValueError("no such luck")


@server.tool(annotations=READ_ONLY)
async def hang() -> str:
    """Never return."""
    await anyio.sleep_forever()
    return ""


@server.tool(annotations=READ_ONLY)
def die() -> str:
    """End the whole server."""
    os._exit(1)


@server.tool(annotations=READ_ONLY)
def megabyte() -> str:
    """Return very much."""
    return "x" * 1_000_000


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["hang"]:
            time.sleep(600)
        case ["dies"]:
            sys.exit(1)
        case ["nonsense"]:
            print("this is no JSON", flush=True)  # noqa: T201
            time.sleep(600)
        case ["stubborn"]:  # it does not end when it should
            import signal

            signal.signal(signal.SIGTERM, signal.SIG_IGN)
            try:
                server.run("stdio")
            finally:
                time.sleep(600)
        case ["mute"]:  # it starts, and never lists its tools
            from mcp_types import ListToolsResult

            async def never(*_: object) -> ListToolsResult:
                await anyio.sleep_forever()
                return ListToolsResult(tools=[])

            server.list_tools = never  # type: ignore[method-assign]
            server.run("stdio")
        case _:
            server.run("stdio")

"""A tool server for tests, with the official library, over standard input and output or HTTP."""

import os
from pathlib import Path

import anyio
from mcp.server import MCPServer
from mcp_types import ToolAnnotations

READ_ONLY = ToolAnnotations(read_only_hint=True)


def look_up(word: str) -> str:
    """Look a word up."""
    return f"{word}: a meeting"


def write_down(text: str) -> str:
    """Write something down."""
    if path := os.environ.get("NOTES"):
        with Path(path).open("a", encoding="utf-8") as file:
            file.write(f"{text}\n")
    return "Written."


async def write_and_hang(text: str) -> str:
    """Write something down, and never return."""
    write_down(text)
    return await hang()


def fail() -> str:
    """Fail."""
    raise ValueError("no such luck")


async def hang() -> str:
    """Never return."""
    await anyio.sleep_forever()
    return ""


def die() -> str:
    """End the whole server."""
    os._exit(1)


def megabyte() -> str:
    """Return very much."""
    return "x" * 1_000_000


def create_server() -> MCPServer:
    server = MCPServer("test")
    server.add_tool(write_down)
    server.add_tool(write_and_hang)
    for tool in (look_up, fail, hang, die, megabyte):
        server.add_tool(tool, annotations=READ_ONLY)
    return server


if __name__ == "__main__":
    create_server().run("stdio")

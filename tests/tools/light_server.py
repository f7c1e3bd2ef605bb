"""The tool server for tests as a fast command: the same tools, without the MCP library.

The official library takes a second of CPU time to load. `server.py` uses it, and one test runs it as a command.
"""

import inspect
import json
import os
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

PROTOCOL_VERSION = "2025-06-18"
METHOD_NOT_FOUND = -32601


def look_up(word: str) -> str:
    """Look a word up."""
    return f"{word}: a meeting"


def write_down(text: str) -> str:
    """Write something down."""
    if path := os.environ.get("NOTES"):
        with Path(path).open("a", encoding="utf-8") as file:
            file.write(f"{text}\n")
    return "Written."


def write_and_hang(text: str) -> None:
    """Write something down, and never return."""
    write_down(text)


def fail() -> str:
    """Fail."""
    raise ValueError("no such luck")


def hang() -> None:
    """Never return."""


def die() -> str:
    """End the whole server."""
    os._exit(1)


def megabyte() -> str:
    """Return very much."""
    return "x" * 1_000_000


WRITING_TOOLS: tuple[Callable[..., str | None], ...] = (write_down, write_and_hang)
READING_TOOLS: tuple[Callable[..., str | None], ...] = (look_up, fail, hang, die, megabyte)
TOOLS = {tool.__name__: tool for tool in (*WRITING_TOOLS, *READING_TOOLS)}


def describe_tool(tool: Callable[..., str | None]) -> dict[str, Any]:
    names = list(inspect.signature(tool).parameters)
    schema = {"type": "object", "properties": {name: {"type": "string"} for name in names}, "required": names}
    about = {"name": tool.__name__, "description": tool.__doc__, "inputSchema": schema}
    return about | ({"annotations": {"readOnlyHint": True}} if tool in READING_TOOLS else {})


def call_tool(name: str, arguments: dict[str, Any]) -> dict[str, Any] | None:
    """Call a tool. One that returns None never answers."""
    try:
        text, is_error = TOOLS[name](**arguments), False
    except Exception as error:  # noqa: BLE001 - the client gets every error
        text, is_error = f"Error executing tool {name}: {error!r}", True
    return None if text is None else {"content": [{"type": "text", "text": text}], "isError": is_error}


def handle_request(behaviour: str, method: str, parameters: dict[str, Any]) -> dict[str, Any] | None:
    """Return the result of a request, or None if there is no reply."""
    result: dict[str, Any] | None
    match method:
        case "initialize":
            about = {"name": "test", "version": "1"}
            result = {"protocolVersion": PROTOCOL_VERSION, "capabilities": {"tools": {}}, "serverInfo": about}
        case "tools/list":
            result = None if behaviour == "mute" else {"tools": [describe_tool(tool) for tool in TOOLS.values()]}
        case "tools/call":
            result = call_tool(parameters["name"], parameters.get("arguments") or {})
        case _:
            return {"error": {"code": METHOD_NOT_FOUND, "message": "Method not found"}}
    return None if result is None else {"result": result}


def serve(behaviour: str) -> None:
    for line in sys.stdin:
        request = json.loads(line)
        if "id" in request and "method" in request:
            found = handle_request(behaviour, request["method"], request.get("params") or {})
            if found is not None:
                sys.stdout.write(json.dumps({"jsonrpc": "2.0", "id": request["id"], **found}) + "\n")
                sys.stdout.flush()


if __name__ == "__main__":
    behaviour = sys.argv[1] if len(sys.argv) > 1 else ""
    if behaviour == "stubborn":  # it does not end when it should
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    serve(behaviour)
    if behaviour == "stubborn":
        time.sleep(600)

"""A tool server that writes notes down, as a command that starts at once: it imports little, and speaks MCP by hand.

The test server of `tests/tools` speaks all of MCP, but takes seconds of processor time to start.
"""

import json
import os
import sys
from pathlib import Path
from typing import Any

COMMAND = (sys.executable, "-IS", __file__)
TOOLS = [
    {
        "name": "write_down",
        "description": "Write something down.",
        "inputSchema": {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]},
    },
    {
        "name": "count",
        "description": "Count what is written down.",
        "inputSchema": {"type": "object", "properties": {}},
        "annotations": {"readOnlyHint": True},
    },
]


def answer(method: str, asked: dict[str, Any]) -> dict[str, Any] | None:
    """Return the result of a request, or None where it is unknown."""
    match method:
        case "initialize":
            return {
                "protocolVersion": asked["protocolVersion"],
                "capabilities": {"tools": {}},
                "serverInfo": {"name": "notes", "version": "1"},
            }
        case "tools/list":
            return {"tools": TOOLS}
        case "tools/call":
            return {"content": [{"type": "text", "text": called(asked["name"], asked.get("arguments", {}))}]}
        case "ping":
            return {}
    return None


def called(name: str, arguments: dict[str, str]) -> str:
    notes = Path(os.environ["NOTES"])
    if name == "write_down":
        with notes.open("a", encoding="utf-8") as file:
            file.write(f"{arguments['text']}\n")
        return "Written."
    return str(len(notes.read_text("utf-8").splitlines()))


def main() -> None:
    for line in sys.stdin:
        request = json.loads(line)
        if "id" not in request:
            continue
        result = answer(request["method"], request.get("params", {}))
        unknown = {"error": {"code": -32601, "message": "Method not found"}}
        reply = unknown if result is None else {"result": result}
        sys.stdout.write(json.dumps({"jsonrpc": "2.0", "id": request["id"], **reply}) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()

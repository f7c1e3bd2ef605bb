"""Calling Moot's tools over MCP: a question, what its answer says, and somebody who hears how it goes."""

import asyncio

from mcp_types import CallToolResult, TextContent

ASKED = {"question": "What is a moot?", "models": ["scripted/echo", "scripted/steady"]}
SILENT = ASKED | {"models": ["scripted/silence"]}
STEADY = "A table has no head when it is round."


class Progress:
    """Hears how a call goes on; `begun` is set when it does."""

    def __init__(self) -> None:
        self.begun = asyncio.Event()
        self.told: list[tuple[float, str | None]] = []

    async def __call__(self, progress: float, total: float | None, message: str | None) -> None:
        self.told.append((progress, message))
        self.begun.set()


def text(result: CallToolResult) -> str:
    (block,) = result.content
    assert isinstance(block, TextContent)
    return block.text

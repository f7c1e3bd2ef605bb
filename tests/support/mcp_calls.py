"""Calling Moot's tools over MCP: a question, what its answer says, and somebody who hears how it goes."""

import asyncio

from mcp_types import CallToolResult, TextContent

ASK_ARGUMENTS = {"question": "What is a moot?", "models": ["scripted/echo", "scripted/steady"]}
SILENT_ASK_ARGUMENTS = ASK_ARGUMENTS | {"models": ["scripted/silence"]}
STEADY_ANSWER = "A table has no head when it is round."


class ProgressRecorder:
    """Hears how a call goes on; `begun` is set when it does."""

    def __init__(self) -> None:
        self.started = asyncio.Event()
        self.reports: list[tuple[float, str | None]] = []

    async def __call__(self, progress: float, total: float | None, message: str | None) -> None:
        self.reports.append((progress, message))
        self.started.set()


def result_text(result: CallToolResult) -> str:
    (block,) = result.content
    assert isinstance(block, TextContent)
    return block.text

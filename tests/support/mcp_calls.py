"""Calls of Moot's tools over MCP: arguments, the text of a result, and a recorder of progress."""

import asyncio

from mcp_types import CallToolResult, TextContent

ASK_ARGUMENTS = {"question": "What is a moot?", "models": ["scripted/echo", "scripted/steady"]}
SILENT_ASK_ARGUMENTS = ASK_ARGUMENTS | {"models": ["scripted/silence"]}
STEADY_ANSWER = "A table has no head when it is round."


class ProgressRecorder:
    """Records the progress of a call. `started` is set at the first report."""

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

"""Toolkits of functions, and somebody who is asked whether they may be called."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from msgspec import Raw

from moot.engine.tools.approval_policy import ApprovalState, ToolCallRequest
from moot.engine.tools.toolset import ToolBinding, Toolset
from moot.tools.fake import FakeTool, FakeToolbox
from moot.types.tools import ApprovalDecision, ToolInfo

WORD = Raw(b'{"type":"object","properties":{"word":{"type":"string"}},"required":["word"]}')
Work = Callable[[Mapping[str, Any]], Awaitable[str]]


async def look_up(arguments: Mapping[str, Any]) -> str:
    return f"{arguments['word']} is a meeting."


async def never(_: Mapping[str, Any]) -> str:
    await asyncio.Event().wait()
    return ""


class Asked:
    """Somebody who answers what they were told to; None never answers."""

    def __init__(self, answer: ApprovalDecision | None = "allow", standing: ApprovalState = "wanted") -> None:
        self.log: list[str] = []
        self._answer = answer
        self._standing = standing

    async def approval_state(self, request: ToolCallRequest) -> ApprovalState:
        return self._standing

    async def request_approval(self, request: ToolCallRequest) -> None:
        self.log.append(f"asked {request.tool}")

    async def wait_for_decision(self, request: ToolCallRequest) -> ApprovalDecision:
        if self._answer is None:
            await asyncio.Event().wait()
        assert self._answer is not None
        return self._answer

    async def record_call_start(self, request: ToolCallRequest) -> None:
        self.log.append(f"begun {request.tool}")


class Bench:
    """One tool in a kit, and what was called of it."""

    def __init__(
        self,
        work: Work = look_up,
        *,
        effects: bool = False,
        trusted: bool = False,
        asked: Asked | None = None,
        tool_seconds: float = 60,
        approval_seconds: float = 60,
    ) -> None:
        info = ToolInfo(name="look_up", description="Looks.", parameters=WORD, effects=effects)
        self.box = FakeToolbox(FakeTool(info, work))
        self.asked = asked or Asked()
        offer = ToolBinding(title="dict/look_up", info=info, toolbox=self.box, trusted=trusted)
        self.kit = Toolset([offer], self.asked, tool_seconds, approval_seconds)

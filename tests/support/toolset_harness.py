"""Toolsets of functions, and approvals that follow a script."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from msgspec import Raw

from moot.engine.tools.toolset import ApprovalState, ToolBinding, ToolCallRequest, Toolset
from moot.types.tools import ApprovalDecision, ToolInfo
from tests.support.fake_toolbox import FakeTool, FakeToolbox

WORD_SCHEMA = Raw(b'{"type":"object","properties":{"word":{"type":"string"}},"required":["word"]}')
ToolFunction = Callable[[Mapping[str, Any]], Awaitable[str]]


async def look_up(arguments: Mapping[str, Any]) -> str:
    return f"{arguments['word']} is a meeting."


async def never_returns(_: Mapping[str, Any]) -> str:
    await asyncio.Event().wait()
    return ""


class ScriptedApprovals:
    """Answers every request for approval with one decision; with None it never answers."""

    def __init__(self, decision: ApprovalDecision | None = "allow", state: ApprovalState = "wanted") -> None:
        self.log: list[str] = []
        self._decision = decision
        self._state = state

    async def approval_state(self, request: ToolCallRequest) -> ApprovalState:
        return self._state

    async def request_approval(self, request: ToolCallRequest) -> None:
        self.log.append(f"asked {request.tool}")

    async def wait_for_decision(self, request: ToolCallRequest) -> ApprovalDecision:
        if self._decision is None:
            await asyncio.Event().wait()
        assert self._decision is not None
        return self._decision

    async def record_call_start(self, request: ToolCallRequest) -> None:
        self.log.append(f"begun {request.tool}")


class ToolsetHarness:
    """A toolset with one tool."""

    def __init__(
        self,
        function: ToolFunction = look_up,
        *,
        effects: bool = False,
        trusted: bool = False,
        approvals: ScriptedApprovals | None = None,
        tool_seconds: float = 60,
        approval_seconds: float = 60,
    ) -> None:
        info = ToolInfo(name="look_up", description="Looks.", parameters=WORD_SCHEMA, has_effects=effects)
        self.toolbox = FakeToolbox(FakeTool(info, function))
        self.approvals = approvals or ScriptedApprovals()
        binding = ToolBinding(title="dict/look_up", info=info, toolbox=self.toolbox, trusted=trusted)
        self.toolset = Toolset([binding], self.approvals, tool_seconds, approval_seconds)

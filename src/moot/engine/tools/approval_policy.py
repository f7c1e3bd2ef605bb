"""Approval policy: asks a user before a tool call with effects."""

from typing import Literal, Protocol

from msgspec import Struct

from moot.types.events import TurnKey
from moot.types.tools import ApprovalDecision

# given: allowed for all calls of the tool. wanted: ask. again: ask, even for a trusted tool, because an earlier attempt
# of the turn started such a call before a crash, and the call may already have had its effect.
ApprovalState = Literal["given", "wanted", "again"]


class ToolCallRequest(Struct, frozen=True, kw_only=True):
    """A tool call requested by a model."""

    call_id: str
    tool: str  # `server/tool`
    arguments: str  # JSON
    turn_key: TurnKey


class ApprovalPolicy(Protocol):
    """Decides about tool calls with effects. An instance serves one attempt of a turn."""

    async def approval_state(self, request: ToolCallRequest) -> ApprovalState: ...

    async def request_approval(self, request: ToolCallRequest) -> None:
        """Open the request; from now on it can be answered. Call it before clients get the event."""
        ...

    async def wait_for_decision(self, request: ToolCallRequest) -> ApprovalDecision | None:
        """Wait for the answer; None if no user can be asked. Cancelling withdraws the request."""
        ...

    async def record_call_start(self, request: ToolCallRequest) -> None:
        """Commit that the call starts now, so that a retry after a crash asks again."""
        ...


class DenyAllApprovals:
    """Policy of runs without a user to ask: rejects every call with effects."""

    async def approval_state(self, request: ToolCallRequest) -> ApprovalState:  # noqa: ARG002 - protocol method
        return "wanted"

    async def request_approval(self, request: ToolCallRequest) -> None:
        """No-op, as there is no user."""

    async def wait_for_decision(self, request: ToolCallRequest) -> None:
        """Return None at once."""

    async def record_call_start(self, request: ToolCallRequest) -> None:
        """No-op, as no call with effects starts."""

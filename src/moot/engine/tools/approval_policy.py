"""Consent to calls that have effects: whether it was given, asking for it, and noting that such a call begins."""

from typing import Literal, Protocol

from msgspec import Struct

from moot.types.events import TurnKey
from moot.types.tools import ApprovalDecision

ApprovalState = Literal["given", "wanted", "again"]


class ToolCallRequest(Struct, frozen=True, kw_only=True):
    """A call that somebody wants to make, of `server/tool`."""

    call_id: str
    tool: str
    arguments: str
    turn_key: TurnKey


class ApprovalPolicy(Protocol):
    async def approval_state(self, request: ToolCallRequest) -> ApprovalState:
        """Tell whether to ask: not where it was given for all such calls.

        But it is asked again where a turn begins anew that had begun such a call.
        """
        ...

    async def request_approval(self, request: ToolCallRequest) -> None:
        """Put the question; whoever is told of it from now on can answer it."""
        ...

    async def wait_for_decision(self, request: ToolCallRequest) -> ApprovalDecision | None:
        """Wait for the answer; whoever waits may leave, and then nobody can answer any more.

        None is where nobody is there to be asked.
        """
        ...

    async def record_call_start(self, request: ToolCallRequest) -> None:
        """Note, safely, that the call begins now."""
        ...


class DenyAllApprovals:
    """Nobody can be asked, so nothing is allowed."""

    async def approval_state(self, request: ToolCallRequest) -> ApprovalState:  # noqa: ARG002 - a Consent
        return "wanted"

    async def request_approval(self, request: ToolCallRequest) -> None:
        """Nobody hears it."""

    async def wait_for_decision(self, request: ToolCallRequest) -> None:
        """Nobody is there."""

    async def record_call_start(self, request: ToolCallRequest) -> None:
        """It is noted nowhere."""

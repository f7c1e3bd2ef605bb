"""Stored approvals of tool calls.

A user may answer through any process. The answer is stored, and a notification wakes the process that executes the run.
"""

import asyncio
from collections.abc import Mapping

from msgspec.structs import asdict

from moot.engine.tools.toolset import ApprovalState, ToolCallRequest
from moot.store.runs.approvals import Approvals, RequestedCall
from moot.store.runs.runs import RunLease
from moot.types.events import ApprovalRequested
from moot.types.primitives import new_id
from moot.types.tools import ApprovalDecision


class PendingApprovals:
    """Futures of the approval requests that a run waits for, by call id."""

    def __init__(self) -> None:
        self._waiters: dict[str, asyncio.Future[ApprovalDecision]] = {}

    def resolve_decisions(self, decisions: Mapping[str, ApprovalDecision]) -> None:
        for call, waiting in self._waiters.items():
            if call in decisions and not waiting.done():
                waiting.set_result(decisions[call])

    def expect_decision(self, call: str) -> None:
        self._waiters[call] = asyncio.get_running_loop().create_future()

    async def wait_for_decision(self, call: str) -> ApprovalDecision:
        try:
            return await self._waiters[call]
        finally:
            del self._waiters[call]


class StoredApprovals:
    """An `ApprovalPolicy` in the database. The attempt id tells apart calls before and after a crash."""

    def __init__(self, approvals: Approvals, lease: RunLease, pending_approvals: PendingApprovals) -> None:
        self._approvals = approvals
        self._lease = lease
        self._pending_approvals = pending_approvals
        self._attempt = new_id("try")

    async def approval_state(self, request: ToolCallRequest) -> ApprovalState:
        call = self._stored_call(request)
        if await self._approvals.has_earlier_start(call):
            return "again"
        given = await self._approvals.is_always_allowed(call.discussion, call.tool)
        return "given" if given else "wanted"

    async def request_approval(self, request: ToolCallRequest) -> None:
        self._pending_approvals.expect_decision(request.call_id)
        await self._approvals.request_approval(self._stored_call(request))

    async def wait_for_decision(self, request: ToolCallRequest) -> ApprovalDecision:
        try:
            return await self._pending_approvals.wait_for_decision(request.call_id)
        except asyncio.CancelledError:
            await self._approvals.withdraw_request(request.call_id)
            raise

    async def record_call_start(self, request: ToolCallRequest) -> None:
        await self._approvals.record_call_start(self._stored_call(request))

    def _stored_call(self, request: ToolCallRequest) -> RequestedCall:
        return RequestedCall(
            id=request.call_id,
            tenant=self._lease.tenant,
            discussion=self._lease.discussion,
            run=self._lease.run,
            **asdict(request.turn_key),
            attempt=self._attempt,
            tool=request.tool,
        )


def approval_instructions(participant_name: str, request: ApprovalRequested) -> str:
    """Return a text for clients without approval buttons."""
    path = f"/api/runs/{request.run}/approvals/{request.call_id}"
    return (
        f"{participant_name} wants to call {request.name} and waits for approval. Allow or refuse it on the page, "
        f'or by POST {path} with {{"decision": "allow"}} or {{"decision": "refuse"}}.'
    )

from moot.engine.tools.approval_policy import DenyAllApprovals, ToolCallRequest
from moot.types.events import TurnKey


async def test_deny_all_approvals_never_approves() -> None:
    approvals = DenyAllApprovals()
    request = ToolCallRequest(call_id="call_1", tool="notes/write", arguments="{}", turn_key=TurnKey("alpha"))
    await approvals.request_approval(request)
    await approvals.record_call_start(request)
    assert await approvals.approval_state(request) == "wanted"
    assert await approvals.wait_for_decision(request) is None  # type: ignore[func-returns-value]

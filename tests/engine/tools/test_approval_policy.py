from moot.engine.tools.approval_policy import DenyAllApprovals, ToolCallRequest
from moot.types.events import TurnKey


async def test_deny_all_approvals_never_approves() -> None:
    nobody = DenyAllApprovals()
    wanted = ToolCallRequest(call_id="call_1", tool="notes/write", arguments="{}", turn_key=TurnKey("alpha"))
    await nobody.request_approval(wanted)
    await nobody.record_call_start(wanted)
    assert await nobody.approval_state(wanted) == "wanted"
    assert await nobody.wait_for_decision(wanted) is None  # type: ignore[func-returns-value]

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from moot.engine.tools.approvals import PendingApprovals, StoredApprovals, approval_instructions
from moot.engine.tools.toolset import ToolCallRequest
from moot.store.database import Database
from moot.store.runs.approvals import Approvals
from moot.store.runs.runs import RunLease, Runs
from moot.types.accounts import Caller
from moot.types.errors import Conflict
from moot.types.events import ApprovalRequested, TurnKey
from tests.support.accounts import ANNA, create_discussion, database_with_accounts
from tests.support.runs import create_run, lease_run

CALLER = Caller(account=ANNA, tenant=ANNA, name="Anna", kind="session")
REQUEST = ToolCallRequest(call_id="call_1", tool="notes/write", arguments="{}", turn_key=TurnKey("alpha"))


@pytest.fixture
async def database(tmp_path: Path) -> AsyncIterator[Database]:
    async with database_with_accounts("sqlite", tmp_path) as database:
        yield database


@pytest.fixture
async def lease(database: Database) -> RunLease:
    return await lease_run(database, (await create_run(database, await create_discussion(database))).id)


async def test_decision_reaches_waiting_call(database: Database, lease: RunLease) -> None:
    permissions, answers = Approvals(database), PendingApprovals()
    asking = StoredApprovals(permissions, lease, answers)
    assert await asking.approval_state(REQUEST) == "wanted"
    await asking.request_approval(REQUEST)
    waiting = asyncio.create_task(asking.wait_for_decision(REQUEST))
    await asyncio.sleep(0)
    answers.resolve_decisions((await Runs(database).pending_commands(lease.run)).approval_decisions)
    assert not waiting.done()
    await permissions.resolve_approval(CALLER, lease.run, "call_1", "always")
    answers.resolve_decisions((await Runs(database).pending_commands(lease.run)).approval_decisions)
    assert await waiting == "always"
    assert await asking.approval_state(REQUEST) == "given"


async def test_decision_before_wait_is_not_lost(database: Database, lease: RunLease) -> None:
    answers = PendingApprovals()
    asking = StoredApprovals(Approvals(database), lease, answers)
    await asking.request_approval(REQUEST)
    answers.resolve_decisions({"call_1": "refuse"})
    assert await asking.wait_for_decision(REQUEST) == "refuse"


async def test_cancelled_wait_withdraws_approval_request(database: Database, lease: RunLease) -> None:
    permissions = Approvals(database)
    asking = StoredApprovals(permissions, lease, PendingApprovals())
    await asking.request_approval(REQUEST)
    waiting = asyncio.create_task(asking.wait_for_decision(REQUEST))
    await asyncio.sleep(0)
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    with pytest.raises(Conflict):
        await permissions.resolve_approval(CALLER, lease.run, "call_1", "allow")


async def test_new_attempt_of_turn_requests_approval_again(database: Database, lease: RunLease) -> None:
    permissions = Approvals(database)
    first = StoredApprovals(permissions, lease, PendingApprovals())
    await first.record_call_start(REQUEST)
    assert await first.approval_state(REQUEST) == "wanted"
    assert await StoredApprovals(permissions, lease, PendingApprovals()).approval_state(REQUEST) == "again"


def test_approval_instructions_name_participant_tool_and_route() -> None:
    requested = ApprovalRequested(
        participant="alpha",
        stage="answer",
        round=0,
        run="run_1",
        call_id="call_2",
        name="notes/x",
        timeout_seconds=600,
    )
    assert approval_instructions("Alpha", requested) == (
        "Alpha wants to call notes/x and waits for approval. Allow or refuse it on the page, or by "
        'POST /api/runs/run_1/approvals/call_2 with {"decision": "allow"} or {"decision": "refuse"}.'
    )

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from moot.engine.tools.approval_policy import ToolCallRequest
from moot.engine.tools.approvals import PendingApprovals, StoredApprovals, approval_instructions
from moot.store.database import Database
from moot.store.runs.approvals import Approvals
from moot.store.runs.runs import RunLease, Runs
from moot.types.accounts import Caller
from moot.types.errors import Conflict
from moot.types.events import ApprovalWanted, TurnKey
from tests.store.people import ANNA, discuss, settled
from tests.store.running import claim, start

CALLER = Caller(account=ANNA, tenant=ANNA, name="Anna", kind="session")
WANTED = ToolCallRequest(call_id="call_1", tool="notes/write", arguments="{}", turn_key=TurnKey("alpha"))


@pytest.fixture
async def database(tmp_path: Path) -> AsyncIterator[Database]:
    async with settled("sqlite", tmp_path) as database:
        yield database


@pytest.fixture
async def claimed(database: Database) -> RunLease:
    return await claim(database, (await start(database, await discuss(database))).id)


async def test_an_answer_is_heard_by_whoever_waits_for_it(database: Database, claimed: RunLease) -> None:
    permissions, answers = Approvals(database), PendingApprovals()
    asking = StoredApprovals(permissions, claimed, answers)
    assert await asking.approval_state(WANTED) == "wanted"
    await asking.request_approval(WANTED)
    waiting = asyncio.create_task(asking.wait_for_decision(WANTED))
    await asyncio.sleep(0)
    answers.resolve_decisions((await Runs(database).pending_commands(claimed.run)).approval_decisions)
    assert not waiting.done()
    await permissions.resolve_approval(CALLER, claimed.run, "call_1", "always")
    answers.resolve_decisions((await Runs(database).pending_commands(claimed.run)).approval_decisions)
    assert await waiting == "always"
    assert await asking.approval_state(WANTED) == "given"


async def test_an_answer_that_comes_before_anybody_waits_is_not_lost(
    database: Database, claimed: RunLease
) -> None:
    answers = PendingApprovals()
    asking = StoredApprovals(Approvals(database), claimed, answers)
    await asking.request_approval(WANTED)
    answers.resolve_decisions({"call_1": "refuse"})
    assert await asking.wait_for_decision(WANTED) == "refuse"


async def test_whoever_waits_no_more_withdraws_the_question(database: Database, claimed: RunLease) -> None:
    permissions = Approvals(database)
    asking = StoredApprovals(permissions, claimed, PendingApprovals())
    await asking.request_approval(WANTED)
    waiting = asyncio.create_task(asking.wait_for_decision(WANTED))
    await asyncio.sleep(0)
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    with pytest.raises(Conflict):
        await permissions.resolve_approval(CALLER, claimed.run, "call_1", "allow")


async def test_another_attempt_at_the_turn_asks_again(database: Database, claimed: RunLease) -> None:
    permissions = Approvals(database)
    first = StoredApprovals(permissions, claimed, PendingApprovals())
    await first.record_call_start(WANTED)
    assert await first.approval_state(WANTED) == "wanted"
    assert await StoredApprovals(permissions, claimed, PendingApprovals()).approval_state(WANTED) == "again"


def test_who_wants_what_and_where_it_is_answered() -> None:
    wanted = ApprovalWanted(
        participant="alpha",
        stage="answer",
        round=0,
        run="run_1",
        call_id="call_2",
        name="notes/x",
        seconds=600,
    )
    assert approval_instructions("Alpha", wanted) == (
        "Alpha wants to call notes/x, and waits for consent: allow or refuse it on the page, or by "
        'POST /api/runs/run_1/approvals/call_2 with {"answer": "allow"} or {"answer": "refuse"}.'
    )

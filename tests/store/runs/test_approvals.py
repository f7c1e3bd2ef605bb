import pytest
from msgspec.structs import replace

from moot.store.database import Database
from moot.store.runs.approvals import Approvals, RequestedCall
from moot.store.runs.runs import Runs
from moot.types.accounts import Caller
from moot.types.errors import Conflict, NotFound
from tests.support.accounts import ANNA, BERT, create_accounts, create_discussion
from tests.support.runs import WORKER, create_run, make_requested_call, register_workers

CALLER = Caller(account=ANNA, tenant=ANNA, name="Anna", kind="session")
OTHER_CALLER = Caller(account=BERT, tenant=BERT, name="Bert", kind="session")


@pytest.fixture
async def call(database: Database) -> RequestedCall:
    await create_accounts(database)
    await register_workers(database, WORKER)
    run = await create_run(database, await create_discussion(database))
    return make_requested_call(run)


async def test_resolve_approval_accepts_one_decision_and_notifies(database: Database, call: RequestedCall) -> None:
    permissions = Approvals(database)
    notifications: list[str] = []
    database.subscribe("moot_control", notifications.append)
    await permissions.request_approval(call)
    assert (await Runs(database).pending_commands(call.run)).approval_decisions == {}
    await permissions.resolve_approval(CALLER, call.run, "call_1", "allow")
    assert (await Runs(database).pending_commands(call.run)).approval_decisions == {"call_1": "allow"}
    assert notifications == ([] if database.is_postgres else [call.run])
    with pytest.raises(Conflict, match="no longer waits"):
        await permissions.resolve_approval(CALLER, call.run, "call_1", "refuse")


async def test_resolve_approval_rejects_other_tenant_and_unknown_call(database: Database, call: RequestedCall) -> None:
    permissions = Approvals(database)
    await permissions.request_approval(call)
    for who, run, id in (
        (OTHER_CALLER, call.run, "call_1"),
        (CALLER, "run_none", "call_1"),
        (CALLER, call.run, "call_2"),
    ):
        with pytest.raises(NotFound):
            await permissions.resolve_approval(who, run, id, "allow")
    assert (await Runs(database).pending_commands(call.run)).approval_decisions == {}


async def test_always_decision_covers_that_tool_in_that_discussion(database: Database, call: RequestedCall) -> None:
    permissions = Approvals(database)
    await permissions.request_approval(call)
    assert not await permissions.is_always_allowed(call.discussion, call.tool)
    await permissions.resolve_approval(CALLER, call.run, "call_1", "always")
    assert await permissions.is_always_allowed(call.discussion, call.tool)
    assert not await permissions.is_always_allowed(call.discussion, "notes/delete")
    assert not await permissions.is_always_allowed("dis_other", call.tool)


async def test_withdrawn_request_cannot_be_resolved(database: Database, call: RequestedCall) -> None:
    permissions = Approvals(database)
    await permissions.request_approval(call)
    await permissions.request_approval(replace(call, id="call_2"))
    await permissions.withdraw_request("call_1")
    await permissions.withdraw_run_requests(call.run)
    for id in ("call_1", "call_2"):
        with pytest.raises(Conflict):
            await permissions.resolve_approval(CALLER, call.run, id, "allow")


async def test_started_call_is_known_to_later_attempts_of_same_turn(database: Database, call: RequestedCall) -> None:
    permissions = Approvals(database)
    await permissions.request_approval(call)
    again = replace(call, id="call_2", attempt="try_2")
    assert not await permissions.has_earlier_start(again)
    await permissions.record_call_start(call)
    await permissions.record_call_start(replace(call, id="call_3", tool="notes/read"))
    assert await permissions.has_earlier_start(again)
    assert not await permissions.has_earlier_start(call)
    for other in ({"round": 1}, {"stage": "debate"}, {"participant": "beta"}, {"tool": "notes/delete"}):
        assert not await permissions.has_earlier_start(replace(again, **other))

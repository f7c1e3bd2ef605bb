import asyncio

import msgspec
import pytest
from sqlalchemy import delete, update

from moot.store.database import Database
from moot.store.discussions.discussions import Discussions, add_discussion
from moot.store.runs.event_log import EventLog, EventLogEntry, RunEnding
from moot.store.runs.runs import RunCommands, RunLease, Runs, interrupt_runs
from moot.store.schema.discussions import discussion as discussions
from moot.store.schema.runs import worker
from moot.types.discussions import Discussion
from moot.types.errors import NotFound, ShuttingDown
from moot.types.participants import make_participants
from tests.support.accounts import ANNA, BERT, create_accounts, create_discussion
from tests.support.runs import (
    OTHER_WORKER,
    WORKER,
    create_leased_run,
    create_run,
    lease_run,
    register_workers,
)
from tests.support.waiting import collect_notifications, wait_until

STOPPED_BY_USER = RunCommands("stopped_by_user", ())


@pytest.fixture
async def discussion(database: Database) -> Discussion:
    """A discussion with three participants, in a database with two workers."""
    await create_accounts(database)
    await register_workers(database, WORKER, OTHER_WORKER)
    one = await create_discussion(database)
    three = msgspec.structs.replace(one, id="dis_three", participants=make_participants(("scripted/echo",) * 3))
    async with database.write() as connection:
        await add_discussion(connection, ANNA, ANNA, three)
    return three


async def complete_run(database: Database, lease: RunLease) -> None:
    ending = RunEnding("completed", 9.0)
    await EventLog(database).write_entries([EventLogEntry(lease, lease.seq + 1, ["the end"], ending=ending)])


async def test_acquire_lease_resumes_run_where_it_was_left(database: Database, discussion: Discussion) -> None:
    run = await create_run(database, discussion)
    first = await lease_run(database, run.id)
    assert (first.run, first.tenant, first.discussion) == (run.id, ANNA, discussion.id)
    assert (first.epoch, first.seq) == (1, 0)
    assert first.plan.participants == discussion.participants
    assert (await Runs(database).get_run(ANNA, run.id)).status == "running"
    await EventLog(database).write_entries([EventLogEntry(first, 1, ["one", "two", "three"])])
    second = await lease_run(database, run.id, OTHER_WORKER)
    assert (second.epoch, second.seq) == (2, 3)
    assert second.plan == first.plan == await Runs(database).get_plan(run.id)


async def test_concurrent_leases_of_one_run_get_distinct_epochs(database: Database, discussion: Discussion) -> None:
    run = await create_run(database, discussion)
    claims = await asyncio.gather(*(lease_run(database, run.id, (WORKER, OTHER_WORKER)[n % 2]) for n in range(10)))
    assert sorted(found.epoch for found in claims) == list(range(1, 11))


async def test_acquire_lease_returns_none_for_ended_or_unknown_run(database: Database, discussion: Discussion) -> None:
    run = await create_leased_run(database, discussion)
    await complete_run(database, run)
    assert await Runs(database).acquire_lease(run.run, WORKER) is None
    assert await Runs(database).acquire_lease("run_none", WORKER) is None


@pytest.mark.parametrize("fate", ["taken over", "gone"])
async def test_worker_that_was_taken_over_cannot_acquire_lease(
    database: Database, discussion: Discussion, fate: str
) -> None:
    if not database.is_postgres:
        return  # SQLite has one worker, and no other worker takes over its runs
    run = await create_run(database, discussion)
    mine = worker.c.id == WORKER
    async with database.write() as connection:
        if fate == "gone":
            await connection.execute(delete(worker).where(mine))
        else:
            await connection.execute(update(worker).where(mine).values(successor=OTHER_WORKER))
    with pytest.raises(ShuttingDown):
        await Runs(database).acquire_lease(run.id, WORKER)
    with pytest.raises(ShuttingDown):
        await create_run(database, discussion)
    assert (await lease_run(database, run.id, OTHER_WORKER)).epoch == 1
    assert len(await Discussions(database).live_runs(ANNA)) == 1


async def test_run_belongs_to_its_tenant(database: Database, discussion: Discussion) -> None:
    run = await create_run(database, discussion)
    runs = Runs(database)
    assert await runs.get_run(ANNA, run.id) == run
    for tenant, id in ((BERT, run.id), (ANNA, "run_none")):
        with pytest.raises(NotFound, match=id):
            await runs.get_run(tenant, id)
        with pytest.raises(NotFound, match=id):
            await runs.request_stop(tenant, id)
    assert await runs.pending_commands(run.id) == RunCommands(None, ())


async def test_request_stop_is_stored_and_notified(database: Database, discussion: Discussion) -> None:
    run = await create_run(database, discussion)
    async with collect_notifications(database, "moot_control") as notifications:
        assert (await Runs(database).request_stop(ANNA, run.id)).status == "waiting"
        await wait_until(lambda: notifications == [run.id])
    assert await Runs(database).pending_commands(run.id) == STOPPED_BY_USER


async def test_request_stop_stops_single_participants(database: Database, discussion: Discussion) -> None:
    run = await create_run(database, discussion)
    runs = Runs(database)
    with pytest.raises(NotFound, match="no participant 'delta'"):
        await runs.request_stop(ANNA, run.id, "delta")
    await asyncio.gather(*(runs.request_stop(ANNA, run.id, who) for who in ("alpha", "beta", "gamma", "alpha", "beta")))
    commands = await runs.pending_commands(run.id)
    assert commands.stop_reason is None
    assert sorted(commands.stopped_participants) == ["alpha", "beta", "gamma"]


async def test_request_stop_does_not_change_ended_run(database: Database, discussion: Discussion) -> None:
    run = await create_leased_run(database, discussion)
    await complete_run(database, run)
    assert (await Runs(database).request_stop(ANNA, run.run)).status == "completed"
    assert await Runs(database).pending_commands(run.run) == RunCommands(None, ())


async def test_pending_commands_stop_a_deleted_run(database: Database, discussion: Discussion) -> None:
    run = await create_run(database, discussion)
    async with database.write() as connection:
        await connection.execute(delete(discussions).where(discussions.c.id == discussion.id))
    assert await Runs(database).pending_commands(run.id) == STOPPED_BY_USER
    assert not await Runs(database).has_earlier_live_run(run.id)


async def test_interrupt_runs_stops_live_runs_of_the_discussion_only(
    database: Database, discussion: Discussion
) -> None:
    elsewhere = await create_run(database, await create_discussion(database))
    over = await create_leased_run(database, discussion)
    await complete_run(database, over)
    waiting, stopped = await create_run(database, discussion), await create_run(database, discussion)
    await Runs(database).request_stop(ANNA, stopped.id)
    async with collect_notifications(database, "moot_control") as notifications:
        async with database.write() as connection:
            await interrupt_runs(database, connection, discussion.id)
        await wait_until(lambda: notifications == [waiting.id])
    runs = Runs(database)
    assert (await runs.pending_commands(waiting.id)).stop_reason == "follow_up_interrupt"
    assert (await runs.pending_commands(stopped.id)).stop_reason == "stopped_by_user"
    assert [(await runs.pending_commands(id)).stop_reason for id in (over.run, elsewhere.id)] == [None, None]


async def test_run_waits_for_earlier_live_runs_of_its_discussion(database: Database, discussion: Discussion) -> None:
    runs = Runs(database)
    await create_run(database, await create_discussion(database), question="Elsewhere.")
    first = await create_run(database, discussion, question="One.")
    second = await create_run(database, discussion, question="Two.")
    assert await runs.has_earlier_live_run(second.id)
    assert not await runs.has_earlier_live_run(first.id)
    await complete_run(database, await lease_run(database, first.id))
    assert not await runs.has_earlier_live_run(second.id)


async def test_list_worker_runs_returns_unfinished_runs_of_worker(database: Database, discussion: Discussion) -> None:
    ended = await create_leased_run(database, discussion)
    await complete_run(database, ended)
    mine, handed_on = await create_run(database, discussion), await create_run(database, discussion)
    theirs = await create_run(database, discussion, worker_id=OTHER_WORKER)
    await lease_run(database, handed_on.id, OTHER_WORKER)
    runs = Runs(database)
    assert await runs.list_worker_runs(WORKER) == [(mine.id, 0)]
    assert sorted(await runs.list_worker_runs(OTHER_WORKER)) == sorted([(handed_on.id, 0), (theirs.id, 0)])
    assert await runs.list_worker_runs("worker-3") == []


async def test_list_runs_is_ordered_by_answered_message(database: Database, discussion: Discussion) -> None:
    first, second = (
        await create_run(database, discussion),
        await create_run(database, discussion, question="And now?"),
    )
    assert await Runs(database).list_runs(ANNA, discussion.id) == (first, second)
    assert await Runs(database).list_runs(BERT, discussion.id) == ()

import asyncio

import msgspec
import pytest
from sqlalchemy import delete, update

from moot.store.database import Database
from moot.store.discussions.discussions import Discussions, add_discussion
from moot.store.runs.event_insert import EventLogEntry, RunEnding
from moot.store.runs.event_log import EventLog
from moot.store.runs.runs import RunCommands, RunLease, Runs, interrupt_runs
from moot.store.schema import discussion as discussions
from moot.store.schema import worker
from moot.types.discussions import Discussion
from moot.types.errors import NotFound, ShuttingDown
from moot.types.participants import make_participants
from tests.store.hearing import eventually, hearing
from tests.store.people import ANNA, BERT, discuss, settle
from tests.store.running import OTHER, WORKER, claim, claimed, employ, start

STOPPED = RunCommands("stopped_by_user", ())


@pytest.fixture
async def table(database: Database) -> Discussion:
    """A discussion of three in a database with two workers."""
    await settle(database)
    await employ(database, WORKER, OTHER)
    one = await discuss(database)
    three = msgspec.structs.replace(
        one, id="dis_three", participants=make_participants(("scripted/echo",) * 3)
    )
    async with database.write() as connection:
        await add_discussion(connection, ANNA, ANNA, three)
    return three


async def end(database: Database, run: RunLease) -> None:
    ending = RunEnding("completed", 9.0)
    await EventLog(database).write_entries([EventLogEntry(run, run.seq + 1, ["the end"], ending=ending)])


async def test_a_claim_finds_a_run_as_it_was_left(database: Database, table: Discussion) -> None:
    run = await start(database, table)
    first = await claim(database, run.id)
    assert (first.run, first.tenant, first.discussion) == (run.id, ANNA, table.id)
    assert (first.epoch, first.seq) == (1, 0)
    assert first.plan.participants == table.participants
    assert (await Runs(database).get_run(ANNA, run.id)).status == "running"
    await EventLog(database).write_entries([EventLogEntry(first, 1, ["one", "two", "three"])])
    second = await claim(database, run.id, OTHER)
    assert (second.epoch, second.seq) == (2, 3)
    assert second.plan == first.plan == await Runs(database).get_plan(run.id)


async def test_28_many_who_claim_one_run_get_an_epoch_each(database: Database, table: Discussion) -> None:
    run = await start(database, table)
    claims = await asyncio.gather(*(claim(database, run.id, (WORKER, OTHER)[n % 2]) for n in range(10)))
    assert sorted(found.epoch for found in claims) == list(range(1, 11))


async def test_nobody_claims_a_run_that_is_over_or_was_never_there(
    database: Database, table: Discussion
) -> None:
    run = await claimed(database, table)
    await end(database, run)
    assert await Runs(database).acquire_lease(run.run, WORKER) is None
    assert await Runs(database).acquire_lease("run_none", WORKER) is None


@pytest.mark.parametrize("fate", ["taken over", "gone"])
async def test_27_who_was_taken_for_dead_gets_no_run(
    database: Database, table: Discussion, fate: str
) -> None:
    if not database.is_postgres:
        return  # a file has one worker, which nobody takes for dead
    run = await start(database, table)
    mine = worker.c.id == WORKER
    async with database.write() as connection:
        if fate == "gone":
            await connection.execute(delete(worker).where(mine))
        else:
            await connection.execute(update(worker).where(mine).values(reaper=OTHER))
    with pytest.raises(ShuttingDown):
        await Runs(database).acquire_lease(run.id, WORKER)
    with pytest.raises(ShuttingDown):
        await start(database, table)
    assert (await claim(database, run.id, OTHER)).epoch == 1
    assert len(await Discussions(database).live_runs(ANNA)) == 1


async def test_a_run_belongs_to_its_tenant(database: Database, table: Discussion) -> None:
    run = await start(database, table)
    runs = Runs(database)
    assert await runs.get_run(ANNA, run.id) == run
    for tenant, id in ((BERT, run.id), (ANNA, "run_none")):
        with pytest.raises(NotFound, match=id):
            await runs.get_run(tenant, id)
        with pytest.raises(NotFound, match=id):
            await runs.request_stop(tenant, id)
    assert await runs.pending_commands(run.id) == RunCommands(None, ())


async def test_a_stop_is_noted_and_told(database: Database, table: Discussion) -> None:
    run = await start(database, table)
    async with hearing(database, "moot_control") as heard:
        assert (await Runs(database).request_stop(ANNA, run.id)).status == "waiting"
        await eventually(lambda: heard == [run.id])
    assert await Runs(database).pending_commands(run.id) == STOPPED


async def test_participants_are_stopped_one_by_one(database: Database, table: Discussion) -> None:
    run = await start(database, table)
    runs = Runs(database)
    with pytest.raises(NotFound, match="Nobody called 'delta'"):
        await runs.request_stop(ANNA, run.id, "delta")
    await asyncio.gather(
        *(runs.request_stop(ANNA, run.id, who) for who in ("alpha", "beta", "gamma", "alpha", "beta"))
    )
    wishes = await runs.pending_commands(run.id)
    assert wishes.stop_reason is None
    assert sorted(wishes.stopped_participants) == ["alpha", "beta", "gamma"]


async def test_a_run_that_is_over_stays_as_it_is(database: Database, table: Discussion) -> None:
    run = await claimed(database, table)
    await end(database, run)
    assert (await Runs(database).request_stop(ANNA, run.run)).status == "completed"
    assert await Runs(database).pending_commands(run.run) == RunCommands(None, ())


async def test_a_run_that_is_gone_is_to_stop(database: Database, table: Discussion) -> None:
    run = await start(database, table)
    async with database.write() as connection:
        await connection.execute(delete(discussions).where(discussions.c.id == table.id))
    assert await Runs(database).pending_commands(run.id) == STOPPED
    assert not await Runs(database).has_earlier_live_run(run.id)


async def test_what_is_new_interrupts_what_goes_on_in_the_same_discussion(
    database: Database, table: Discussion
) -> None:
    elsewhere = await start(database, await discuss(database))
    over = await claimed(database, table)
    await end(database, over)
    waiting, stopped = await start(database, table), await start(database, table)
    await Runs(database).request_stop(ANNA, stopped.id)
    async with hearing(database, "moot_control") as heard:
        async with database.write() as connection:
            await interrupt_runs(database, connection, table.id)
        await eventually(lambda: heard == [waiting.id])
    runs = Runs(database)
    assert (await runs.pending_commands(waiting.id)).stop_reason == "follow_up_interrupt"
    assert (await runs.pending_commands(stopped.id)).stop_reason == "stopped_by_user"
    assert [(await runs.pending_commands(id)).stop_reason for id in (over.run, elsewhere.id)] == [None, None]


async def test_runs_of_a_discussion_wait_for_those_before_them(database: Database, table: Discussion) -> None:
    runs = Runs(database)
    await start(database, await discuss(database), words="Elsewhere.")
    first = await start(database, table, words="One.")
    second = await start(database, table, words="Two.")
    assert await runs.has_earlier_live_run(second.id)
    assert not await runs.has_earlier_live_run(first.id)
    await end(database, await claim(database, first.id))
    assert not await runs.has_earlier_live_run(second.id)


async def test_what_a_worker_left_is_what_it_had_and_did_not_end(
    database: Database, table: Discussion
) -> None:
    ended = await claimed(database, table)
    await end(database, ended)
    mine, handed_on = await start(database, table), await start(database, table)
    theirs = await start(database, table, of=OTHER)
    await claim(database, handed_on.id, OTHER)
    runs = Runs(database)
    assert await runs.list_worker_runs(WORKER) == [(mine.id, 0)]
    assert sorted(await runs.list_worker_runs(OTHER)) == sorted([(handed_on.id, 0), (theirs.id, 0)])
    assert await runs.list_worker_runs("worker-3") == []


async def test_the_runs_of_a_discussion_are_listed_in_the_order_of_what_they_answer(
    database: Database, table: Discussion
) -> None:
    first, second = await start(database, table), await start(database, table, words="And now?")
    assert await Runs(database).list_runs(ANNA, table.id) == (first, second)
    assert await Runs(database).list_runs(BERT, table.id) == ()

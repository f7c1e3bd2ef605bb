import asyncio

import pytest
from sqlalchemy import select

from moot.store.database import Database
from moot.store.discussions.discussions import Discussions
from moot.store.runs.retries import RetriedRun, Retries
from moot.store.runs.runs import Lanes, Runs
from moot.store.schema.runs import run as runs
from moot.types.debate import Lane
from moot.types.discussions import Run
from moot.types.errors import Conflict, NotFound
from tests.support.accounts import ANNA, BERT
from tests.support.debates import RunWriter, make_instructions, make_lane, make_turn, prepare_leased_debate
from tests.support.runs import OTHER_WORKER, WORKER, lease_run
from tests.support.waiting import collect_notifications, wait_until


async def create_failed_debate(database: Database) -> tuple[Run, RunWriter]:
    """Alpha has answered twice. Beta failed in the initial stage, Gamma in the debate."""
    run, lease = await prepare_leased_debate(database)
    writer = RunWriter(database, lease)
    await writer.write_records(
        [make_turn(lease, "alpha"), make_turn(lease, "beta", status="failed"), make_turn(lease, "gamma")],
        [
            make_lane("alpha", "debate"),
            make_lane("beta", error="Key rejected."),
            make_lane("gamma", "debate"),
        ],
    )
    await writer.write_records(
        [make_turn(lease, "alpha", "debate"), make_turn(lease, "gamma", "debate", "stopped")],
        [make_lane("alpha", "complete"), make_lane("gamma", error="Too slow.", late=True)],
    )
    return run, writer


async def participant_turns(database: Database, run: Run) -> list[tuple[str, str | None, str]]:
    messages = await Discussions(database).list_messages(run.discussion)
    return [(m.participant, m.stage, m.status) for m in messages if m.participant is not None]


async def stored_run_state(database: Database, run: Run) -> tuple[str, str | None, int]:
    columns = (runs.c.status, runs.c.worker, runs.c.revision)
    async with database.read() as connection:
        row = (await connection.execute(select(*columns).where(runs.c.id == run.id))).one()
    return row.status, row.worker, row.revision


async def lanes_of_run(database: Database, run: Run) -> dict[str, Lane]:
    return await Lanes(database).lanes_by_participant(run.id)


class TestRetryEligibility:
    async def test_retry_accepts_only_failed_participants(self, database: Database) -> None:
        run, _ = await create_failed_debate(database)
        retries = Retries(database, WORKER)
        with pytest.raises(Conflict, match="Alpha has not failed"):
            await retries.retry_run(ANNA, run.id, "alpha")
        assert (await retries.retry_run(ANNA, run.id, "beta")).run.revision == 1
        assert (await retries.retry_run(ANNA, run.id, "gamma")).run.revision == 2
        with pytest.raises(Conflict, match="Beta has not failed"):
            await retries.retry_run(ANNA, run.id, "beta")

    async def test_retry_rejects_unknown_participant(self, database: Database) -> None:
        run, _ = await create_failed_debate(database)
        with pytest.raises(NotFound, match="no participant 'omega'"):
            await Retries(database, WORKER).retry_run(ANNA, run.id, "omega")

    async def test_retry_rejects_run_of_other_tenant(self, database: Database) -> None:
        run, _ = await create_failed_debate(database)
        retries = Retries(database, WORKER)
        for tenant, id in ((BERT, run.id), (ANNA, "run_none")):
            with pytest.raises(NotFound, match=id):
                await retries.retry_run(tenant, id, "beta")
            with pytest.raises(NotFound, match=id):
                await retries.retry_run(tenant, id)
        assert await stored_run_state(database, run) == ("running", WORKER, 0)

    async def test_retry_is_rejected_while_run_is_being_stopped(self, database: Database) -> None:
        run, writer = await create_failed_debate(database)
        await Runs(database).request_stop(ANNA, run.id)
        retries = Retries(database, WORKER)
        with pytest.raises(Conflict, match="being stopped"):
            await retries.retry_run(ANNA, run.id, "beta")
        with pytest.raises(Conflict, match="being stopped"):
            await retries.retry_run(ANNA, run.id)
        assert ("beta", "initial", "failed") in await participant_turns(database, run)
        await writer.end_run("stopped")
        assert (await retries.retry_run(ANNA, run.id, "beta")).run.status == "waiting"
        assert (await Runs(database).pending_commands(run.id)).stop_reason is None

    async def test_retry_is_rejected_when_no_participant_failed(self, database: Database) -> None:
        run, lease = await prepare_leased_debate(database)
        await RunWriter(database, lease).write_records([make_turn(lease, "alpha")], [make_lane("alpha", "debate")])
        with pytest.raises(Conflict, match="No participant has failed"):
            await Retries(database, WORKER).retry_run(ANNA, run.id)

    async def test_participant_stopped_before_answering_can_be_retried(self, database: Database) -> None:
        run, lease = await prepare_leased_debate(database)
        await RunWriter(database, lease).write_records(
            lanes=[make_lane("beta", error="Stopped before it had answered.")]
        )
        await Runs(database).request_stop(ANNA, run.id, "beta")
        await Retries(database, WORKER).retry_run(ANNA, run.id, "beta")
        assert (await Runs(database).pending_commands(run.id)).stopped_participants == ()


class TestRetryEffects:
    async def test_retry_deletes_failed_turns_and_reopens_lanes(self, database: Database) -> None:
        run, _ = await create_failed_debate(database)
        await Retries(database, WORKER).retry_run(ANNA, run.id)
        assert await participant_turns(database, run) == [
            ("alpha", "initial", "completed"),
            ("gamma", "initial", "completed"),
            ("alpha", "debate", "completed"),
        ]
        assert await lanes_of_run(database, run) == {
            "alpha": make_lane("alpha", "complete"),
            "beta": make_lane("beta", "initial"),
            "gamma": make_lane("gamma", "debate"),
        }

    async def test_retry_deletes_instructions_of_retried_participant(self, database: Database) -> None:
        run, lease = await prepare_leased_debate(database)
        instructions = [make_instructions(lease, who, "debate", who) for who in ("alpha", "beta")]
        await RunWriter(database, lease).write_records(
            [
                *(make_turn(lease, who) for who in ("alpha", "beta")),
                *instructions,
                make_instructions(lease, "beta", "synthesis", None),
                make_turn(lease, "alpha", "debate"),
                make_turn(lease, "beta", "debate", "failed"),
            ],
            [make_lane("alpha", "debate"), make_lane("beta")],
        )
        await Retries(database, WORKER).retry_run(ANNA, run.id, "beta")
        left = await Discussions(database).run_instructions(run.id)
        assert [(m.visible_to, m.stage) for m in left] == [(("alpha",), "debate")]

    async def test_retry_replaces_model_of_that_participant_only(self, database: Database) -> None:
        run, _ = await create_failed_debate(database)
        await Retries(database, WORKER).retry_run(ANNA, run.id, "beta", "scripted/steady")
        plan = await Runs(database).get_plan(run.id)
        assert [who.model for who in plan.participants] == [
            "scripted/echo",
            "scripted/steady",
            "scripted/echo",
        ]
        again = (await Runs(database).pending_commands(run.id)).retry
        assert again is not None
        assert (again.plan, again.retries) == (plan, {"beta": 1})

    async def test_retry_of_live_run_keeps_its_worker_and_notifies(self, database: Database) -> None:
        run, _ = await create_failed_debate(database)
        async with collect_notifications(database, "moot_control") as notifications:
            retried, restarts = await Retries(database, OTHER_WORKER).retry_run(ANNA, run.id, "beta")
            await wait_until(lambda: notifications == [run.id])
        assert (retried.status, retried.revision, restarts) == ("running", 1, False)
        assert await stored_run_state(database, run) == ("running", WORKER, 1)

    async def test_retry_of_ended_run_waits_for_requesting_worker(self, database: Database) -> None:
        run, writer = await create_failed_debate(database)
        await writer.end_run()
        retried, restarts = await Retries(database, OTHER_WORKER).retry_run(ANNA, run.id, "beta")
        assert (retried.status, retried.ended_at, restarts) == ("waiting", None, True)
        assert await stored_run_state(database, run) == ("waiting", OTHER_WORKER, 1)
        assert await Runs(database).waiting_revision(run.id, OTHER_WORKER) == 1
        assert [found.id for found in await Discussions(database).live_runs(ANNA)] == [run.id]
        lease = await lease_run(database, run.id, OTHER_WORKER)
        assert (lease.revision, lease.seq, lease.epoch) == (1, 3, 2)

    async def test_ending_with_older_revision_leaves_run_waiting(self, database: Database) -> None:
        run, writer = await create_failed_debate(database)
        await Retries(database, WORKER).retry_run(ANNA, run.id, "beta")
        await writer.end_run(revision=0)
        assert await stored_run_state(database, run) == ("waiting", WORKER, 1)

    async def test_ending_with_current_revision_completes_run(self, database: Database) -> None:
        run, writer = await create_failed_debate(database)
        await Retries(database, WORKER).retry_run(ANNA, run.id, "beta")
        await writer.end_run(revision=1)
        assert await stored_run_state(database, run) == ("completed", WORKER, 1)


class TestConcurrentRetries:
    @pytest.mark.parametrize("over", [True, False])
    async def test_concurrent_retries_of_one_participant_count_once(self, database: Database, over: bool) -> None:
        run, writer = await create_failed_debate(database)
        if over:
            await writer.end_run()
        retries = Retries(database, WORKER)
        tries = [retries.retry_run(ANNA, run.id, "beta") for _ in range(5)]
        results = await asyncio.gather(*tries, return_exceptions=True)
        assert len([one for one in results if isinstance(one, RetriedRun)]) == 1
        assert len([one for one in results if isinstance(one, Conflict)]) == 4
        assert (await stored_run_state(database, run))[2] == 1

    async def test_concurrent_retries_of_two_participants_both_count(self, database: Database) -> None:
        run, writer = await create_failed_debate(database)
        await writer.end_run()
        one, other = Retries(database, WORKER), Retries(database, OTHER_WORKER)
        retried = await asyncio.gather(one.retry_run(ANNA, run.id, "beta"), other.retry_run(ANNA, run.id, "gamma"))
        assert sorted((again.run.revision, again.restarts) for again in retried) == [(1, True), (2, False)]
        again = (await Runs(database).pending_commands(run.id)).retry
        assert again is not None
        assert again.revision == 2
        assert again.retries.keys() == {"beta", "gamma"}
        assert {one.status for one in (await lanes_of_run(database, run)).values()} == {
            "complete",
            "initial",
            "debate",
        }

    async def test_concurrent_retry_of_one_and_all_retries_each_once(self, database: Database) -> None:
        run, writer = await create_failed_debate(database)
        await writer.end_run()
        retries = Retries(database, WORKER)
        results = await asyncio.gather(
            retries.retry_run(ANNA, run.id, "beta"), retries.retry_run(ANNA, run.id), return_exceptions=True
        )
        assert all(isinstance(one, RetriedRun | Conflict) for one in results)
        again = (await Runs(database).pending_commands(run.id)).retry
        assert again is not None
        assert again.retries.keys() == {"beta", "gamma"}
        assert "error" not in {one.status for one in (await lanes_of_run(database, run)).values()}

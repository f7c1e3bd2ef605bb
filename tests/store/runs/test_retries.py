import asyncio

import pytest
from sqlalchemy import select

from moot.store.database import Database
from moot.store.discussions.discussions import Discussions
from moot.store.runs.lanes import Lanes
from moot.store.runs.retries import RetriedRun, Retries
from moot.store.runs.runs import Runs
from moot.store.schema import run as runs
from moot.types.debate import Lane
from moot.types.discussions import Run
from moot.types.errors import Conflict, NotFound
from tests.store.debating import Pen, brief, first_debate, lane, turn
from tests.store.hearing import eventually, hearing
from tests.store.people import ANNA, BERT
from tests.store.running import OTHER, WORKER, claim


async def failed_debate(database: Database) -> tuple[Run, Pen]:
    """Alpha has answered twice, Beta failed at first, and Gamma in the debate."""
    run, held = await first_debate(database)
    pen = Pen(database, held)
    await pen.keep(
        [turn(held, "alpha"), turn(held, "beta", status="failed"), turn(held, "gamma")],
        [lane("alpha", "debate"), lane("beta", error="Key rejected."), lane("gamma", "debate")],
    )
    await pen.keep(
        [turn(held, "alpha", "debate"), turn(held, "gamma", "debate", "stopped")],
        [lane("alpha", "complete"), lane("gamma", error="Too slow.", late=True)],
    )
    return run, pen


async def said(database: Database, run: Run) -> list[tuple[str, str | None, str]]:
    messages = await Discussions(database).list_messages(run.discussion)
    return [(m.participant, m.stage, m.status) for m in messages if m.participant is not None]


async def stored(database: Database, run: Run) -> tuple[str, str | None, int]:
    columns = (runs.c.status, runs.c.worker, runs.c.revision)
    async with database.read() as connection:
        row = (await connection.execute(select(*columns).where(runs.c.id == run.id))).one()
    return row.status, row.worker, row.revision


async def lanes(database: Database, run: Run) -> dict[str, Lane]:
    return await Lanes(database).lanes_by_participant(run.id)


class TestWhoMay:
    async def test_only_those_who_failed(self, database: Database) -> None:
        run, _ = await failed_debate(database)
        retries = Retries(database, WORKER)
        with pytest.raises(Conflict, match="Alpha has not failed"):
            await retries.retry_run(ANNA, run.id, "alpha")
        assert (await retries.retry_run(ANNA, run.id, "beta")).run.revision == 1
        assert (await retries.retry_run(ANNA, run.id, "gamma")).run.revision == 2
        with pytest.raises(Conflict, match="Beta has not failed"):
            await retries.retry_run(ANNA, run.id, "beta")

    async def test_nobody_who_takes_no_part(self, database: Database) -> None:
        run, _ = await failed_debate(database)
        with pytest.raises(NotFound, match="Nobody called 'omega'"):
            await Retries(database, WORKER).retry_run(ANNA, run.id, "omega")

    async def test_what_is_another_s_is_not_there(self, database: Database) -> None:
        run, _ = await failed_debate(database)
        retries = Retries(database, WORKER)
        for tenant, id in ((BERT, run.id), (ANNA, "run_none")):
            with pytest.raises(NotFound, match=id):
                await retries.retry_run(tenant, id, "beta")
            with pytest.raises(NotFound, match=id):
                await retries.retry_run(tenant, id)
        assert await stored(database, run) == ("running", WORKER, 0)

    async def test_a_run_that_is_being_stopped_comes_to_its_end_first(self, database: Database) -> None:
        run, pen = await failed_debate(database)
        await Runs(database).request_stop(ANNA, run.id)
        retries = Retries(database, WORKER)
        with pytest.raises(Conflict, match="being stopped"):
            await retries.retry_run(ANNA, run.id, "beta")
        with pytest.raises(Conflict, match="being stopped"):
            await retries.retry_run(ANNA, run.id)
        assert ("beta", "initial", "failed") in await said(database, run)
        await pen.end("stopped")
        assert (await retries.retry_run(ANNA, run.id, "beta")).run.status == "waiting"
        assert (await Runs(database).pending_commands(run.id)).stop_reason is None

    async def test_where_nobody_failed_there_is_nothing_to_do(self, database: Database) -> None:
        run, held = await first_debate(database)
        await Pen(database, held).keep([turn(held, "alpha")], [lane("alpha", "debate")])
        with pytest.raises(Conflict, match="Nobody has failed"):
            await Retries(database, WORKER).retry_run(ANNA, run.id)

    async def test_one_who_was_stopped_before_it_began_may(self, database: Database) -> None:
        run, held = await first_debate(database)
        await Pen(database, held).keep(lanes=[lane("beta", error="Stopped before it had answered.")])
        await Runs(database).request_stop(ANNA, run.id, "beta")
        await Retries(database, WORKER).retry_run(ANNA, run.id, "beta")
        assert (await Runs(database).pending_commands(run.id)).stopped_participants == ()


class TestWhatBecomesOfIt:
    async def test_turns_without_an_answer_are_deleted_and_lanes_open_where_they_failed(
        self, database: Database
    ) -> None:
        run, _ = await failed_debate(database)
        await Retries(database, WORKER).retry_run(ANNA, run.id)
        assert await said(database, run) == [
            ("alpha", "initial", "completed"),
            ("gamma", "initial", "completed"),
            ("alpha", "debate", "completed"),
        ]
        assert await lanes(database, run) == {
            "alpha": lane("alpha", "complete"),
            "beta": lane("beta", "initial"),
            "gamma": lane("gamma", "debate"),
        }

    async def test_whoever_is_to_think_again_is_told_anew_what_the_others_said(
        self, database: Database
    ) -> None:
        run, held = await first_debate(database)
        briefs = [brief(held, who, "debate", who) for who in ("alpha", "beta")]
        await Pen(database, held).keep(
            [
                *(turn(held, who) for who in ("alpha", "beta")),
                *briefs,
                brief(held, "beta", "synthesis", None),
                turn(held, "alpha", "debate"),
                turn(held, "beta", "debate", "failed"),
            ],
            [lane("alpha", "debate"), lane("beta")],
        )
        await Retries(database, WORKER).retry_run(ANNA, run.id, "beta")
        left = await Discussions(database).run_instructions(run.id)
        assert [(m.audience, m.stage) for m in left] == [(("alpha",), "debate")]

    async def test_a_model_is_swapped_for_this_participant_and_no_other(self, database: Database) -> None:
        run, _ = await failed_debate(database)
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

    async def test_a_run_that_goes_on_keeps_its_worker_and_hears_of_it(self, database: Database) -> None:
        run, _ = await failed_debate(database)
        async with hearing(database, "moot_control") as heard:
            told, begins = await Retries(database, OTHER).retry_run(ANNA, run.id, "beta")
            await eventually(lambda: heard == [run.id])
        assert (told.status, told.revision, begins) == ("running", 1, False)
        assert await stored(database, run) == ("running", WORKER, 1)

    async def test_a_run_that_had_ended_waits_for_whoever_was_asked(self, database: Database) -> None:
        run, pen = await failed_debate(database)
        await pen.end()
        told, begins = await Retries(database, OTHER).retry_run(ANNA, run.id, "beta")
        assert (told.status, told.ended_at, begins) == ("waiting", None, True)
        assert await stored(database, run) == ("waiting", OTHER, 1)
        assert await Runs(database).waiting_revision(run.id, OTHER) == 1
        assert [found.id for found in await Discussions(database).live_runs(ANNA)] == [run.id]
        held = await claim(database, run.id, OTHER)
        assert (held.revision, held.seq, held.epoch) == (1, 3, 2)

    async def test_an_end_that_has_not_heeded_it_lets_the_run_wait(self, database: Database) -> None:
        run, pen = await failed_debate(database)
        await Retries(database, WORKER).retry_run(ANNA, run.id, "beta")
        await pen.end(revision=0)
        assert await stored(database, run) == ("waiting", WORKER, 1)

    async def test_an_end_that_has_heeded_it_is_the_end(self, database: Database) -> None:
        run, pen = await failed_debate(database)
        await Retries(database, WORKER).retry_run(ANNA, run.id, "beta")
        await pen.end(revision=1)
        assert await stored(database, run) == ("completed", WORKER, 1)


class TestAtOnce:
    @pytest.mark.parametrize("over", [True, False])
    async def test_of_many_retries_of_one_participant_one_counts(
        self, database: Database, over: bool
    ) -> None:
        run, pen = await failed_debate(database)
        if over:
            await pen.end()
        retries = Retries(database, WORKER)
        tries = [retries.retry_run(ANNA, run.id, "beta") for _ in range(5)]
        came = await asyncio.gather(*tries, return_exceptions=True)
        assert len([one for one in came if isinstance(one, RetriedRun)]) == 1
        assert len([one for one in came if isinstance(one, Conflict)]) == 4
        assert (await stored(database, run))[2] == 1

    async def test_retries_of_two_participants_both_count(self, database: Database) -> None:
        run, pen = await failed_debate(database)
        await pen.end()
        one, other = Retries(database, WORKER), Retries(database, OTHER)
        told = await asyncio.gather(
            one.retry_run(ANNA, run.id, "beta"), other.retry_run(ANNA, run.id, "gamma")
        )
        assert sorted((again.run.revision, again.restarts) for again in told) == [(1, True), (2, False)]
        again = (await Runs(database).pending_commands(run.id)).retry
        assert again is not None
        assert again.revision == 2
        assert again.retries.keys() == {"beta", "gamma"}
        assert {one.status for one in (await lanes(database, run)).values()} == {
            "complete",
            "initial",
            "debate",
        }

    async def test_one_and_all_at_once_leave_everything_tried_once(self, database: Database) -> None:
        run, pen = await failed_debate(database)
        await pen.end()
        retries = Retries(database, WORKER)
        came = await asyncio.gather(
            retries.retry_run(ANNA, run.id, "beta"), retries.retry_run(ANNA, run.id), return_exceptions=True
        )
        assert all(isinstance(one, RetriedRun | Conflict) for one in came)
        again = (await Runs(database).pending_commands(run.id)).retry
        assert again is not None
        assert again.retries.keys() == {"beta", "gamma"}
        assert "error" not in {one.status for one in (await lanes(database, run)).values()}

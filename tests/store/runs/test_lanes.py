import asyncio
from pathlib import Path
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import delete, update

from moot.store.database import Database
from moot.store.runs.lanes import Lanes, add_lanes, fail_open_lanes, move_lane
from moot.store.schema import lane as lanes_table
from moot.types.debate import Lane, LaneStatus
from tests.databases import migrated
from tests.store.debating import first_debate, lane
from tests.store.people import discuss
from tests.store.running import start

STATUSES: tuple[LaneStatus, ...] = get_args(LaneStatus)
MAY = {
    ("initial", "debate"),
    ("initial", "complete"),
    ("initial", "error"),
    ("debate", "complete"),
    ("debate", "error"),
    ("complete", "error"),
}
moves = st.lists(st.tuples(st.sampled_from(STATUSES), st.booleans()), max_size=8)


async def moved(database: Database, run: str, to: Lane, *, retry: bool = False) -> bool:
    async with database.write() as connection:
        return await move_lane(connection, run, to, retry=retry)


async def put(database: Database, run: str, status: LaneStatus) -> None:
    async with database.write() as connection:
        await connection.execute(update(lanes_table).where(lanes_table.c.run == run).values(status=status))


async def test_a_debate_begins_with_a_lane_for_each_who_speaks_and_other_modes_have_none(
    database: Database,
) -> None:
    run, _ = await first_debate(database)
    single = await start(database, await discuss(database))
    found = await Lanes(database).lanes_by_participant(run.id)
    assert found == {who: lane(who, "initial") for who in ("alpha", "beta", "gamma")}
    assert await Lanes(database).lanes_by_participant(single.id) == {}


@pytest.mark.parametrize("start_", STATUSES)
async def test_a_lane_goes_only_forward_and_into_an_error_from_wherever_it_speaks(
    database: Database, start_: LaneStatus
) -> None:
    run, _ = await first_debate(database)
    for to in STATUSES:
        await put(database, run.id, start_)
        assert await moved(database, run.id, lane("beta", to)) == ((start_, to) in MAY)
        found = await Lanes(database).lanes_by_participant(run.id)
        assert found["beta"].status == (to if (start_, to) in MAY else start_)
        assert found["alpha"].status == start_, "the others stay where they are"


async def test_an_error_keeps_its_words_and_a_retry_takes_them_away(database: Database) -> None:
    run, _ = await first_debate(database)
    await moved(database, run.id, lane("beta", "error", error="Key rejected.", late=True))
    assert (await Lanes(database).lanes_by_participant(run.id))["beta"] == lane(
        "beta", error="Key rejected.", late=True
    )
    assert await moved(database, run.id, lane("beta", "initial"), retry=True)
    assert (await Lanes(database).lanes_by_participant(run.id))["beta"] == lane("beta", "initial")


async def test_nobody_is_moved_who_has_no_lane(database: Database) -> None:
    run, _ = await first_debate(database)
    assert not await moved(database, run.id, lane("omega"))
    assert not await moved(database, "run_none", lane("alpha"))


async def walk(database: Database, run: str, path: list[tuple[LaneStatus, bool]]) -> None:
    """Go a way from the beginning, and look at every step where it led from."""
    async with database.write() as connection:
        await connection.execute(delete(lanes_table).where(lanes_table.c.run == run))
        await add_lanes(connection, run, ["alpha"])
    at: LaneStatus = "initial"
    for to, retry in path:
        went = await moved(database, run, lane("alpha", to), retry=retry)
        now = (await Lanes(database).lanes_by_participant(run))["alpha"].status
        assert now == (to if went else at)
        if at == "error":
            assert went == retry, "only a retry leads out of an error, and it always does"
        elif went:
            assert not retry
            assert (at, to) in MAY
        at = now


def test_whatever_is_tried_a_lane_leaves_an_error_only_by_a_retry(tmp_path: Path) -> None:
    with asyncio.Runner() as runner:
        context = migrated("sqlite", tmp_path)
        database = runner.run(context.__aenter__())
        run, _ = runner.run(first_debate(database))

        @given(moves)
        def any_way(path: list[tuple[LaneStatus, bool]]) -> None:
            runner.run(walk(database, run.id, path))

        any_way()
        runner.run(context.__aexit__(None, None, None))


async def test_when_a_run_is_over_nobody_is_on_the_way_any_more(database: Database) -> None:
    run, _ = await first_debate(database)
    await moved(database, run.id, lane("alpha", "debate"))
    await moved(database, run.id, lane("beta", "complete"))
    async with database.write() as connection:
        await fail_open_lanes(connection, run.id)
    found = await Lanes(database).lanes_by_participant(run.id)
    assert [found[who].status for who in ("alpha", "beta", "gamma")] == ["error", "complete", "error"]
    assert found["gamma"].error

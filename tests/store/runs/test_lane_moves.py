import asyncio
from pathlib import Path
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import delete, update

from moot.store.database import Database
from moot.store.runs.runs import Lanes, add_lanes, fail_open_lanes, move_lane
from moot.store.schema.runs import lane as lanes_table
from moot.types.debate import Lane, LaneStatus
from tests.support.accounts import create_discussion
from tests.support.databases import open_migrated_database
from tests.support.debates import make_lane, prepare_leased_debate
from tests.support.runs import create_run

STATUSES: tuple[LaneStatus, ...] = get_args(LaneStatus)
ALLOWED_MOVES = {
    ("initial", "debate"),
    ("initial", "complete"),
    ("initial", "error"),
    ("debate", "complete"),
    ("debate", "error"),
    ("complete", "error"),
}
MOVES = st.lists(st.tuples(st.sampled_from(STATUSES), st.booleans()), max_size=8)


async def try_move_lane(database: Database, run: str, new_lane: Lane, *, retry: bool = False) -> bool:
    async with database.write() as connection:
        return await move_lane(connection, run, new_lane, retry=retry)


async def set_lane_status(database: Database, run: str, status: LaneStatus) -> None:
    async with database.write() as connection:
        await connection.execute(update(lanes_table).where(lanes_table.c.run == run).values(status=status))


async def test_debate_starts_with_a_lane_per_participant_and_other_modes_with_none(
    database: Database,
) -> None:
    run, _ = await prepare_leased_debate(database)
    single = await create_run(database, await create_discussion(database))
    found = await Lanes(database).lanes_by_participant(run.id)
    assert found == {who: make_lane(who, "initial") for who in ("alpha", "beta", "gamma")}
    assert await Lanes(database).lanes_by_participant(single.id) == {}


@pytest.mark.parametrize("start_", STATUSES)
async def test_move_lane_allows_only_forward_moves_and_errors(database: Database, start_: LaneStatus) -> None:
    run, _ = await prepare_leased_debate(database)
    for to in STATUSES:
        await set_lane_status(database, run.id, start_)
        assert await try_move_lane(database, run.id, make_lane("beta", to)) == ((start_, to) in ALLOWED_MOVES)
        found = await Lanes(database).lanes_by_participant(run.id)
        assert found["beta"].status == (to if (start_, to) in ALLOWED_MOVES else start_)
        assert found["alpha"].status == start_, "the others stay where they are"


async def test_error_keeps_its_message_until_retry(database: Database) -> None:
    run, _ = await prepare_leased_debate(database)
    await try_move_lane(database, run.id, make_lane("beta", "error", error="Key rejected.", late=True))
    assert (await Lanes(database).lanes_by_participant(run.id))["beta"] == make_lane(
        "beta", error="Key rejected.", late=True
    )
    assert await try_move_lane(database, run.id, make_lane("beta", "initial"), retry=True)
    assert (await Lanes(database).lanes_by_participant(run.id))["beta"] == make_lane("beta", "initial")


async def test_move_lane_ignores_participant_without_lane(database: Database) -> None:
    run, _ = await prepare_leased_debate(database)
    assert not await try_move_lane(database, run.id, make_lane("omega"))
    assert not await try_move_lane(database, "run_none", make_lane("alpha"))


async def check_moves(database: Database, run: str, moves: list[tuple[LaneStatus, bool]]) -> None:
    """Move a new lane step by step and check each step."""
    async with database.write() as connection:
        await connection.execute(delete(lanes_table).where(lanes_table.c.run == run))
        await add_lanes(connection, run, ["alpha"])
    at: LaneStatus = "initial"
    for to, retry in moves:
        went = await try_move_lane(database, run, make_lane("alpha", to), retry=retry)
        now = (await Lanes(database).lanes_by_participant(run))["alpha"].status
        assert now == (to if went else at)
        if at == "error":
            assert went == retry, "only a retry leads out of an error, and it always does"
        elif went:
            assert not retry
            assert (at, to) in ALLOWED_MOVES
        at = now


def test_lane_leaves_error_only_by_retry(tmp_path: Path) -> None:
    with asyncio.Runner() as runner:
        context = open_migrated_database("sqlite", tmp_path)
        database = runner.run(context.__aenter__())
        run, _ = runner.run(prepare_leased_debate(database))

        @given(MOVES)
        def any_way(path: list[tuple[LaneStatus, bool]]) -> None:
            runner.run(check_moves(database, run.id, path))

        any_way()
        runner.run(context.__aexit__(None, None, None))


async def test_fail_open_lanes_marks_unfinished_lanes_as_error(database: Database) -> None:
    run, _ = await prepare_leased_debate(database)
    await try_move_lane(database, run.id, make_lane("alpha", "debate"))
    await try_move_lane(database, run.id, make_lane("beta", "complete"))
    async with database.write() as connection:
        await fail_open_lanes(connection, run.id)
    found = await Lanes(database).lanes_by_participant(run.id)
    assert [found[who].status for who in ("alpha", "beta", "gamma")] == ["error", "complete", "error"]
    assert found["gamma"].error

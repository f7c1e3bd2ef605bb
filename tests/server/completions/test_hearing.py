import asyncio
from contextlib import aclosing

import pytest

from moot.model.accounts import Caller
from moot.model.errors import NotFound
from moot.model.events import RunEnded, RunStarted, TextDelta
from moot.server.completions.hearing import Hearing
from tests.server.talking import Talking

ME = Caller(account="local", tenant="local", name="local", kind="local")


def hearing(here: Talking) -> Hearing:
    return Hearing(here.house.feeds, here.house.events, here.house.runs)


async def test_a_run_that_is_over_is_heard_from_its_start(here: Talking) -> None:
    run = (await here.open())["run"]["id"]
    await here.answer(run, "Yes", ".")
    heard = [event async for some in hearing(here).of(ME, run) for event in some]
    assert [type(event) for event in heard] == [RunStarted, TextDelta, TextDelta, RunEnded]
    assert (await here.house.runs.wishes(run)).stop is None


async def test_whoever_leaves_stops_it(here: Talking) -> None:
    run = (await here.open())["run"]["id"]
    await here.answer(run, "Yes", status=None)
    async with asyncio.timeout(60), aclosing(hearing(here).of(ME, run)) as heard:
        assert await anext(heard)
    assert (await here.house.runs.wishes(run)).stop == "stopped_by_user"


async def test_nobody_hears_the_runs_of_others(here: Talking) -> None:
    run = (await here.open())["run"]["id"]
    with pytest.raises(NotFound):
        await anext(hearing(here).of(Caller(account="x", tenant="x", name="x", kind="token"), run))
    assert (await here.house.runs.wishes(run)).stop is None

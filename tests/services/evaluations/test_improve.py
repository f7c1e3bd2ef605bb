"""Improving: only what is strictly better is built upon, every round is kept, one at a time, and leaving stops it."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import aclosing
from pathlib import Path

import pytest

from moot.providers.scripted.scripts import Script
from moot.services.evaluations.improve import Improved, ImprovementEvent, Improving, RoundEnded, Tried
from moot.store.library.evaluations import Evaluations
from moot.store.runs.workers import WorkerRegistry
from moot.types.errors import Conflict
from moot.types.personas import PersonaChange, PersonaDraft
from tests.databases import SLOW_ON_POSTGRES
from tests.server.trying import CALLER, Trying, judgement, rewritten, trying
from tests.store.people import ANNA, settled

SCEPTIC = "shipped_sceptic"


@pytest.fixture(params=SLOW_ON_POSTGRES)
async def room(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Trying]:
    async with settled(request.param, tmp_path) as database, trying(database) as room:
        yield room


async def improved(room: Trying, trial: str) -> list[ImprovementEvent]:
    return [event async for event in room.house.improvements.improve_persona(CALLER, trial)]


async def test_what_is_not_better_is_not_built_upon(room: Trying) -> None:
    trial = await room.judged(True, False)
    room.cast.says(
        "judge",
        rewritten("You shout.", "It shouts."),
        judgement(False, True),  # another one, and not more
        rewritten("You name sources."),
        judgement(True, True),
    )
    room.cast.says("alpha", "BECAUSE.", "Because, says Vitruvius.")
    events = await improved(room, trial["id"])
    rounds = [event.round for event in events if isinstance(event, RoundEnded)]
    assert [one.better for one in rounds] == [False, True]
    second = room.cast.heard("A language model answers in a part")[1]
    assert "You shout." not in second
    assert "did not help:\n- It shouts." in second
    assert isinstance(events[-1], Improved)
    assert events[-1].trial == await Evaluations(room.house.database).get_evaluation(ANNA, trial["id"])


async def test_the_very_same_request_is_answered_again_with_another_part(room: Trying) -> None:
    trial = await room.judged(True, False, persona=SCEPTIC)
    room.cast.says("judge", rewritten("You doubt, and name sources."), judgement(True, True))
    await improved(room, trial["id"])
    (asked,) = [one for one in room.cast.asked if one.model == "alpha"]
    message = await room.house.discussions.find_message(ANNA, trial["message"])
    was = (await room.house.retelling.replay_prompt(ANNA, message)).build_request()
    assert asked.messages == was.messages
    assert asked.system == was.system.replace(
        (await room.house.personas.get_persona(ANNA, SCEPTIC)).system_prompt, "You doubt, and name sources."
    )


async def test_what_it_takes_is_charged_by_what_it_was_for(room: Trying) -> None:
    trial = await room.judged(True, False)
    room.cast.says("judge", rewritten("You name sources."), judgement(True, True))
    await improved(room, trial["id"])
    assert {purpose: row["calls"] for purpose, row in (await room.paid()).items()} == {
        "assertion": 2,
        "improvement": 2,
    }


async def test_a_second_call_is_refused_while_one_goes_on(room: Trying) -> None:
    trial = await room.judged(True, False)
    room.cast.says("judge", rewritten("You name sources."), judgement(True, True))
    async with aclosing(room.house.improvements.improve_persona(CALLER, trial["id"])) as events:
        assert isinstance(await anext(events), Improving)
        with pytest.raises(Conflict, match="being improved already"):
            await improved(room, trial["id"])
        with pytest.raises(Conflict, match="being improved already"):
            await room.house.accepting.apply_improvement(CALLER, trial["id"])
    assert isinstance((await improved(room, trial["id"]))[-1], Improved), "and then it may go on"


async def test_whoever_leaves_stops_it_and_pays_for_what_was_said(room: Trying) -> None:
    trial = await room.judged(True, False)
    room.cast.says("judge", rewritten("You name sources."))
    room.cast.scripts.by_name["alpha"] = Script(answer="On and on. ", fault="endless", pace=0.01)
    events = room.house.improvements.improve_persona(CALLER, trial["id"])
    assert [type(await anext(events)) for _ in range(2)] == [Improving, Tried]
    reading = asyncio.ensure_future(anext(events))
    async with asyncio.timeout(60):
        while not any(one.model == "alpha" for one in room.cast.asked):
            await asyncio.sleep(0.01)
        await asyncio.sleep(0.5)  # it speaks a hundred times a second
    reading.cancel()
    with pytest.raises(asyncio.CancelledError):
        await reading
    assert (await room.paid())["improvement"]["calls"] == 2
    room.cast.says("judge", rewritten("You name sources."), judgement(True, True))
    room.cast.says("alpha", "Because, says Vitruvius.")
    last = (await improved(room, trial["id"]))[-1]
    assert isinstance(last, Improved)
    assert (last.outcome, len(last.trial.rounds)) == ("all_pass", 1)


@pytest.mark.parametrize("lives", [True, False])
async def test_another_worker_is_respected_while_it_lives(room: Trying, lives: bool) -> None:
    trial = await room.judged(True, True)
    await Evaluations(room.house.database).acquire_evaluation(ANNA, trial["id"], "worker-other")
    if lives:
        await WorkerRegistry(room.house.database).register("worker-other")
        with pytest.raises(Conflict, match="being improved already"):
            await improved(room, trial["id"])
    else:
        assert len(await improved(room, trial["id"])) == 2


async def test_a_persona_that_was_changed_since_has_to_be_asked_again(room: Trying) -> None:
    own = await room.house.personas.create_persona(ANNA, PersonaDraft(name="Ada", description="You count."))
    changed = await room.judged(True, False, persona=own.id)
    await room.house.personas.update_persona(ANNA, own.id, PersonaChange(description="You add."))
    with pytest.raises(Conflict, match="changed or deleted since"):
        await improved(room, changed["id"])
    gone = await room.judged(True, False, persona=own.id)
    await room.house.personas.delete_persona(ANNA, own.id)
    with pytest.raises(Conflict, match="changed or deleted since"):
        await improved(room, gone["id"])


async def test_an_answer_that_fails_ends_it_with_words(room: Trying) -> None:
    trial = await room.judged(True, False)
    room.cast.says("judge", rewritten("You name sources."))
    room.cast.scripts.by_name["alpha"] = Script(fault="unauthorized")
    last = (await improved(room, trial["id"]))[-1]
    assert isinstance(last, Improved)
    assert (last.outcome, last.trial.rounds) == ("failed", ())
    assert "Check the key" in last.message

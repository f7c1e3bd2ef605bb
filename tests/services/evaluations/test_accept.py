"""Accepting: one's own persona is changed, any other becomes one's own, and all of it can be undone."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from moot.types.errors import Conflict
from moot.types.evaluations import Trial
from moot.types.personas import PersonaChange, PersonaDraft
from tests.databases import SLOW_ON_POSTGRES
from tests.server.trying import CALLER, Trying, judgement, rewritten, trying
from tests.store.people import ANNA, settled

SCEPTIC = "shipped_sceptic"


@pytest.fixture(params=SLOW_ON_POSTGRES)
async def room(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Trying]:
    async with settled(request.param, tmp_path) as database, trying(database) as room:
        yield room


async def better(room: Trying, text: str = "You name sources.", **answered: Any) -> Trial:
    """Let a trial have a round that is better."""
    trial = await room.judged(True, False, **answered)
    room.cast.says("judge", rewritten(text), judgement(True, True))
    await room.improved(trial["id"])
    return await room.house.trials.get_evaluation(ANNA, trial["id"])


async def plays(room: Trying, trial: Trial) -> str | None:
    message = await room.house.discussions.find_message(ANNA, trial.message)
    return (await room.house.discussions.get_discussion(ANNA, message.discussion)).participants[0].persona


async def test_a_persona_of_ones_own_is_changed_and_put_back(room: Trying) -> None:
    own = await room.house.personas.create_persona(ANNA, PersonaDraft(name="Ada", description="You count."))
    trial = await better(room, "You count, and name sources.", persona=own.id)
    accepted = await room.house.accepting.apply_improvement(CALLER, trial.id)
    assert accepted.acceptance is not None
    assert (accepted.acceptance.before, accepted.acceptance.made) == ("You count.", False)
    now = await room.house.personas.get_persona(ANNA, own.id)
    assert now.description == "You count, and name sources."
    assert await plays(room, trial) == own.id
    await room.house.accepting.undo_improvement(CALLER, trial.id)
    assert await room.house.personas.get_persona(ANNA, own.id) == own


async def test_a_shipped_persona_stays_and_a_copy_is_played(room: Trying) -> None:
    trial = await better(room, persona=SCEPTIC)
    before = await room.house.personas.get_persona(ANNA, SCEPTIC)
    accepted = await room.house.accepting.apply_improvement(CALLER, trial.id)
    assert await room.house.personas.get_persona(ANNA, SCEPTIC) == before
    made = await room.house.personas.get_persona(ANNA, await plays(room, trial) or "")
    assert (made.name, made.system_prompt, made.shipped) == ("Sceptic, improved", "You name sources.", False)
    assert (made.description, made.traits) == (before.description, before.traits)
    assert accepted.acceptance is not None
    assert (accepted.acceptance.persona, accepted.acceptance.replaced) == (made.id, SCEPTIC)
    await room.house.accepting.undo_improvement(CALLER, trial.id)
    assert await plays(room, trial) == SCEPTIC
    again = await room.house.accepting.apply_improvement(CALLER, trial.id)
    assert again.acceptance is not None


async def test_a_part_that_all_play_is_replaced_for_the_one_who_answered(room: Trying) -> None:
    trial = await better(room, all_play=SCEPTIC)
    assert await plays(room, trial) is None
    await room.house.accepting.apply_improvement(CALLER, trial.id)
    made = await room.house.personas.get_persona(ANNA, await plays(room, trial) or "")
    assert made.name == "Sceptic, improved"
    await room.house.accepting.undo_improvement(CALLER, trial.id)
    assert await plays(room, trial) is None


async def test_what_was_changed_before_accepting_stays(room: Trying) -> None:
    own = await room.house.personas.create_persona(ANNA, PersonaDraft(name="Ada", description="You count."))
    trial = await better(room, persona=own.id)
    await room.house.personas.update_persona(ANNA, own.id, PersonaChange(description="You add."))
    with pytest.raises(Conflict, match="changed"):
        await room.house.accepting.apply_improvement(CALLER, trial.id)
    assert (await room.house.personas.get_persona(ANNA, own.id)).description == "You add."


async def test_what_was_changed_after_accepting_is_not_undone(room: Trying) -> None:
    own = await room.house.personas.create_persona(ANNA, PersonaDraft(name="Ada", description="You count."))
    trial = await better(room, persona=own.id)
    await room.house.accepting.apply_improvement(CALLER, trial.id)
    await room.house.personas.update_persona(ANNA, own.id, PersonaChange(description="You add."))
    with pytest.raises(Conflict, match="stays as it is"):
        await room.house.accepting.undo_improvement(CALLER, trial.id)
    assert (await room.house.personas.get_persona(ANNA, own.id)).description == "You add."


async def test_whoever_plays_another_part_by_now_keeps_it(room: Trying) -> None:
    trial = await better(room, persona=SCEPTIC)
    message = await room.house.discussions.find_message(ANNA, trial.message)
    seated = await room.house.seating.resolve_participants(ANNA, ["scripted/alpha"])
    await room.house.discussions.update_discussion(ANNA, message.discussion, {"participants": seated})
    with pytest.raises(Conflict, match="another part"):
        await room.house.accepting.apply_improvement(CALLER, trial.id)


async def test_where_nothing_was_better_there_is_nothing_to_accept(room: Trying) -> None:
    trial = await room.judged(True, False)
    with pytest.raises(Conflict, match="No round"):
        await room.house.accepting.apply_improvement(CALLER, trial["id"])
    with pytest.raises(Conflict, match="nothing to undo"):
        await room.house.accepting.undo_improvement(CALLER, trial["id"])


async def test_what_is_accepted_is_not_improved_any_more(room: Trying) -> None:
    trial = await better(room)
    await room.house.accepting.apply_improvement(CALLER, trial.id)
    assert (await room.api.call("POST", f"/trials/{trial.id}/improve")).status_code == 409

"""Applying an improvement changes the tenant's own persona or copies another one. Both can be undone."""

from typing import Any

import pytest

from moot.types.errors import Conflict
from moot.types.evaluations import Evaluation
from moot.types.personas import PersonaChange, PersonaDraft
from tests.support.accounts import ANNA
from tests.support.evaluation_app import (
    CALLER,
    EvaluationApp,
    judge_reply,
    rewrite_reply,
)

SCEPTIC = "shipped_sceptic"


async def create_improved_evaluation(
    harness: EvaluationApp, text: str = "You name sources.", **answer_options: Any
) -> Evaluation:
    """Create an evaluation with a better round."""
    evaluation = await harness.create_evaluation(True, False, **answer_options)
    harness.models.queue_answers("judge", rewrite_reply(text), judge_reply(True, True))
    await harness.improve_evaluation(evaluation["id"])
    return await harness.services.evaluations.get_evaluation(ANNA, evaluation["id"])


async def participant_persona(harness: EvaluationApp, evaluation: Evaluation) -> str | None:
    message = await harness.services.discussions.find_message(ANNA, evaluation.message)
    return (await harness.services.discussions.get_discussion(ANNA, message.discussion)).participants[0].persona


async def test_apply_improvement_changes_own_persona_and_undo_restores_it(harness: EvaluationApp) -> None:
    own = await harness.services.personas.create_persona(ANNA, PersonaDraft(name="Ada", description="You count."))
    evaluation = await create_improved_evaluation(harness, "You count, and name sources.", persona=own.id)
    accepted = await harness.services.improvements.apply_improvement(CALLER, evaluation.id)
    assert accepted.applied_improvement is not None
    assert (accepted.applied_improvement.before, accepted.applied_improvement.is_new_persona) == ("You count.", False)
    now = await harness.services.personas.get_persona(ANNA, own.id)
    assert now.description == "You count, and name sources."
    assert await participant_persona(harness, evaluation) == own.id
    await harness.services.improvements.undo_improvement(CALLER, evaluation.id)
    assert await harness.services.personas.get_persona(ANNA, own.id) == own


async def test_apply_improvement_copies_shipped_persona(harness: EvaluationApp) -> None:
    evaluation = await create_improved_evaluation(harness, persona=SCEPTIC)
    before = await harness.services.personas.get_persona(ANNA, SCEPTIC)
    accepted = await harness.services.improvements.apply_improvement(CALLER, evaluation.id)
    assert await harness.services.personas.get_persona(ANNA, SCEPTIC) == before
    made = await harness.services.personas.get_persona(ANNA, await participant_persona(harness, evaluation) or "")
    assert (made.name, made.system_prompt, made.builtin) == ("Sceptic, improved", "You name sources.", False)
    assert (made.description, made.traits) == (before.description, before.traits)
    assert accepted.applied_improvement is not None
    assert (accepted.applied_improvement.persona, accepted.applied_improvement.previous_persona) == (made.id, SCEPTIC)
    await harness.services.improvements.undo_improvement(CALLER, evaluation.id)
    assert await participant_persona(harness, evaluation) == SCEPTIC
    again = await harness.services.improvements.apply_improvement(CALLER, evaluation.id)
    assert again.applied_improvement is not None


async def test_apply_improvement_replaces_shared_persona_for_one_participant(harness: EvaluationApp) -> None:
    evaluation = await create_improved_evaluation(harness, shared_persona=SCEPTIC)
    assert await participant_persona(harness, evaluation) is None
    await harness.services.improvements.apply_improvement(CALLER, evaluation.id)
    made = await harness.services.personas.get_persona(ANNA, await participant_persona(harness, evaluation) or "")
    assert made.name == "Sceptic, improved"
    await harness.services.improvements.undo_improvement(CALLER, evaluation.id)
    assert await participant_persona(harness, evaluation) is None


async def test_apply_improvement_is_rejected_when_persona_was_changed(harness: EvaluationApp) -> None:
    own = await harness.services.personas.create_persona(ANNA, PersonaDraft(name="Ada", description="You count."))
    evaluation = await create_improved_evaluation(harness, persona=own.id)
    await harness.services.personas.update_persona(ANNA, own.id, PersonaChange(description="You add."))
    with pytest.raises(Conflict, match="changed"):
        await harness.services.improvements.apply_improvement(CALLER, evaluation.id)
    assert (await harness.services.personas.get_persona(ANNA, own.id)).description == "You add."


async def test_undo_improvement_is_rejected_when_persona_was_changed(harness: EvaluationApp) -> None:
    own = await harness.services.personas.create_persona(ANNA, PersonaDraft(name="Ada", description="You count."))
    evaluation = await create_improved_evaluation(harness, persona=own.id)
    await harness.services.improvements.apply_improvement(CALLER, evaluation.id)
    await harness.services.personas.update_persona(ANNA, own.id, PersonaChange(description="You add."))
    with pytest.raises(Conflict, match="stays as it is"):
        await harness.services.improvements.undo_improvement(CALLER, evaluation.id)
    assert (await harness.services.personas.get_persona(ANNA, own.id)).description == "You add."


async def test_apply_improvement_is_rejected_when_participant_has_other_persona(
    harness: EvaluationApp,
) -> None:
    evaluation = await create_improved_evaluation(harness, persona=SCEPTIC)
    message = await harness.services.discussions.find_message(ANNA, evaluation.message)
    participants = await harness.services.run_planner.assign_participants(ANNA, ["scripted/alpha"])
    await harness.services.discussions.update_discussion(ANNA, message.discussion, {"participants": participants})
    with pytest.raises(Conflict, match="another persona"):
        await harness.services.improvements.apply_improvement(CALLER, evaluation.id)


async def test_apply_improvement_is_rejected_without_better_round(harness: EvaluationApp) -> None:
    evaluation = await harness.create_evaluation(True, False)
    with pytest.raises(Conflict, match="No round"):
        await harness.services.improvements.apply_improvement(CALLER, evaluation["id"])
    with pytest.raises(Conflict, match="nothing to undo"):
        await harness.services.improvements.undo_improvement(CALLER, evaluation["id"])


async def test_improve_is_rejected_after_improvement_was_applied(harness: EvaluationApp) -> None:
    evaluation = await create_improved_evaluation(harness)
    await harness.services.improvements.apply_improvement(CALLER, evaluation.id)
    assert (await harness.api.call("POST", f"/evaluations/{evaluation.id}/improve")).status_code == 409

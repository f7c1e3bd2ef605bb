"""Improvement: only strictly better rounds are built upon, and all rounds are stored.

An evaluation has one improvement at a time. It stops when the client leaves.
"""

import asyncio
from contextlib import aclosing

import pytest

from moot.providers.scripted.scripts import Script
from moot.services.evaluations.improve import (
    ImprovementEnded,
    ImprovementEvent,
    ImprovementStarted,
    PersonaRewritten,
    RoundEnded,
)
from moot.store.library.evaluations import Evaluations
from moot.store.runs.runs import WorkerRegistry
from moot.types.errors import Conflict
from moot.types.personas import PersonaChange, PersonaDraft
from tests.support.accounts import ANNA
from tests.support.evaluation_app import (
    CALLER,
    EvaluationApp,
    judge_reply,
    rewrite_reply,
)

SCEPTIC = "shipped_sceptic"


async def collect_improvement_events(harness: EvaluationApp, evaluation_id: str) -> list[ImprovementEvent]:
    return [event async for event in harness.services.improvements.improve_persona(CALLER, evaluation_id)]


async def test_rewrite_builds_only_on_better_rounds(harness: EvaluationApp) -> None:
    evaluation = await harness.create_evaluation(True, False)
    harness.models.queue_answers(
        "judge",
        rewrite_reply("You shout.", "It shouts."),
        judge_reply(False, True),  # another assertion passes, but not more of them
        rewrite_reply("You name sources."),
        judge_reply(True, True),
    )
    harness.models.queue_answers("alpha", "BECAUSE.", "Because, says Vitruvius.")
    events = await collect_improvement_events(harness, evaluation["id"])
    rounds = [event.round for event in events if isinstance(event, RoundEnded)]
    assert [one.is_better for one in rounds] == [False, True]
    second = harness.models.find_prompts("A language model answers in a part")[1]
    assert "You shout." not in second
    assert "did not help:\n- It shouts." in second
    assert isinstance(events[-1], ImprovementEnded)
    assert events[-1].evaluation == await Evaluations(harness.services.database).get_evaluation(ANNA, evaluation["id"])


async def test_answer_request_differs_only_in_persona(harness: EvaluationApp) -> None:
    evaluation = await harness.create_evaluation(True, False, persona=SCEPTIC)
    harness.models.queue_answers("judge", rewrite_reply("You doubt, and name sources."), judge_reply(True, True))
    await collect_improvement_events(harness, evaluation["id"])
    (asked,) = [one for one in harness.models.requests if one.model == "alpha"]
    message = await harness.services.discussions.find_message(ANNA, evaluation["message"])
    was = (await harness.services.prompt_replay.replay_prompt(ANNA, message)).build_request()
    assert asked.messages == was.messages
    assert asked.system == was.system.replace(
        (await harness.services.personas.get_persona(ANNA, SCEPTIC)).system_prompt,
        "You doubt, and name sources.",
    )


async def test_improvement_is_charged_by_purpose(harness: EvaluationApp) -> None:
    evaluation = await harness.create_evaluation(True, False)
    harness.models.queue_answers("judge", rewrite_reply("You name sources."), judge_reply(True, True))
    await collect_improvement_events(harness, evaluation["id"])
    assert {purpose: row["calls"] for purpose, row in (await harness.usage_by_purpose()).items()} == {
        "assertion": 2,
        "improvement": 2,
    }


async def test_second_improve_call_is_rejected_while_first_runs(harness: EvaluationApp) -> None:
    evaluation = await harness.create_evaluation(True, False)
    harness.models.queue_answers("judge", rewrite_reply("You name sources."), judge_reply(True, True))
    async with aclosing(harness.services.improvements.improve_persona(CALLER, evaluation["id"])) as events:
        assert isinstance(await anext(events), ImprovementStarted)
        with pytest.raises(Conflict, match="being improved already"):
            await collect_improvement_events(harness, evaluation["id"])
        with pytest.raises(Conflict, match="being improved already"):
            await harness.services.improvements.apply_improvement(CALLER, evaluation["id"])
    assert isinstance((await collect_improvement_events(harness, evaluation["id"]))[-1], ImprovementEnded), (
        "and then it may go on"
    )


async def test_cancelled_improvement_stops_and_charges_generated_text(harness: EvaluationApp) -> None:
    evaluation = await harness.create_evaluation(True, False)
    harness.models.queue_answers("judge", rewrite_reply("You name sources."))
    harness.models.scripts.by_name["alpha"] = Script(answer="On and on. ", fault="endless", chunk_interval_seconds=0.01)
    events = harness.services.improvements.improve_persona(CALLER, evaluation["id"])
    assert [type(await anext(events)) for _ in range(2)] == [ImprovementStarted, PersonaRewritten]
    reading = asyncio.ensure_future(anext(events))
    async with asyncio.timeout(60):
        while not any(one.model == "alpha" for one in harness.models.requests):
            await asyncio.sleep(0.01)
        await asyncio.sleep(0.5)  # it sends a hundred chunks a second
    reading.cancel()
    with pytest.raises(asyncio.CancelledError):
        await reading
    assert (await harness.usage_by_purpose())["improvement"]["calls"] == 2
    harness.models.queue_answers("judge", rewrite_reply("You name sources."), judge_reply(True, True))
    harness.models.queue_answers("alpha", "Because, says Vitruvius.")
    last = (await collect_improvement_events(harness, evaluation["id"]))[-1]
    assert isinstance(last, ImprovementEnded)
    assert (last.outcome, len(last.evaluation.rounds)) == ("all_pass", 1)


@pytest.mark.parametrize("lives", [True, False])
async def test_evaluation_held_by_other_worker_is_respected_only_while_worker_lives(
    harness: EvaluationApp, lives: bool
) -> None:
    evaluation = await harness.create_evaluation(True, True)
    await Evaluations(harness.services.database).acquire_evaluation(ANNA, evaluation["id"], "worker-other")
    if lives:
        await WorkerRegistry(harness.services.database).register("worker-other")
        with pytest.raises(Conflict, match="being improved already"):
            await collect_improvement_events(harness, evaluation["id"])
    else:
        assert len(await collect_improvement_events(harness, evaluation["id"])) == 2


async def test_improve_is_rejected_when_persona_was_changed_or_deleted(harness: EvaluationApp) -> None:
    own = await harness.services.personas.create_persona(ANNA, PersonaDraft(name="Ada", description="You count."))
    changed = await harness.create_evaluation(True, False, persona=own.id)
    await harness.services.personas.update_persona(ANNA, own.id, PersonaChange(description="You add."))
    with pytest.raises(Conflict, match="changed or deleted after"):
        await collect_improvement_events(harness, changed["id"])
    gone = await harness.create_evaluation(True, False, persona=own.id)
    await harness.services.personas.delete_persona(ANNA, own.id)
    with pytest.raises(Conflict, match="changed or deleted after"):
        await collect_improvement_events(harness, gone["id"])


async def test_failed_answer_ends_improvement_with_error_message(harness: EvaluationApp) -> None:
    evaluation = await harness.create_evaluation(True, False)
    harness.models.queue_answers("judge", rewrite_reply("You name sources."))
    harness.models.scripts.by_name["alpha"] = Script(fault="unauthorized")
    last = (await collect_improvement_events(harness, evaluation["id"]))[-1]
    assert isinstance(last, ImprovementEnded)
    assert (last.outcome, last.evaluation.rounds) == ("failed", ())
    assert "Check the key" in last.message

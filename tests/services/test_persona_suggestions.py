"""Persona suggestions are streamed, existing personas are left out, and all calls are charged."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from msgspec.structs import replace

from moot.providers.scripted.scripts import Script, last_user_text
from moot.services.persona_suggestions import (
    PersonaSuggested,
    SuggestionEvent,
    SuggestionsEnded,
    SuggestionsStarted,
)
from moot.types.errors import MissingKey, ProviderError, UsageError
from moot.types.personas import CATEGORIES, PersonaDraft, SituationAnswer
from tests.prompts.tasks.test_persona_suggestions import make_proposal
from tests.support.accounts import ANNA, database_with_accounts
from tests.support.databases import SLOW_ON_POSTGRES
from tests.support.evaluation_app import CALLER, EvaluationApp, create_evaluation_app

TASK_MODEL = "scripted/task-model"
EIGHT_PROPOSALS = [make_proposal(f"Voice {place}", CATEGORIES[place // 2]) for place in range(8)]


@pytest.fixture(params=SLOW_ON_POSTGRES)
async def harness(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[EvaluationApp]:
    async with (
        database_with_accounts(request.param, tmp_path) as database,
        create_evaluation_app(database) as app,
    ):
        yield app


async def collect_suggestions(harness: EvaluationApp, *replies: SituationAnswer) -> list[SuggestionEvent]:
    events = harness.services.persona_suggestions.suggest_personas(CALLER, "I want to move.", replies, TASK_MODEL)
    return [event async for event in events]


def suggested_names(events: list[SuggestionEvent]) -> list[str]:
    return [event.proposal.name for event in events if isinstance(event, PersonaSuggested)]


async def test_suggestions_are_streamed_and_charged(harness: EvaluationApp) -> None:
    harness.models.queue_answers("task-model", EIGHT_PROPOSALS)
    events = await collect_suggestions(harness, SituationAnswer(question="Since when?", answer="A year."))
    assert isinstance(events[0], SuggestionsStarted)
    assert suggested_names(events) == [one["name"] for one in EIGHT_PROPOSALS]
    done = events[-1]
    assert isinstance(done, SuggestionsEnded)
    assert (done.proposals, done.dropped, done.message) == (8, (), "")
    assert list(await harness.usage_by_purpose()) == ["persona_suggestions"]
    assert "A year." in last_user_text(harness.models.requests[0])


async def test_suggestion_is_sent_as_soon_as_it_is_complete(harness: EvaluationApp) -> None:
    """The model never ends, but its complete suggestions are sent."""
    first = msgspec.json.encode(EIGHT_PROPOSALS[:2]).decode()[:-1]
    harness.models.scripts.by_name["task-model"] = Script(
        answer=f"{first}, ", fault="endless", chunk_interval_seconds=0.01, chunk_chars=5
    )
    events = harness.services.persona_suggestions.suggest_personas(CALLER, "I want to move.", (), TASK_MODEL)
    async with asyncio.timeout(60):
        received = [await anext(events) for _ in range(3)]
    assert suggested_names(received) == ["Voice 0", "Voice 1"]
    await events.aclose()
    assert (await harness.usage_by_purpose())["persona_suggestions"]["calls"] == 1, "the output so far is charged"


async def test_existing_duplicate_and_invalid_suggestions_are_rejected(harness: EvaluationApp) -> None:
    await harness.services.personas.create_persona(ANNA, PersonaDraft(name="Hypatia", description="You teach."))
    odd = [
        make_proposal("HYPATIA"),
        make_proposal("sceptic"),
        make_proposal("Ada"),
        make_proposal("ada "),
        make_proposal("Bo", "friend"),
        7,
    ]
    harness.models.queue_answers("task-model", odd)
    events = await collect_suggestions(harness)
    assert suggested_names(events) == ["Ada"]
    done = events[-1]
    assert isinstance(done, SuggestionsEnded)
    assert [one.name for one in done.dropped] == ["HYPATIA", "sceptic", "ada", "Bo"]
    assert "Hypatia, " in last_user_text(harness.models.requests[0]), "the prompt names the existing personas"


@pytest.mark.parametrize("around", ["{}", "Here you are:\n```json\n{}\n```\nEnjoy."])
async def test_text_around_the_array_is_ignored(harness: EvaluationApp, around: str) -> None:
    harness.models.queue_answers("task-model", around.replace("{}", msgspec.json.encode(EIGHT_PROPOSALS).decode()))
    assert len(suggested_names(await collect_suggestions(harness))) == 8


@pytest.mark.parametrize(
    ("script", "words"),
    [
        (Script(answer="I cannot do that."), "nothing that can be used"),
        (Script(fault="unauthorized"), "Check the key"),
        (
            Script(
                answer=msgspec.json.encode(EIGHT_PROPOSALS).decode(),
                fault="reset",
                chunk_chars=200,
                fault_after_chunks=3,
            ),
            "broke",
        ),
    ],
)
async def test_model_failure_is_reported_in_final_event(harness: EvaluationApp, script: Script, words: str) -> None:
    harness.models.scripts.by_name["task-model"] = replace(script)
    done = (await collect_suggestions(harness))[-1]
    assert isinstance(done, SuggestionsEnded)
    assert words in done.message


async def test_ask_questions_accepts_at_most_three(harness: EvaluationApp) -> None:
    harness.models.queue_answers("task-model", {"questions": ["Since when?", "What binds you?"]})
    asked = await harness.services.persona_suggestions.ask_questions(CALLER, "I want to move.", TASK_MODEL)
    assert asked.questions == ("Since when?", "What binds you?")
    harness.models.queue_answers("task-model", {"questions": ["x"] * 4})
    with pytest.raises(ProviderError):
        await harness.services.persona_suggestions.ask_questions(CALLER, "I want to move.", TASK_MODEL)


async def test_unavailable_model_is_rejected_before_streaming(harness: EvaluationApp) -> None:
    async def first(model: str) -> Any:
        return await anext(harness.services.persona_suggestions.suggest_personas(CALLER, "I want to move.", (), model))

    for model, kind in (("openai/gpt-x", MissingKey), ("nobody/x", UsageError)):
        with pytest.raises(kind):
            await first(model)

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from moot.settings import RateSettings, Settings
from tests.services.test_persona_suggestions import EIGHT_PROPOSALS, TASK_MODEL
from tests.support.accounts import database_with_accounts
from tests.support.databases import SLOW_ON_POSTGRES
from tests.support.evaluation_app import DOLLAR_PER_TOKEN, EvaluationApp, create_evaluation_app

SITUATION_BODY = {"situation": "I want to move.", "model": TASK_MODEL}


@pytest.fixture(params=SLOW_ON_POSTGRES)
async def evaluation_app(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[EvaluationApp]:
    async with (
        database_with_accounts(request.param, tmp_path) as database,
        create_evaluation_app(database) as app,
    ):
        yield app


async def test_suggestions_lead_from_situation_to_persona(evaluation_app: EvaluationApp) -> None:
    evaluation_app.models.queue_answers("task-model", {"questions": ["Since when?"]})
    asked = await evaluation_app.api.call_ok("POST", "/persona-suggestions/questions", SITUATION_BODY)
    assert (asked["questions"], asked["model"], asked["cost_usd"]) == (["Since when?"], TASK_MODEL, 0.0)
    evaluation_app.models.queue_answers("task-model", EIGHT_PROPOSALS)
    answers = [{"question": asked["questions"][0], "answer": "A year."}]
    events = await evaluation_app.stream_events("/persona-suggestions", SITUATION_BODY | {"answers": answers})
    assert [one["type"] for one in events] == ["proposing", *["proposal"] * 8, "done"]
    proposal = events[1]["proposal"]
    draft = {name: proposal[name] for name in ("name", "description", "category")}
    persona = await evaluation_app.api.call_ok("POST", "/personas", draft)
    assert persona["name"] == "Voice 0"
    again = await evaluation_app.stream_events("/persona-suggestions", SITUATION_BODY)
    assert (again[-1]["proposals"], again[-1]["dropped"][0]["name"]) == (7, "Voice 0")


@pytest.mark.parametrize("path", ["/persona-suggestions", "/persona-suggestions/questions"])
@pytest.mark.parametrize(
    ("wrong", "field"),
    [
        ({"situation": ""}, "situation"),
        ({"situation": "x" * 4001}, "situation"),
        ({"model": "gpt"}, "model"),
        ({"model": "scripted/nobody"}, "model"),
        ({"more": 1}, "more"),
    ],
)
async def test_suggestions_reject_invalid_body_by_field(
    evaluation_app: EvaluationApp, path: str, wrong: Any, field: str
) -> None:
    refused = await evaluation_app.api.call("POST", path, SITUATION_BODY | wrong)
    assert (refused.status_code, refused.json()["errors"][0]["field"]) == (400, field)


async def test_suggestions_reject_more_answers_than_questions(evaluation_app: EvaluationApp) -> None:
    four = [{"question": "Why?", "answer": "So."}] * 4
    assert (
        await evaluation_app.api.call("POST", "/persona-suggestions", SITUATION_BODY | {"answers": four})
    ).status_code == 400


@pytest.mark.parametrize("path", ["/persona-suggestions", "/persona-suggestions/questions"])
async def test_suggestions_return_503_while_draining(evaluation_app: EvaluationApp, path: str) -> None:
    evaluation_app.services.discussion_service.drain()
    assert (await evaluation_app.api.call("POST", path, SITUATION_BODY)).status_code == 503


@pytest.mark.parametrize("path", ["/persona-suggestions", "/persona-suggestions/questions"])
async def test_suggestions_are_limited_by_budget_and_rate(tmp_path: Path, path: str) -> None:
    settings = Settings(weekly_budget_usd=1.0, rates=RateSettings(model_requests_per_minute=2))
    async with (
        database_with_accounts("sqlite", tmp_path) as database,
        create_evaluation_app(database, settings) as app,
    ):
        app.models.queue_answers("task-model", {"questions": []}, usd_per_million_tokens=DOLLAR_PER_TOKEN)
        assert (await app.api.call("POST", "/persona-suggestions/questions", SITUATION_BODY)).status_code == 200
        assert (await app.api.call("POST", path, SITUATION_BODY)).status_code == 402
        assert (await app.api.call("POST", path, SITUATION_BODY)).status_code == 429
        assert len(app.models.requests) == 1

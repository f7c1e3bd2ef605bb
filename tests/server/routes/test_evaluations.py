from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from moot.settings import RateSettings, Settings
from moot.types.evaluations import MAX_IMPROVEMENT_ROUNDS
from tests.support.accounts import ANNA, BERT, database_with_accounts
from tests.support.databases import SLOW_ON_POSTGRES
from tests.support.evaluation_app import (
    ASSERTIONS,
    DOLLAR_PER_TOKEN,
    EvaluationApp,
    create_evaluation_app,
    judge_reply,
    rewrite_reply,
)

SCEPTIC_PERSONA = "shipped_sceptic"


@pytest.fixture(params=SLOW_ON_POSTGRES)
async def evaluation_app(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[EvaluationApp]:
    async with (
        database_with_accounts(request.param, tmp_path) as database,
        create_evaluation_app(database) as app,
    ):
        yield app


def event_types(events: list[Any]) -> list[str]:
    return [event["type"] for event in events]


async def test_judge_answer_stores_readable_evaluation(evaluation_app: EvaluationApp) -> None:
    message = await evaluation_app.record_answer()
    evaluation_app.models.queue_answers("judge", judge_reply(True, False))
    body = {"assertions": ASSERTIONS, "judge": "scripted/judge"}
    judged = await evaluation_app.api.call_ok("POST", f"/messages/{message.id}/evaluations", body)
    evaluation = judged["evaluation"]
    assert evaluation["assertions"] == ["It gives a reason.", "It names a source."]
    assert [one["passed"] for one in evaluation["verdicts"]] == [True, False]
    assert (evaluation["judge"], judged["cost_usd"]) == ("scripted/judge", 0.0)
    assert await evaluation_app.api.call_ok("GET", f"/evaluations/{evaluation['id']}") == evaluation
    assert await evaluation_app.api.call_ok("GET", f"/messages/{message.id}/evaluations") == [evaluation]
    assert list(await evaluation_app.usage_by_purpose()) == ["assertion"]


async def test_evaluation_is_improved_accepted_and_undone(evaluation_app: EvaluationApp) -> None:
    evaluation = await evaluation_app.create_evaluation(True, False)
    evaluation_app.models.queue_answers("judge", rewrite_reply("You name sources."), judge_reply(True, True))
    evaluation_app.models.queue_answers("alpha", "Because, says Vitruvius.")
    events = await evaluation_app.improve_evaluation(evaluation["id"])
    assert event_types(events) == ["improving", "rewritten", "answered", "round_ended", "done"]
    assert events[-1]["outcome"] == "all_pass"
    assert events[-2]["round"]["is_better"]
    assert evaluation_app.models.requests[-2].system.startswith("You take the part of Alpha.\n\nYou name sources.")

    accepted = await evaluation_app.api.call_ok("POST", f"/evaluations/{evaluation['id']}/apply")
    done = accepted["applied_improvement"]
    assert (done["is_new_persona"], done["before"], done["after"]) == (True, "", "You name sources.")
    assert accepted["applied_at"] is not None
    persona = await evaluation_app.api.call_ok("GET", f"/personas/{done['persona']}")
    assert (persona["name"], persona["description"]) == ("Alpha", "You name sources.")
    assert await evaluation_app.api.call_ok("POST", f"/evaluations/{evaluation['id']}/apply") == accepted, (
        "once is enough"
    )

    undone = await evaluation_app.api.call_ok("POST", f"/evaluations/{evaluation['id']}/undo")
    assert (undone["applied_improvement"], undone["applied_at"]) == (None, None)
    assert (await evaluation_app.api.call("GET", f"/personas/{done['persona']}")).status_code == 404
    assert (await evaluation_app.api.call("POST", f"/evaluations/{evaluation['id']}/undo")).status_code == 409


async def test_improve_stops_at_maximum_rounds_over_all_calls(evaluation_app: EvaluationApp) -> None:
    evaluation = await evaluation_app.create_evaluation(False, False)
    evaluation_app.models.queue_answers(
        "judge", *[rewrite_reply("x"), judge_reply(False, False)] * MAX_IMPROVEMENT_ROUNDS
    )
    events = await evaluation_app.improve_evaluation(evaluation["id"])
    assert event_types(events).count("round_ended") == MAX_IMPROVEMENT_ROUNDS
    assert events[-1]["outcome"] == "no_more_rounds"
    asked = len(evaluation_app.models.requests)
    again = await evaluation_app.improve_evaluation(evaluation["id"])
    assert event_types(again) == ["improving", "done"]
    assert len(evaluation_app.models.requests) == asked
    refused = await evaluation_app.api.call("POST", f"/evaluations/{evaluation['id']}/apply")
    assert (refused.status_code, "better" in refused.json()["detail"]) == (409, True)


async def test_failed_improvement_ends_stream_with_message_and_keeps_rounds(
    evaluation_app: EvaluationApp,
) -> None:
    evaluation = await evaluation_app.create_evaluation(False, False)
    evaluation_app.models.queue_answers("judge", rewrite_reply("One."), judge_reply(True, False), "No.", "No.")
    events = await evaluation_app.improve_evaluation(evaluation["id"])
    assert (events[-1]["outcome"], len(events[-1]["evaluation"]["rounds"])) == ("failed", 1)
    assert "scripted/judge" in events[-1]["message"]
    evaluation_app.models.queue_answers("judge", rewrite_reply("Two."), judge_reply(True, True))
    events = await evaluation_app.improve_evaluation(evaluation["id"])
    assert [len(events[0]["evaluation"]["rounds"]), events[-1]["outcome"]] == [1, "all_pass"]
    assert "One." in evaluation_app.models.find_prompts("A language model answers in a part")[-1], (
        "it goes on from the best"
    )


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({}, "assertions"),
        ({"assertions": ""}, "assertions"),
        ({"assertions": " \n "}, "assertions"),
        ({"assertions": "\n".join("x" * 21)}, "assertions"),
        ({"assertions": "x" * 501}, "assertions"),
        ({"assertions": "x", "judge": "gpt"}, "judge"),
        ({"assertions": "x", "judge": "scripted/nobody"}, "judge"),
        ({"assertions": "x", "model": "a/b"}, "model"),
    ],
)
async def test_judge_answer_rejects_invalid_body_by_field(evaluation_app: EvaluationApp, body: Any, field: str) -> None:
    message = await evaluation_app.record_answer()
    refused = await evaluation_app.api.call("POST", f"/messages/{message.id}/evaluations", body)
    assert (refused.status_code, refused.json()["errors"][0]["field"]) == (400, field)


async def test_judge_answer_conflicts_for_user_message(evaluation_app: EvaluationApp) -> None:
    message = await evaluation_app.record_answer()
    run = await evaluation_app.services.runs.get_run(ANNA, message.run or "")
    refused = await evaluation_app.api.call("POST", f"/messages/{run.message}/evaluations", {"assertions": "x"})
    assert refused.status_code == 409


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("POST", "/messages/{message}/evaluations"),
        ("GET", "/messages/{message}/evaluations"),
        ("GET", "/evaluations/{evaluation}"),
        ("POST", "/evaluations/{evaluation}/improve"),
        ("POST", "/evaluations/{evaluation}/apply"),
        ("POST", "/evaluations/{evaluation}/undo"),
    ],
)
async def test_evaluation_of_other_tenant_is_not_found(evaluation_app: EvaluationApp, method: str, path: str) -> None:
    evaluation = await evaluation_app.create_evaluation(True, False)
    asked = len(evaluation_app.models.requests)
    body = {"assertions": "x"} if method == "POST" and "messages" in path else None
    target = path.format(message=evaluation["message"], evaluation=evaluation["id"])
    reply = await evaluation_app.api.call(method, target, body, tenant=BERT)
    assert reply.status_code == 404
    assert len(evaluation_app.models.requests) == asked
    assert await evaluation_app.api.call_ok("GET", f"/evaluations/{evaluation['id']}") == evaluation


async def test_judge_and_improve_make_no_model_call_when_budget_is_exhausted(tmp_path: Path) -> None:
    settings = Settings(weekly_budget_usd=1.0)
    async with (
        database_with_accounts("sqlite", tmp_path) as database,
        create_evaluation_app(database, settings) as app,
    ):
        message = await app.record_answer()
        app.models.queue_answers("judge", judge_reply(True, False), usd_per_million_tokens=DOLLAR_PER_TOKEN)
        body = {"assertions": ASSERTIONS, "judge": "scripted/judge"}
        evaluation = (await app.api.call_ok("POST", f"/messages/{message.id}/evaluations", body))["evaluation"]
        asked = len(app.models.requests)
        for path, again in (
            (f"/messages/{message.id}/evaluations", body),
            (f"/evaluations/{evaluation['id']}/improve", None),
        ):
            assert (await app.api.call("POST", path, again)).status_code == 402
        assert len(app.models.requests) == asked


async def test_judge_and_improve_count_against_model_request_limit(tmp_path: Path) -> None:
    settings = Settings(rates=RateSettings(model_requests_per_minute=2))
    async with (
        database_with_accounts("sqlite", tmp_path) as database,
        create_evaluation_app(database, settings) as app,
    ):
        evaluation = await app.create_evaluation(True, True)
        assert event_types(await app.improve_evaluation(evaluation["id"])) == ["improving", "done"]
        assert (await app.api.call("POST", f"/evaluations/{evaluation['id']}/improve")).status_code == 429


async def test_judge_and_improve_return_503_while_draining(evaluation_app: EvaluationApp) -> None:
    evaluation = await evaluation_app.create_evaluation(True, False)
    evaluation_app.services.discussion_service.drain()
    for path, body in (
        (f"/messages/{evaluation['message']}/evaluations", {"assertions": "x"}),
        (f"/evaluations/{evaluation['id']}/improve", None),
    ):
        assert (await evaluation_app.api.call("POST", path, body)).status_code == 503

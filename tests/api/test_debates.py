"""Debates over the API: lanes and their threads, the report, failures and retries."""

import asyncio
from contextlib import aclosing
from itertools import chain
from typing import Any

import pytest

from tests.api.api_client import ApiClient, ended_turn
from tests.support import debate_scripts

pytestmark = pytest.mark.asyncio(loop_scope="module")


async def start_debate(api_client: ApiClient, *models: str, **more: Any) -> Any:
    return await api_client.create_discussion(*models, mode="debate", message="Shall we split the service?", **more)


async def get_lane_thread(api_client: ApiClient, run: str, participant: str) -> list[tuple[str, str]]:
    reply = await api_client.server.get(f"/api/runs/{run}/lanes/{participant}/messages")
    assert reply.status == 200, reply.text
    return [(message["role"], message["content"]) for message in reply.body["messages"]]


async def wait_for_event(api_client: ApiClient, run: str, event_type: str, participant: str, times: int = 1) -> None:
    """Wait until a participant has had so many events of a type."""
    async with aclosing(api_client.server.events(f"/api/runs/{run}/events")) as frames:
        async for frame in frames:
            times -= (frame.data["type"], frame.data.get("participant")) == (event_type, participant)
            if not times:
                return
    raise AssertionError(f"{event_type} of {participant} is missing")


def started_stages(events: list[Any]) -> list[str]:
    return [event["stage"] for event in events if event["type"] == "stage_started"]


async def test_debate_of_three_reports_summary_ranking_claims_and_position_changes(
    api_client: ApiClient,
) -> None:
    started = await start_debate(api_client, "lab/yes", "lab/no", "lab/perhaps")
    run, discussion = started["run"]["id"], started["discussion"]["id"]
    events = await api_client.server.run_events(run)
    assert started_stages(events) == ["initial", "debate", "synthesis"]
    assert events[-1]["status"] == "completed", events[-5:]

    report = await api_client.get_run(run)
    assert report["message"] == started["message"]["id"]
    assert [(lane["participant"], lane["status"], lane["error"]) for lane in report["lanes"]] == [
        ("alpha", "complete", None),
        ("beta", "complete", None),
        ("gamma", "complete", None),
    ]
    rows = report["summary"]["per_model"]
    assert report["summary"]["original_prompt"] == "Shall we split the service?"
    assert [(row["participant"], row["changed_position"]) for row in rows] == [
        ("alpha", False),
        ("beta", False),
        ("gamma", True),
    ]
    assert sorted(report["ranking"]["votes"]) == ["alpha", "beta", "gamma"]
    ballots = report["ranking"]["votes"].items()
    assert all(who not in chain.from_iterable(order) for who, order in ballots)
    assert sum(place["points"] for place in report["ranking"]["answers"]) == 3
    blocking, unknown = report["claims"]
    assert [voice["participant"] for voice in blocking["supporters"]] == ["alpha", "gamma"]
    assert blocking["supporters"][1]["quote"] == "the teams block each other every single week"
    assert (unknown["minority"], unknown["opponents"]) == (True, []), "a quote that no answer contains is left out"
    (flip,) = report["position_changes"]
    assert (flip["participant"], flip["because_of"], flip["quote"]) == (
        "gamma",
        "alpha",
        "I change my position.",
    )

    quoted = {voice["message"] for voice in blocking["supporters"]}
    messages = {message["id"]: message for message in (await api_client.get_discussion(discussion))["messages"]}
    assert quoted <= messages.keys()
    (synthesis,) = [message for message in messages.values() if message["role"] == "synthesis"]
    assert (synthesis["participant"], synthesis["content"]) == ("alpha", debate_scripts.SYNTHESIS_ANSWER)
    assert not any(message["hidden"] for message in messages.values())


async def test_lane_thread_contains_own_answers_and_quotes_other_participants(api_client: ApiClient) -> None:
    started = await start_debate(api_client, "lab/yes", "lab/no", "lab/perhaps")
    run = started["run"]["id"]
    await api_client.server.run_events(run)
    question, first, instructions, second = await get_lane_thread(api_client, run, "gamma")
    assert question == ("user", "Shall we split the service?")
    assert (first, second) == (("assistant", debate_scripts.PERHAPS), ("assistant", debate_scripts.CHANGED_TO_YES))
    assert all(
        words in instructions[1]
        for words in ("Shall we split", f"### Alpha\n\n{debate_scripts.YES}", debate_scripts.NO)
    )
    assert debate_scripts.PERHAPS not in instructions[1]
    (lane,) = [one for one in (await api_client.get_run(run))["lanes"] if one["participant"] == "gamma"]
    assert lane["anchors"]["initial"] == started["message"]["id"]
    assert set(lane["anchors"]) == {"initial", "debate"}
    unknown = await api_client.server.get(f"/api/runs/{run}/lanes/omega/messages")
    assert unknown.status == 404


async def test_failed_lane_is_left_out_and_can_be_retried_after_run_ends(api_client: ApiClient) -> None:
    started = await start_debate(api_client, "lab/yes", "lab/no", "lab/late")
    run = started["run"]["id"]
    events = await api_client.server.run_events(run)
    assert events[-1]["status"] == "completed"
    report = await api_client.get_run(run)
    assert [lane["status"] for lane in report["lanes"]] == ["complete", "complete", "error"]
    words = report["lanes"][2]["error"]
    assert "Key rejected" in words
    sent = [str(body) for body in api_client.provider_server.request_bodies]
    assert not any(words in body or "Key rejected" in body for body in sent)
    empty = report["summary"]["per_model"][2]
    assert (empty["participant"], empty["initial_summary"]) == ("gamma", "")
    calls = len(api_client.provider_server.request_bodies)

    again = await api_client.server.post(f"/api/runs/{run}/lanes/gamma/retry")
    assert (again.status, again.body["status"], again.body["revision"]) == (202, "waiting", 1)
    more = await api_client.server.run_events(run, after=events[-1]["seq"])
    assert more[0]["kind"] == "retried"
    assert [e["participant"] for e in more if e["type"] == "turn_ended"] == ["gamma", "gamma", "alpha"]
    assert [event["seq"] for event in [*events, *more]] == list(range(1, more[-1]["seq"] + 1))
    report = await api_client.get_run(run)
    assert [lane["status"] for lane in report["lanes"]] == ["complete"] * 3
    assert report["summary"]["per_model"][2]["changed_position"] is True
    assert len(report["ranking"]["votes"]) == 3
    asked = [str(body) for body in api_client.provider_server.request_bodies[calls:]]
    assert not any(debate_scripts.SECOND_ANSWER_PROMPT in body and "lab/yes" in body for body in asked)
    nothing = await api_client.server.post(f"/api/runs/{run}/retry-failed")
    assert nothing.status == 409


async def test_retry_of_failed_lane_accepts_other_model(api_client: ApiClient) -> None:
    started = await start_debate(api_client, "lab/yes", "lab/unauthorized")
    run = started["run"]["id"]
    events = await api_client.server.run_events(run)
    again = await api_client.server.post(f"/api/runs/{run}/lanes/beta/retry", {"model": "lab/no"})
    assert again.status == 202, again.text
    more = await api_client.server.run_events(run, after=events[-1]["seq"])
    assert more[-1]["status"] == "completed"
    beta = (await api_client.get_run(run))["lanes"][1]
    assert (beta["status"], beta["model"]) == ("complete", "lab/no")


async def test_debate_fails_with_fault_per_lane_when_all_lanes_fail(api_client: ApiClient) -> None:
    started = await start_debate(api_client, "lab/unauthorized", "lab/forbidden")
    run = started["run"]["id"]
    events = await api_client.server.run_events(run)
    assert events[-1]["status"] == "failed"
    assert all(lane["error"] for lane in (await api_client.get_run(run))["lanes"])
    assert all(ended_turn(events, who)["fault"] for who in ("alpha", "beta"))


async def test_failed_lead_is_replaced_for_synthesis(api_client: ApiClient) -> None:
    started = await start_debate(api_client, "lab/unauthorized", "lab/no", debate={"lead": "Alpha"})
    events = await api_client.server.run_events(started["run"]["id"])
    notice_kinds = [event["kind"] for event in events if event["type"] == "notice"]
    assert "lead_replaced" in notice_kinds
    (synthesis,) = [e for e in events if e["type"] == "turn_ended" and e["stage"] == "synthesis"]
    assert synthesis["participant"] == "beta"


async def test_unusable_summary_leaves_completed_run_with_notice(
    api_client: ApiClient,
) -> None:
    started = await start_debate(api_client, "lab/quick", "lab/other")
    run = started["run"]["id"]
    events = await api_client.server.run_events(run)
    assert events[-1]["status"] == "completed"
    missing = [event["message"] for event in events if event.get("kind") == "missing"]
    assert any("The summary of " in words and "asked twice" in words for words in missing)
    report = await api_client.get_run(run)
    assert (report["summary"], report["claims"]) == (None, [])
    assert [lane["status"] for lane in report["lanes"]] == ["complete", "complete"]


async def test_stop_lane_ends_one_lane_while_others_complete(api_client: ApiClient) -> None:
    started = await start_debate(api_client, "lab/yes", "lab/long", "lab/no")
    run = started["run"]["id"]
    await api_client.wait_for_text(run, "beta")
    stopped = await api_client.server.post(f"/api/runs/{run}/lanes/beta/stop")
    assert stopped.status == 200
    events = await api_client.server.run_events(run)
    assert events[-1]["status"] == "completed"
    report = await api_client.get_run(run)
    assert [lane["status"] for lane in report["lanes"]] == ["complete", "error", "complete"]


async def test_failed_lane_can_be_retried_while_other_lanes_run(api_client: ApiClient) -> None:
    api_client.provider_server.held_models["even"] = asyncio.Event()
    started = await start_debate(api_client, "lab/even", "lab/slip")
    run = started["run"]["id"]
    await wait_for_event(api_client, run, "turn_ended", "beta")
    again = await api_client.server.post(f"/api/runs/{run}/lanes/beta/retry")
    assert again.status == 202, again.text
    await wait_for_event(api_client, run, "turn_started", "beta", times=2)
    api_client.provider_server.held_models.pop("even").set()
    events = await api_client.server.run_events(run)
    assert started_stages(events) == ["initial", "debate", "synthesis"], "nothing is made twice"
    assert [e["status"] for e in events if e["type"] == "turn_ended" and e["participant"] == "beta"] == [
        "failed",
        "completed",
        "completed",
    ]
    assert [lane["status"] for lane in (await api_client.get_run(run))["lanes"]] == ["complete", "complete"]


async def test_retry_stopped_before_start_can_be_retried_again(api_client: ApiClient) -> None:
    started = await start_debate(api_client, "lab/ponder", "lab/unauthorized", "lab/ponder")
    run = started["run"]["id"]
    async for frame in api_client.server.events(f"/api/runs/{run}/events"):
        if frame.data["type"] == "turn_started" and frame.data["stage"] == "debate":
            break
    again = await api_client.server.post(f"/api/runs/{run}/lanes/beta/retry", {"model": "lab/no"})
    assert again.status == 202, again.text
    await api_client.server.post(f"/api/runs/{run}/stop")
    events = await api_client.wait_for_run_end(run)
    assert events[-1]["status"] == "stopped"
    lanes = (await api_client.get_run(run))["lanes"]
    assert [lane["status"] for lane in lanes] == ["error", "error", "error"], "no lane is active any more"
    once_more = await api_client.server.post(f"/api/runs/{run}/lanes/beta/retry")
    assert once_more.status == 202, once_more.text
    await api_client.wait_for_run_end(run)
    assert (await api_client.get_run(run))["lanes"][1]["status"] == "complete"


async def test_lane_later_than_quorum_is_marked_late_and_can_be_retried(api_client: ApiClient) -> None:
    started = await start_debate(api_client, "lab/yes", "lab/no", "lab/long", debate={"quorum": 2})
    run = started["run"]["id"]
    events = await api_client.server.run_events(run)
    assert events[-1]["status"] == "completed"
    lane = (await api_client.get_run(run))["lanes"][2]
    assert (lane["status"], lane["late"]) == ("error", True)
    assert "continued without it" in lane["error"]
    await api_client.server.post(f"/api/runs/{run}/lanes/gamma/retry", {"model": "lab/perhaps"})
    await api_client.wait_for_run_end(run)
    lane = (await api_client.get_run(run))["lanes"][2]
    assert (lane["status"], lane["late"]) == ("complete", False), "now the others wait"


@pytest.mark.parametrize(
    ("debate", "field"),
    [
        ({"lead": "Omega"}, "debate.lead"),
        ({"quorum": 3}, "debate.quorum"),
        ({"deadline": 0}, "debate.deadline"),
    ],
)
async def test_invalid_debate_options_are_rejected_by_field(api_client: ApiClient, debate: Any, field: str) -> None:
    body = {"message": "Why?", "participants": ["lab/yes", "lab/no"], "mode": "debate", "debate": debate}
    reply = await api_client.server.post("/api/discussions", body)
    assert (reply.status, reply.body["errors"][0]["field"]) == (400, field), reply.text


async def test_debate_with_one_participant_is_rejected(api_client: ApiClient) -> None:
    body = {"message": "Why?", "participants": ["lab/yes"], "mode": "debate"}
    reply = await api_client.server.post("/api/discussions", body)
    assert (reply.status, reply.body["errors"][0]["field"]) == (400, "mode"), reply.text

"""Stops and interruptions of a run: the partial answer is stored, and the next prompt contains it."""

import asyncio

import pytest

from tests.api.api_client import LONG_ANSWER, ApiClient, ended_turn, participant_text
from tests.support.databases import DATABASE_KINDS
from tests.support.moot_server import SERVER_TIMEOUT_SECONDS

pytestmark = [
    pytest.mark.asyncio(loop_scope="module"),
    pytest.mark.parametrize(
        "api_client", DATABASE_KINDS, indirect=True
    ),  # central enough for both databases every time
]


async def test_stop_ends_provider_call_and_keeps_partial_text(api_client: ApiClient) -> None:
    opened = await api_client.create_discussion("lab/long")
    run = opened["run"]["id"]
    await api_client.wait_for_text(run)
    stopped = await api_client.server.post(f"/api/runs/{run}/stop")
    assert (stopped.status, stopped.body["id"]) == (200, run)

    events = await api_client.server.run_events(run)
    turn = ended_turn(events, "alpha")
    assert (turn["status"], events[-1]["status"]) == ("stopped", "stopped")
    assert LONG_ANSWER.startswith(turn["message"]["text"])
    assert 0 < len(turn["message"]["text"]) < len(LONG_ANSWER)
    (stored,) = await api_client.list_answers(opened["discussion"]["id"])
    assert (stored["status"], stored["content"]) == ("stopped", participant_text(events, "alpha"))
    async with asyncio.timeout(SERVER_TIMEOUT_SECONDS):
        while api_client.provider_server.received_requests[-1].outcome != "client left":
            await asyncio.sleep(0.02)

    again = await api_client.server.post(f"/api/runs/{run}/stop", {})
    assert (again.status, again.body["status"]) == (200, "stopped")


async def test_stop_of_one_participant_lets_others_complete(api_client: ApiClient) -> None:
    opened = await api_client.create_discussion("lab/long", "lab/even", mode="parallel")
    run = opened["run"]["id"]
    await api_client.wait_for_text(run, "alpha")
    reply = await api_client.server.post(f"/api/runs/{run}/stop", {"participant": "alpha"})
    assert reply.status == 200
    events = await api_client.server.run_events(run)
    assert ended_turn(events, "alpha")["status"] == "stopped"
    assert ended_turn(events, "beta")["status"] == "completed"
    assert events[-1]["status"] == "completed"
    again = await api_client.server.post(f"/api/runs/{run}/stop", {"participant": "alpha"})
    assert (again.status, again.body["status"]) == (200, "completed"), "a run that is over stays as it is"
    unknown = await api_client.server.post(f"/api/runs/{run}/stop", {"participant": "omega"})
    assert unknown.status == 404


async def test_stop_racing_with_run_end_writes_one_run_ended_event(api_client: ApiClient) -> None:
    runs = [await api_client.create_discussion("lab/quick") for _ in range(6)]
    await asyncio.gather(*(api_client.server.post(f"/api/runs/{one['run']['id']}/stop") for one in runs))
    for one in runs:
        events = await api_client.server.run_events(one["run"]["id"])
        (end,) = [event for event in events if event["type"] == "run_ended"]
        assert (await api_client.get_run(one["run"]["id"]))["status"] == end["status"]
        assert len([event for event in events if event["type"] == "turn_ended"]) <= 1


async def test_new_message_interrupts_run_and_next_prompt_contains_partial_answer(
    api_client: ApiClient,
) -> None:
    opened = await api_client.create_discussion("lab/long")
    discussion, first = opened["discussion"]["id"], opened["run"]["id"]
    await api_client.wait_for_text(first)
    await api_client.update_discussion(discussion, participants=["lab/echo"])
    second = (await api_client.send_message(discussion, "Wait: something else."))["run"]["id"]

    events = await api_client.server.run_events(first)
    assert (ended_turn(events, "alpha")["status"], events[-1]["status"]) == ("interrupted", "interrupted")
    later = await api_client.server.run_events(second)
    assert later[0]["at"] >= events[-1]["at"]
    messages = (await api_client.get_discussion(discussion))["messages"]
    assert [m["role"] for m in messages] == ["user", "assistant", "user", "assistant"]
    assert [m["run"] for m in messages if m["role"] == "assistant"] == [first, second]
    sent = api_client.provider_server.request_bodies[-1]["messages"]
    assert {"role": "assistant", "content": participant_text(events, "alpha")} in sent
    assert sent[-1] == {"role": "user", "content": "Wait: something else."}

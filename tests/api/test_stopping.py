"""Journeys to an early end: what was said is kept, and what comes next has heard it."""

import asyncio

import pytest

from tests.api.journey import LONG, Journey, ended, text_of
from tests.databases import KINDS
from tests.serving import SECONDS

pytestmark = [
    pytest.mark.asyncio(loop_scope="module"),
    pytest.mark.parametrize("journey", KINDS, indirect=True),  # central enough for both databases every time
]


async def test_a_stop_ends_the_call_and_keeps_what_was_said(journey: Journey) -> None:
    opened = await journey.open("lab/long")
    run = opened["run"]["id"]
    await journey.until_speaking(run)
    stopped = await journey.server.post(f"/api/runs/{run}/stop")
    assert (stopped.status, stopped.body["id"]) == (200, run)

    events = await journey.server.heard(run)
    turn = ended(events, "alpha")
    assert (turn["status"], events[-1]["status"]) == ("stopped", "stopped")
    assert LONG.startswith(turn["message"]["text"])
    assert 0 < len(turn["message"]["text"]) < len(LONG)
    (kept,) = await journey.answers(opened["discussion"]["id"])
    assert (kept["status"], kept["content"]) == ("stopped", text_of(events, "alpha"))
    async with asyncio.timeout(SECONDS):
        while journey.lab.received_requests[-1].outcome != "client left":
            await asyncio.sleep(0.02)

    again = await journey.server.post(f"/api/runs/{run}/stop", {})
    assert (again.status, again.body["status"]) == (200, "stopped")


async def test_one_participant_can_be_stopped_while_the_others_go_on(journey: Journey) -> None:
    opened = await journey.open("lab/long", "lab/even", mode="parallel")
    run = opened["run"]["id"]
    await journey.until_speaking(run, "alpha")
    reply = await journey.server.post(f"/api/runs/{run}/stop", {"participant": "alpha"})
    assert reply.status == 200
    events = await journey.server.heard(run)
    assert ended(events, "alpha")["status"] == "stopped"
    assert ended(events, "beta")["status"] == "completed"
    assert events[-1]["status"] == "completed"
    again = await journey.server.post(f"/api/runs/{run}/stop", {"participant": "alpha"})
    assert (again.status, again.body["status"]) == (200, "completed"), "a run that is over stays as it is"
    nobody = await journey.server.post(f"/api/runs/{run}/stop", {"participant": "omega"})
    assert nobody.status == 404


async def test_a_stop_that_races_the_end_leaves_one_end(journey: Journey) -> None:
    runs = [await journey.open("lab/quick") for _ in range(6)]
    await asyncio.gather(*(journey.server.post(f"/api/runs/{one['run']['id']}/stop") for one in runs))
    for one in runs:
        events = await journey.server.heard(one["run"]["id"])
        (end,) = [event for event in events if event["type"] == "run_ended"]
        assert (await journey.run(one["run"]["id"]))["status"] == end["status"]
        assert len([event for event in events if event["type"] == "turn_ended"]) <= 1


async def test_a_new_message_interrupts_and_the_next_answer_has_heard_the_last(journey: Journey) -> None:
    opened = await journey.open("lab/long")
    discussion, first = opened["discussion"]["id"], opened["run"]["id"]
    await journey.until_speaking(first)
    await journey.change(discussion, participants=["lab/echo"])
    second = (await journey.say(discussion, "Wait: something else."))["run"]["id"]

    events = await journey.server.heard(first)
    assert (ended(events, "alpha")["status"], events[-1]["status"]) == ("interrupted", "interrupted")
    later = await journey.server.heard(second)
    assert later[0]["at"] >= events[-1]["at"]
    messages = (await journey.read(discussion))["messages"]
    assert [m["role"] for m in messages] == ["user", "assistant", "user", "assistant"]
    assert [m["run"] for m in messages if m["role"] == "assistant"] == [first, second]
    sent = journey.lab.bodies[-1]["messages"]
    assert {"role": "assistant", "content": text_of(events, "alpha")} in sent
    assert sent[-1] == {"role": "user", "content": "Wait: something else."}

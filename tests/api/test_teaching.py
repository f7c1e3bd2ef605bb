"""Journeys of a client that keeps the state of a lesson itself, call by call."""

import asyncio
from contextlib import aclosing
from typing import Any

import pytest

from moot.types.actions import parse_action
from moot.whiteboard.state import RecordedAction, replay_actions
from tests.api.journey import Journey
from tests.lessons import CLASS, MIRA, QUESTION, body, types
from tests.serving import SECONDS

pytestmark = pytest.mark.asyncio(loop_scope="module")

CHAT = "/api/stateless/chat"
AT_THE_LAB = [{**one, "model": one["model"].replace("scripted/", "lab/")} for one in CLASS]


class Pupil:
    """A client: all that it knows of the lesson is what it was told."""

    def __init__(self, journey: Journey) -> None:
        self._server = journey.server
        self.messages: list[dict[str, Any]] = []
        self.state: Any = None

    def say(self, words: str) -> None:
        """Speak; turns are counted anew, and what is on the board stays."""
        self.messages.append({"role": "user", "content": words})
        if self.state is not None:
            self.state = {**self.state, "turnCount": 0}

    async def call(self) -> list[Any]:
        asked = body(*AT_THE_LAB, model="lab/teacher", messages=self.messages, directorState=self.state)
        events = [frame.data async for frame in self._server.events(CHAT, body=asked)]
        assert types(events)[-1] == "done"
        self.state = events[-1]["data"]["directorState"]
        if "agent_start" in types(events):
            self.messages.append(self._heard(events))
        return events

    def _heard(self, events: list[Any]) -> dict[str, Any]:
        (start,) = [event["data"] for event in events if event["type"] == "agent_start"]
        parts: list[dict[str, Any]] = []
        for event in events:
            told = event["data"]
            if event["type"] == "text_delta":
                parts.append({"type": "text", "content": told["content"]})
            elif event["type"] == "action":
                parts.append({"type": "action", "name": told["actionName"], "params": told["params"]})
        return {"role": "assistant", "agentId": start["agentId"], "parts": parts}


async def test_a_lesson_is_driven_by_a_client_until_the_user_has_the_word(journey: Journey) -> None:
    pupil, told = Pupil(journey), []
    pupil.say(QUESTION)
    while "cue_user" not in types(events := await pupil.call()):
        told += events
    assert events[1]["data"] == {"fromAgentId": "gamma", "prompt": "Is the next edge clear to you, too?"}
    assert [message.get("agentId") for message in pupil.messages] == [
        None,
        *("alpha", "gamma", "beta", "delta", "beta", "alpha", "gamma"),
    ]
    (dropped,) = [event["data"] for event in told if event["type"] == "action_dropped"]
    assert (dropped["agentId"], dropped["actionName"]) == ("delta", "spotlight")
    assert all(event["data"]["agentHadContent"] for event in told if event["type"] == "done")

    ledger = pupil.state["whiteboardLedger"]
    board = replay_actions(
        RecordedAction(
            participant=one["agentId"], action=parse_action(one["actionName"], one["params"], None)
        )
        for one in ledger
    )
    assert board.open
    assert [(one.id, one.by) for one in board.elements] == [
        ("title", "alpha"),
        ("odd-law", "alpha"),
        ("code-odd", "beta"),
        ("sums", "alpha"),
        ("growing-square", "alpha"),
        ("edge", "alpha"),
    ]
    code = board.find_element("code-odd")
    assert code is not None
    assert "total += 2 * k + 1" in code.listing.lines[3].text, "it was mended"

    pupil.say("Beta, is it?")
    assert "agent_start" in types(await pupil.call())
    assert pupil.state["agentResponses"][-1]["agentId"] == "beta"
    assert len(pupil.state["whiteboardLedger"]) >= len(ledger)


async def test_nothing_of_it_is_found_on_the_server(journey: Journey) -> None:
    before = (await journey.server.get("/api/discussions")).body
    pupil = Pupil(journey)
    pupil.say(QUESTION)
    await pupil.call()
    assert (await journey.server.get("/api/discussions")).body == before
    assert (await journey.server.get("/api/activity")).body == []


async def test_a_reader_that_leaves_ends_the_call_of_the_model(journey: Journey) -> None:
    asked = body(MIRA, model="lab/lecturer")
    async with aclosing(journey.server.events(CHAT, body=asked)) as frames:
        async for frame in frames:
            if frame.event == "text_delta":
                break
    async with asyncio.timeout(SECONDS):
        while journey.lab.received_requests[-1].outcome != "client left":
            await asyncio.sleep(0.02)
    assert journey.lab.received_requests[-1].model == "lecturer"

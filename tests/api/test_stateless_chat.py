"""The stateless chat: the client holds the state of the lesson, and sends it with every call."""

import asyncio
from contextlib import aclosing
from typing import Any

import pytest

from moot.types.actions import parse_action
from moot.whiteboard.state import RecordedAction, replay_actions
from tests.api.api_client import ApiClient
from tests.support.moot_server import SERVER_TIMEOUT_SECONDS
from tests.support.stateless_requests import CLASS_AGENTS, MIRA, QUESTION, chat_request, event_types

pytestmark = pytest.mark.asyncio(loop_scope="module")

CHAT_PATH = "/api/stateless/chat"
PROVIDER_AGENTS = [{**one, "model": one["model"].replace("scripted/", "lab/")} for one in CLASS_AGENTS]


class LessonClient:
    """A client that knows of the lesson only what the events contained."""

    def __init__(self, api_client: ApiClient) -> None:
        self._server = api_client.server
        self.messages: list[dict[str, Any]] = []
        self.state: Any = None

    def add_user_message(self, text: str) -> None:
        """Add a message of the user. This resets the count of turns, but not the whiteboard."""
        self.messages.append({"role": "user", "content": text})
        if self.state is not None:
            self.state = {**self.state, "turnCount": 0}

    async def request_turn(self) -> list[Any]:
        asked = chat_request(*PROVIDER_AGENTS, model="lab/teacher", messages=self.messages, directorState=self.state)
        events = [frame.data async for frame in self._server.events(CHAT_PATH, body=asked)]
        assert event_types(events)[-1] == "done"
        self.state = events[-1]["data"]["directorState"]
        if "agent_start" in event_types(events):
            self.messages.append(self._assistant_message(events))
        return events

    def _assistant_message(self, events: list[Any]) -> dict[str, Any]:
        (start,) = [event["data"] for event in events if event["type"] == "agent_start"]
        parts: list[dict[str, Any]] = []
        for event in events:
            data = event["data"]
            if event["type"] == "text_delta":
                parts.append({"type": "text", "content": data["content"]})
            elif event["type"] == "action":
                parts.append({"type": "action", "name": data["actionName"], "params": data["params"]})
        return {"role": "assistant", "agentId": start["agentId"], "parts": parts}


async def test_stateless_client_drives_lesson_until_user_cue(api_client: ApiClient) -> None:
    client, all_events = LessonClient(api_client), []
    client.add_user_message(QUESTION)
    while "cue_user" not in event_types(events := await client.request_turn()):
        all_events += events
    assert events[1]["data"] == {"fromAgentId": "gamma", "prompt": "Is the next edge clear to you, too?"}
    assert [message.get("agentId") for message in client.messages] == [
        None,
        *("alpha", "gamma", "beta", "delta", "beta", "alpha", "gamma"),
    ]
    (dropped,) = [event["data"] for event in all_events if event["type"] == "action_dropped"]
    assert (dropped["agentId"], dropped["actionName"]) == ("delta", "spotlight")
    assert all(event["data"]["agentHadContent"] for event in all_events if event["type"] == "done")

    recorded = client.state["whiteboardLedger"]
    board = replay_actions(
        RecordedAction(participant=one["agentId"], action=parse_action(one["actionName"], one["params"], None))
        for one in recorded
    )
    assert board.open
    assert [(one.id, one.participant) for one in board.elements] == [
        ("title", "alpha"),
        ("odd-law", "alpha"),
        ("code-odd", "beta"),
        ("sums", "alpha"),
        ("growing-square", "alpha"),
        ("edge", "alpha"),
    ]
    code = board.find_element("code-odd")
    assert code is not None
    assert "total += 2 * k + 1" in code.listing.lines[3].text, "the code was corrected"

    client.add_user_message("Beta, is it?")
    assert "agent_start" in event_types(await client.request_turn())
    assert client.state["agentResponses"][-1]["agentId"] == "beta"
    assert len(client.state["whiteboardLedger"]) >= len(recorded)


async def test_stateless_chat_stores_no_discussion_or_run(api_client: ApiClient) -> None:
    before = (await api_client.server.get("/api/discussions")).body
    client = LessonClient(api_client)
    client.add_user_message(QUESTION)
    await client.request_turn()
    assert (await api_client.server.get("/api/discussions")).body == before
    assert (await api_client.server.get("/api/activity")).body == []


async def test_disconnect_cancels_stateless_model_call(api_client: ApiClient) -> None:
    asked = chat_request(MIRA, model="lab/lecturer")
    async with aclosing(api_client.server.events(CHAT_PATH, body=asked)) as frames:
        async for frame in frames:
            if frame.event == "text_delta":
                break
    async with asyncio.timeout(SERVER_TIMEOUT_SECONDS):
        while api_client.provider_server.received_requests[-1].outcome != "client left":
            await asyncio.sleep(0.02)
    assert api_client.provider_server.received_requests[-1].model == "lecturer"

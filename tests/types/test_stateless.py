"""Requests and events of the stateless API, with the exact names of the JSON fields."""

from typing import Any, get_args

import msgspec
import pytest
from inline_snapshot import snapshot

from moot.types.stateless import (
    EVENT_FRAMES,
    EVENT_NAMES,
    ActionEvent,
    AgentEnd,
    AgentResponse,
    AgentStart,
    ChatEvent,
    ChatRequest,
    CueUser,
    DirectorState,
    Done,
    DroppedEvent,
    Error,
    TextEvent,
    Thinking,
    WhiteboardAction,
)
from tests.support.stateless_requests import (
    MIRA,
    agent_response,
    chat_request,
    director_state,
    whiteboard_action,
)


def parse_request(**changes: Any) -> ChatRequest:
    return msgspec.convert(chat_request(MIRA, **changes), ChatRequest)


def event_json(event: ChatEvent) -> Any:
    return msgspec.json.decode(msgspec.json.encode(EVENT_FRAMES[type(event)](event)))


def test_every_stateless_event_has_name_and_frame() -> None:
    assert set(get_args(ChatEvent)) == EVENT_NAMES.keys() == EVENT_FRAMES.keys()
    assert len(set(EVENT_NAMES.values())) == len(EVENT_NAMES)


def test_stateless_events_have_documented_fields() -> None:
    events: list[ChatEvent] = [
        Thinking(stage="director"),
        Thinking(stage="agent_loading", agent_id="mira"),
        AgentStart(message_id="m", agent_id="mira", agent_name="Mira"),
        AgentStart(message_id="m", agent_id="mira", agent_name="Mira", agent_avatar="owl", agent_color="#4a7c59"),
        TextEvent(content="Yes.", message_id="m"),
        ActionEvent(action_id="a", action_name="wb_open", params={}, agent_id="mira", message_id="m"),
        DroppedEvent(action_name="fly", reason="There is no action 'fly'.", agent_id="mira", message_id="m"),
        AgentEnd(message_id="m", agent_id="mira"),
        CueUser(),
        CueUser(from_agent_id="mira", prompt="And you?"),
        Error(message="Request interrupted"),
    ]
    assert [event_json(event) for event in events] == snapshot(
        [
            {"type": "thinking", "data": {"stage": "director"}},
            {"type": "thinking", "data": {"stage": "agent_loading", "agentId": "mira"}},
            {"type": "agent_start", "data": {"messageId": "m", "agentId": "mira", "agentName": "Mira"}},
            {
                "type": "agent_start",
                "data": {
                    "messageId": "m",
                    "agentId": "mira",
                    "agentName": "Mira",
                    "agentAvatar": "owl",
                    "agentColor": "#4a7c59",
                },
            },
            {"type": "text_delta", "data": {"content": "Yes.", "messageId": "m"}},
            {
                "type": "action",
                "data": {
                    "actionId": "a",
                    "actionName": "wb_open",
                    "params": {},
                    "agentId": "mira",
                    "messageId": "m",
                },
            },
            {
                "type": "action_dropped",
                "data": {
                    "actionName": "fly",
                    "reason": "There is no action 'fly'.",
                    "agentId": "mira",
                    "messageId": "m",
                },
            },
            {"type": "agent_end", "data": {"messageId": "m", "agentId": "mira"}},
            {"type": "cue_user", "data": {}},
            {"type": "cue_user", "data": {"fromAgentId": "mira", "prompt": "And you?"}},
            {"type": "error", "data": {"message": "Request interrupted"}},
        ]
    )


def test_done_event_has_complete_director_state() -> None:
    sketch = WhiteboardAction(action_name="wb_open", agent_id="mira", agent_name="Mira")
    response = AgentResponse(agent_id="mira", agent_name="Mira", whiteboard_actions=(sketch,))
    after = DirectorState(turn_count=1, agent_responses=(response,), whiteboard_ledger=(sketch,))
    done = Done(total_actions=1, total_agents=1, agent_had_content=True, director_state=after)
    assert event_json(done) == snapshot(
        {
            "type": "done",
            "data": {
                "totalActions": 1,
                "totalAgents": 1,
                "agentHadContent": True,
                "directorState": {
                    "turnCount": 1,
                    "agentResponses": [
                        {
                            "agentId": "mira",
                            "agentName": "Mira",
                            "contentPreview": "",
                            "actionCount": 0,
                            "whiteboardActions": [
                                {
                                    "actionName": "wb_open",
                                    "agentId": "mira",
                                    "agentName": "Mira",
                                    "params": {},
                                }
                            ],
                        }
                    ],
                    "whiteboardLedger": [
                        {"actionName": "wb_open", "agentId": "mira", "agentName": "Mira", "params": {}}
                    ],
                },
            },
        }
    )
    nothing = Done(total_actions=0, total_agents=0, agent_had_content=False, director_state=DirectorState())
    assert event_json(nothing) == snapshot(
        {
            "type": "done",
            "data": {
                "totalActions": 0,
                "totalAgents": 0,
                "agentHadContent": False,
                "directorState": {"turnCount": 0, "agentResponses": [], "whiteboardLedger": []},
            },
        }
    )


def test_director_state_survives_round_trip() -> None:
    sent = director_state(
        agent_response("mira", actionCount=1, whiteboardActions=[whiteboard_action("wb_open")]),
        whiteboard_ledger=(whiteboard_action("wb_open"),),
    )
    state = parse_request(directorState=sent).director_state
    assert msgspec.json.decode(msgspec.json.encode(state)) == sent


def test_chat_request_ignores_unknown_fields() -> None:
    assert parse_request(storeState={"stage": {"id": 1}, "language": "de"}, more=1).store_state.language == "de"


@pytest.mark.parametrize("missing", ["messages", "storeState", "config", "model"])
def test_chat_request_error_names_missing_field(missing: str) -> None:
    asked = chat_request(MIRA)
    del asked[missing]
    with pytest.raises(msgspec.ValidationError, match=f"`{missing}`"):
        msgspec.convert(asked, ChatRequest)


@pytest.mark.parametrize("missing", ["agentIds", "agents"])
def test_chat_request_error_names_missing_agent_field(missing: str) -> None:
    asked = chat_request(MIRA)
    del asked["config"][missing]
    with pytest.raises(msgspec.ValidationError, match=rf"`{missing}` - at `\$.config`"):
        msgspec.convert(asked, ChatRequest)


@pytest.mark.parametrize(
    "wrong",
    [
        {"messages": []},
        {"storeState": None},
        {"config": {"agentIds": []}},
        {"config": {"maxTurns": 21}},
        {"directorState": {"turnCount": -1}},
        {"directorState": {"turnCount": 10**30}},
        {"directorState": {"agentResponses": [agent_response("mira", actionCount=-1)]}},
        {"directorState": {"agentResponses": [agent_response("mira", actionCount=10**30)]}},
        {"apiKey": "two words"},
        {"apiKey": "a\nb"},
        {"apiKey": "a\n"},
    ],
)
def test_chat_request_rejects_invalid_values(wrong: dict[str, Any]) -> None:
    with pytest.raises(msgspec.ValidationError):
        parse_request(**wrong)


def test_chat_request_repr_hides_api_key() -> None:
    assert "sk-of-anna" not in repr(parse_request(apiKey="sk-of-anna"))

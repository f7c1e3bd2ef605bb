"""The events of an agent's turn, and the state that the client stores."""

from moot.services.stateless import ChatEvents
from moot.types.actions import Spotlight
from moot.types.drawing import OpenWhiteboard
from moot.types.events import (
    ActionRejected,
    ActionTaken,
    Event,
    Notice,
    SpeakerSelected,
    TextDelta,
    ThoughtDelta,
)
from moot.types.stateless import (
    ActionEvent,
    AgentEnd,
    AgentResponse,
    AgentStart,
    ChatEvent,
    Done,
    DroppedEvent,
    TextEvent,
    Thinking,
    WhiteboardAction,
)
from tests.support.run_events import turn_ended
from tests.support.stateless_requests import MIRA, TOM, agent_response, build_lesson, director_state, whiteboard_action

MIRA_SELECTED = SpeakerSelected(cache_key="", turn=0, next="mira", reason="Only Mira can speak.")


def text_delta(text: str) -> TextDelta:
    return TextDelta(participant="mira", stage="turn", round=0, text=text)


def final_event(events: list[ChatEvent]) -> Done:
    *_, end, done = events
    assert isinstance(end, AgentEnd)
    assert isinstance(done, Done)
    return done


def test_start_events_name_the_agent() -> None:
    loading, start = ChatEvents(build_lesson(MIRA)).convert_events([MIRA_SELECTED])
    assert loading == Thinking(stage="agent_loading", agent_id="mira")
    assert isinstance(start, AgentStart)
    assert (start.agent_name, start.agent_avatar, start.agent_color) == ("Mira", "owl", "#4a7c59")
    assert start.message_id.startswith("msg_")


def test_only_text_and_actions_are_sent() -> None:
    chat_events = ChatEvents(build_lesson(MIRA))
    _, start = chat_events.convert_events([MIRA_SELECTED])
    assert isinstance(start, AgentStart)
    id = start.message_id
    events: list[Event] = [
        Notice(kind="retry", message="Trying again.", participant="mira"),
        ThoughtDelta(participant="mira", stage="turn", round=0, text="Hm."),
        text_delta("Look."),
        ActionTaken(participant="mira", stage="turn", round=0, id="act_1", action=OpenWhiteboard()),
        ActionRejected(participant="mira", stage="turn", round=0, name="fly", reason="Nobody can."),
    ]
    assert chat_events.convert_events(events) == [
        TextEvent(content="Look.", message_id=id),
        ActionEvent(action_id="act_1", action_name="wb_open", params={}, agent_id="mira", message_id=id),
        DroppedEvent(action_name="fly", reason="Nobody can.", agent_id="mira", message_id=id),
    ]
    assert chat_events.convert_events([turn_ended("mira")])[0] == AgentEnd(message_id=id, agent_id="mira")


def test_final_event_adds_the_turn_to_the_state() -> None:
    before = director_state(agent_response("tom", "Why?"), whiteboard_ledger=(whiteboard_action("wb_clear", "tom"),))
    done = final_event(
        ChatEvents(build_lesson(MIRA, TOM, directorState=before)).convert_events(
            [
                text_delta("Look " * 15),
                text_delta("and " * 20),
                ActionTaken(participant="mira", stage="turn", round=0, id="act_1", action=OpenWhiteboard()),
                ActionTaken(
                    participant="mira", stage="turn", round=0, id="act_2", action=Spotlight(element_id="title")
                ),
                turn_ended("mira"),
            ]
        )
    )
    cleared = WhiteboardAction(action_name="wb_clear", agent_id="tom", agent_name="Tom")
    opened = WhiteboardAction(action_name="wb_open", agent_id="mira", agent_name="Mira")
    assert (done.total_actions, done.total_agents, done.agent_had_content) == (2, 1, True)
    assert done.director_state.turn_count == 2
    assert done.director_state.whiteboard_ledger == (cleared, opened), "a spotlight leaves nothing on the board"
    assert done.director_state.agent_responses == (
        AgentResponse(agent_id="tom", agent_name="Tom", content_preview="Why?"),
        AgentResponse(
            agent_id="mira",
            agent_name="Mira",
            content_preview=("Look " * 15 + "and " * 20)[:100],
            action_count=2,
            whiteboard_actions=(opened,),
        ),
    )


def test_empty_turn_is_counted() -> None:
    done = final_event(ChatEvents(build_lesson(MIRA)).convert_events([text_delta(" \n"), turn_ended("mira")]))
    assert (done.agent_had_content, done.total_agents, done.director_state.turn_count) == (False, 1, 1)

"""The events of an agent's turn, and the state that the client stores."""

from moot.services.stateless import StatelessEvents
from moot.types.actions import Spotlight
from moot.types.drawing import OpenWhiteboard
from moot.types.events import ActionRejected, ActionTaken, Event, Notice, TextDelta, ThoughtDelta
from moot.types.participants import Participant
from moot.types.stateless import (
    ActionEvent,
    AgentResponse,
    AgentStart,
    DirectorState,
    DroppedEvent,
    TextEvent,
    Thinking,
    WhiteboardAction,
)

MIRA = Participant("mira", "Mira", "a/one", role="teacher", colour="#4a7c59", avatar="owl")


def text_delta(text: str) -> TextDelta:
    return TextDelta(participant="mira", stage="turn", round=0, text=text)


def test_start_events_name_the_agent() -> None:
    loading, start = StatelessEvents(MIRA).start_events()
    assert loading == Thinking(stage="agent_loading", agent_id="mira")
    assert isinstance(start, AgentStart)
    assert (start.agent_name, start.agent_avatar, start.agent_color) == ("Mira", "owl", "#4a7c59")
    assert start.message_id.startswith("msg_")


def test_only_text_and_actions_are_sent() -> None:
    stateless_events = StatelessEvents(MIRA)
    _, start = stateless_events.start_events()
    assert isinstance(start, AgentStart)
    id = start.message_id
    events: list[Event] = [
        Notice(kind="retry", message="Trying again.", participant="mira"),
        ThoughtDelta(participant="mira", stage="turn", round=0, text="Hm."),
        text_delta("Look."),
        ActionTaken(participant="mira", stage="turn", round=0, id="act_1", action=OpenWhiteboard()),
        ActionRejected(participant="mira", stage="turn", round=0, name="fly", reason="Nobody can."),
    ]
    assert stateless_events.convert_events(events) == [
        TextEvent(content="Look.", message_id=id),
        ActionEvent(action_id="act_1", action_name="wb_open", params={}, agent_id="mira", message_id=id),
        DroppedEvent(action_name="fly", reason="Nobody can.", agent_id="mira", message_id=id),
    ]
    assert (stateless_events.end_event().message_id, stateless_events.end_event().agent_id) == (id, "mira")


def test_final_event_adds_the_turn_to_the_state() -> None:
    stateless_events = StatelessEvents(MIRA)
    point = Spotlight(element_id="title")
    stateless_events.convert_events([text_delta("Look " * 15), text_delta("and " * 20)])
    stateless_events.convert_events(
        [
            ActionTaken(participant="mira", stage="turn", round=0, id="act_1", action=OpenWhiteboard()),
            ActionTaken(participant="mira", stage="turn", round=0, id="act_2", action=point),
        ]
    )
    earlier = AgentResponse(agent_id="tom", agent_name="Tom", content_preview="Why?")
    before = WhiteboardAction(action_name="wb_clear", agent_id="tom", agent_name="Tom")
    done = stateless_events.final_event(
        DirectorState(turn_count=1, agent_responses=(earlier,), whiteboard_ledger=(before,))
    )
    opened = WhiteboardAction(action_name="wb_open", agent_id="mira", agent_name="Mira")
    assert (done.total_actions, done.total_agents, done.agent_had_content) == (2, 1, True)
    assert done.director_state.turn_count == 2
    assert done.director_state.whiteboard_ledger == (before, opened), "a spotlight leaves nothing on the board"
    assert done.director_state.agent_responses == (
        earlier,
        AgentResponse(
            agent_id="mira",
            agent_name="Mira",
            content_preview=("Look " * 15 + "and " * 20)[:100],
            action_count=2,
            whiteboard_actions=(opened,),
        ),
    )


def test_empty_turn_is_counted() -> None:
    stateless_events = StatelessEvents(MIRA)
    stateless_events.convert_events([text_delta(" \n")])
    done = stateless_events.final_event(DirectorState())
    assert (done.agent_had_content, done.total_agents, done.director_state.turn_count) == (False, 1, 1)

import json

import pytest

from moot.engine.runs.interrupted_turns import find_interrupted_turns, interrupted_message
from moot.store.runs.runs import RunLease
from moot.types.actions import Action
from moot.types.chunks import Usage
from moot.types.drawing import OpenWhiteboard
from moot.types.events import (
    ActionRejected,
    ActionTaken,
    Answer,
    Event,
    Notice,
    RunStarted,
    TextDelta,
    TextRetracted,
    ThoughtDelta,
    ToolCalled,
    ToolReturned,
    TurnEnded,
    TurnKey,
    TurnStarted,
    TurnStatus,
)
from moot.types.participants import make_participants
from moot.types.run_plan import RunPlan

ALPHA = {"participant": "alpha", "stage": "round", "round": 1}
BETA = {"participant": "beta", "stage": "round", "round": 1}
MODEL = "lab/one"


def turn_started(turn_fields: dict[str, object], attempt: int = 1) -> Event:
    return TurnStarted(**turn_fields, attempt=attempt, model=MODEL)  # type: ignore[arg-type]


def text_delta(turn_fields: dict[str, object], text: str) -> Event:
    return TextDelta(**turn_fields, text=text)  # type: ignore[arg-type]


def turn_ended(turn_fields: dict[str, object]) -> Event:
    return TurnEnded(
        **turn_fields,  # type: ignore[arg-type]
        status="completed",
        message=Answer("All."),
        model=MODEL,
        usage=Usage(),
        cost_usd=0.0,
    )


def test_find_interrupted_turns_returns_only_turns_without_end() -> None:
    log = [
        RunStarted(participants=()),
        turn_started(ALPHA),
        turn_started(BETA),
        text_delta(BETA, "All"),
        text_delta(ALPHA, "So "),
        turn_ended(BETA),
        text_delta(ALPHA, "far"),
        Notice(kind="resumed", message="", participant="alpha"),
    ]
    left = find_interrupted_turns(log)
    assert {key: (end.model, end.message) for key, end in left.items()} == {
        TurnKey("alpha", "round", 1): (MODEL, Answer("So far"))
    }


def test_find_interrupted_turns_discards_text_of_earlier_attempt() -> None:
    log = [turn_started(ALPHA), text_delta(ALPHA, "Old"), turn_started(ALPHA, 2), text_delta(ALPHA, "New")]
    assert [left.message.text for left in find_interrupted_turns(log).values()] == ["New"]


def test_find_interrupted_turns_separates_thoughts_and_drops_retracted_text() -> None:
    log = [
        turn_started(ALPHA),
        text_delta(ALPHA, "Hm"),
        TextRetracted(**ALPHA),  # type: ignore[arg-type]
        ThoughtDelta(**ALPHA, text="Hm"),  # type: ignore[arg-type]
        text_delta(ALPHA, "Yes"),
    ]
    assert [left.message for left in find_interrupted_turns(log).values()] == [Answer("Yes", "Hm")]


def action_performed(turn_fields: dict[str, object], action: Action) -> Event:
    return ActionTaken(**turn_fields, id="act_1", action=action)  # type: ignore[arg-type]


def test_find_interrupted_turns_keeps_actions_and_text_in_order() -> None:
    log = [
        turn_started(ALPHA),
        text_delta(ALPHA, "Look "),
        text_delta(ALPHA, "here."),
        action_performed(ALPHA, OpenWhiteboard()),
        text_delta(ALPHA, " And th"),
        ActionRejected(**ALPHA, name="wb_dance", reason="There is no such action."),  # type: ignore[arg-type]
    ]
    (end,) = find_interrupted_turns(log).values()
    assert (end.status, end.message.text) == ("partial", "Look here. And th")
    assert json.loads(end.message.lesson_items) == [
        {"type": "text", "content": "Look here."},
        {"type": "action", "name": "wb_open", "params": {}},
        {"type": "text", "content": " And th"},
    ]
    assert end.usage.output > 0


def test_interrupted_turn_with_only_actions_is_partial() -> None:
    (left,) = find_interrupted_turns([turn_started(ALPHA), action_performed(ALPHA, OpenWhiteboard())]).values()
    assert (left.status, left.message.text) == ("partial", "")


def test_find_interrupted_turns_discards_actions_of_earlier_attempt() -> None:
    log = [
        turn_started(ALPHA),
        action_performed(ALPHA, OpenWhiteboard()),
        turn_started(ALPHA, 2),
        text_delta(ALPHA, "New"),
    ]
    assert [left.message for left in find_interrupted_turns(log).values()] == [Answer("New")]


@pytest.mark.parametrize(("words", "status"), [("So far", "partial"), ("", "failed")])
def test_end_of_interrupted_turn_has_received_text_and_estimated_usage(words: str, status: TurnStatus) -> None:
    deltas = [text_delta(ALPHA, words)] if words else []
    (end,) = find_interrupted_turns([turn_started(ALPHA), *deltas]).values()
    assert (end.status, end.message.text, end.model) == (status, words, MODEL)
    assert end.usage == Usage(output=-(-len(words) // 4), estimated=True)
    assert end.cost_usd is None


def test_interrupted_message_has_participant_and_visibility() -> None:
    plan = RunPlan(mode="consensus", participants=make_participants((MODEL, MODEL)), to=("alpha",))
    claim = RunLease(run="run_1", tenant="tenant", discussion="dis_1", plan=plan, epoch=2, seq=7, position=1)
    thought = ThoughtDelta(**ALPHA, text="Hm")  # type: ignore[arg-type]
    (end,) = find_interrupted_turns([turn_started(ALPHA), thought, text_delta(ALPHA, "So far")]).values()
    message = interrupted_message(claim, end)
    assert (message.discussion, message.run, message.role, message.visible_to) == (
        "dis_1",
        "run_1",
        "assistant",
        ("alpha",),
    )
    assert (message.participant, message.name, message.stage, message.round) == ("alpha", "Alpha", "round", 1)
    assert (message.content, message.thoughts, message.status, message.provider) == ("So far", "Hm", "partial", "lab")


def test_find_interrupted_turns_keeps_tool_calls_of_last_attempt_with_text_length() -> None:
    call = ToolCalled(**ALPHA, call_id="call_1", name="a/b", arguments="{}")  # type: ignore[arg-type]
    returned = {"call_id": "call_1", "name": "a/b", "content": "Yes.", "is_error": False, "seconds": 0.5}
    returned_event = ToolReturned(**ALPHA, **returned)  # type: ignore[arg-type]
    events = [turn_started(ALPHA), text_delta(ALPHA, "Let me."), call]
    (cut,) = find_interrupted_turns(events).values()
    (use,) = cut.message.tools
    assert (use.text_offset, use.is_error, use.content) == (7, True, "It was cut off before it had returned.")
    (whole,) = find_interrupted_turns([*events, returned_event]).values()
    assert [(one.content, one.seconds) for one in whole.message.tools] == [("Yes.", 0.5)]
    (retried,) = find_interrupted_turns([*events, returned_event, turn_started(ALPHA, 2)]).values()
    assert retried.message.tools == ()

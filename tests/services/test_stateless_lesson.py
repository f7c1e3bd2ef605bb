"""Parsing a stateless request: the client's state is read once, and unknown parts are left out."""

from typing import Any

import msgspec
import pytest
from inline_snapshot import snapshot

from moot.prompts.tasks.director import decide_by_rules
from moot.services.stateless import MAX_OTHER_ACTIONS, Lesson
from moot.types.chunks import Text
from moot.types.errors import UsageError
from moot.whiteboard.describe import describe_board
from tests.support.stateless_requests import (
    LI,
    MIRA,
    TOM,
    agent_response,
    build_lesson,
    director_state,
    whiteboard_action,
)

CIRCLE: dict[str, Any] = {"shape": "circle", "x": 10, "y": 10}


def request_texts(parsed_lesson: Lesson, participant_id: str) -> list[tuple[str, str]]:
    """Return the texts that an agent gets, without the whiteboard."""
    request = parsed_lesson.build_request(parsed_lesson.plan.find_participant(participant_id))
    board = describe_board(parsed_lesson.board)
    return [
        (
            m.role,
            " / ".join(part.text for part in m.parts if isinstance(part, Text)).replace(board, "[board]"),
        )
        for m in request.messages
    ]


def test_participants_are_agents_that_are_both_named_and_described() -> None:
    found = build_lesson(MIRA, TOM, LI, config={"agentIds": ["li", "nobody", "mira", "li"]})
    assert [who.id for who in found.plan.participants] == ["li", "mira"]


def test_request_without_agents_is_rejected_with_advice() -> None:
    with pytest.raises(UsageError, match=r"^config\.agents: .*\. Add the agents"):
        build_lesson(MIRA, config={"agentIds": ["tom"]})


@pytest.mark.parametrize("id", ["USER", "END"])
def test_reserved_agent_ids_are_rejected(id: str) -> None:
    with pytest.raises(UsageError, match=r"^config\.agents: no agent can have the id"):
        build_lesson(MIRA, {"id": id, "name": "Ursula"})


def test_agent_fields_are_taken_from_the_request() -> None:
    (mira, tom) = build_lesson(MIRA, {**TOM, "model": "scripted/own"}).plan.participants
    assert (mira.model, mira.role, mira.priority, mira.colour, mira.avatar) == (
        "scripted/m",
        "teacher",
        5,
        "#4a7c59",
        "owl",
    )
    assert tom.model == "scripted/own"


def test_turn_count_limits_counted_responses() -> None:
    state = director_state(agent_response("mira"), agent_response("tom"), agent_response("li"))
    assert [one.agent_id for one in build_lesson(MIRA, TOM, LI, directorState=state).responses] == [
        "mira",
        "tom",
        "li",
    ]
    again = {**state, "turnCount": 1}
    assert [one.agent_id for one in build_lesson(MIRA, TOM, LI, directorState=again).responses] == ["li"]
    spoken_to = {**state, "turnCount": 0}
    assert build_lesson(MIRA, TOM, LI, directorState=spoken_to).responses == ()
    alone = build_lesson(MIRA, directorState=spoken_to).director_context
    assert (decided := decide_by_rules(alone)) is not None
    assert decided.next == "mira", "the user has spoken since"


def test_unknown_trigger_agent_is_ignored() -> None:
    decided = decide_by_rules(build_lesson(MIRA, TOM, text="Why?", config={"triggerAgentId": "li"}).director_context)
    assert decided is not None
    assert decided.next == "mira"


def test_whiteboard_is_built_from_the_ledger() -> None:
    ledger = (
        whiteboard_action("wb_draw_shape", **CIRCLE),
        whiteboard_action("wb_fly", **CIRCLE),
        whiteboard_action("wb_draw_shape", shape="cloud"),
        whiteboard_action("wb_draw_shape", "stranger", **CIRCLE, elementId="round"),
        whiteboard_action("wb_delete", elementId="shape-1"),
        whiteboard_action("wb_edit_code", elementId="nothing", operation="delete_lines", lineIds=["L1"]),
    )
    found = build_lesson(MIRA, directorState=director_state(whiteboard_ledger=ledger))
    assert [(one.id, one.participant) for one in found.board.elements] == [("round", "stranger")]
    assert [one.action_name for one in found.state.whiteboard_ledger] == [
        "wb_draw_shape",
        "wb_draw_shape",
        "wb_delete",
        "wb_edit_code",
    ]


def test_invalid_actions_are_dropped_at_any_depth() -> None:
    deep: Any = 1
    for _ in range(500):
        deep = [deep]
    odd = [
        whiteboard_action("wb_open", deep=deep),
        whiteboard_action("fly", deep=deep),
        whiteboard_action("wb_delete", elementId=deep),
    ]
    found = build_lesson(
        MIRA,
        directorState=director_state(agent_response("mira", whiteboardActions=odd), whiteboard_ledger=tuple(odd)),
    )
    state = msgspec.json.decode(msgspec.json.encode(found.state))
    assert state["whiteboardLedger"] == [whiteboard_action("wb_open")]
    assert state["agentResponses"][0]["whiteboardActions"] == [whiteboard_action("wb_open")]


def test_director_context_counts_actions_beside_drawing() -> None:
    state = director_state(agent_response("mira", actionCount=3, whiteboardActions=[whiteboard_action("wb_open")]))
    assert build_lesson(MIRA, TOM, directorState=state).director_context.previous_turns[0].actions == (
        "wb_open",
        "other",
        "other",
    )
    many = director_state(agent_response("mira", actionCount=1_000_000))
    assert (
        len(build_lesson(MIRA, TOM, directorState=many).director_context.previous_turns[0].actions) == MAX_OTHER_ACTIONS
    )
    fewer = director_state(agent_response("mira", actionCount=0, whiteboardActions=[whiteboard_action("wb_open")]))
    assert build_lesson(MIRA, TOM, directorState=fewer).director_context.previous_turns[0].actions == ("wb_open",)


def test_agent_request_shows_messages_from_its_point_of_view() -> None:
    messages = [
        {"role": "user", "content": "Why is it round?"},
        {
            "role": "assistant",
            "agentId": "mira",
            "parts": [
                {"type": "text", "content": "Look at this."},
                {"type": "action", "name": "wb_draw_shape", "params": CIRCLE},
                {"type": "action", "name": "fly"},
                {"type": "text", "content": "It has no head."},
            ],
            "interrupted": True,
        },
        {"role": "assistant", "agentId": "tom", "content": "And no corner."},
        {"role": "assistant", "agentId": "gone", "content": "I was here."},
        {"role": "assistant", "agentId": "li", "content": " "},
        {"role": "user", "content": "Go on."},
    ]
    state = director_state(agent_response("tom", "And no corner."), agent_response("mira", "Look at this."))
    found = build_lesson(MIRA, TOM, LI, messages=messages, directorState=state)
    assert request_texts(found, "mira") == snapshot(
        [
            ("user", "Why is it round?"),
            (
                "assistant",
                '[{"type":"text","content":"Look at this."},{"type":"action","name":"wb_draw_shape","params":{"shape":"circle","x":10.0,"y":10.0,"width":200,"height":100,"fillColor":"#5b8def"}},{"type":"text","content":"It has no head."}]',
            ),
            (
                "user",
                """\
(You were interrupted here; the rest was never said.) / Tom said:

And no corner. / The table said:

I was here. / Go on. / [board]

Since the user spoke, these have spoken already. Do not repeat what they said: add to it, question it, or take it further.
- Tom: And no corner.

It is your turn. Answer with the array.\
""",
            ),
        ]
    )
    assert request_texts(found, "tom") == snapshot(
        [
            (
                "user",
                """\
Why is it round? / Mira said, and was cut off:

Look at this. It has no head.\
""",
            ),
            ("assistant", '[{"type":"text","content":"And no corner."}]'),
            (
                "user",
                """\
The table said:

I was here. / Go on. / [board]

Since the user spoke, these have spoken already. Do not repeat what they said: add to it, question it, or take it further.
- Mira: Look at this.

It is your turn. Answer with the array.\
""",
            ),
        ]
    )


def test_agent_prompt_uses_language_of_client() -> None:
    found = build_lesson(MIRA, storeState={"language": "de"})
    assert "German" in found.build_request(found.plan.find_participant("mira")).system


def test_director_context_distinguishes_people_from_agents() -> None:
    messages = [
        {"role": "user", "content": "Tom, why?", "agentId": "mira"},
        {"role": "assistant", "content": "Because.", "agentId": "mira"},
        {"role": "assistant", "content": "I was here.", "agentId": "gone"},
    ]
    context = build_lesson(MIRA, TOM, messages=messages).director_context
    assert [(one.name, one.is_person) for one in context.messages] == [
        ("The user", True),
        ("Mira", False),
        ("A former participant", False),
    ]
    assert context.last_user_message == "Tom, why?"

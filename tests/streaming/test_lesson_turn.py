"""How the output of a model becomes speech, actions and rejected actions."""

import itertools
import json
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from moot.streaming.lesson_turn import (
    ActionPerformed,
    LessonTurnParser,
    RejectedAction,
    concatenate_lesson_items,
    encode_lesson_items,
    extract_speech,
    parse_lesson_actions,
)
from moot.streaming.reasoning_tags import TextPiece
from moot.types.actions import Action, get_action_name
from moot.types.drawing import DrawText, OpenWhiteboard
from moot.types.participants import LessonRole
from moot.whiteboard.state import EMPTY_BOARD, Board, RecordedAction, replay_actions
from tests.support.whiteboard_strategies import ACTIONS, TEXTS, record_actions

BOX_ITEM = '{"type":"action","name":"wb_draw_shape","params":{"shape":"rectangle","elementId":"box","x":10,"y":10,"width":50,"height":50}}'
HELLO_ITEM = '{"type":"text","content":"Hello there."}'
LESSON_ARRAY = f'[{HELLO_ITEM},{BOX_ITEM},{{"type":"text","content":"A box."}},{{"type":"action","name":"spotlight","params":{{"elementId":"box"}}}},{BOX_ITEM}]'


def parse_turn(
    *chunks: str, role: LessonRole | None = "student", board: Board = EMPTY_BOARD
) -> tuple[LessonTurnParser, list[TextPiece | ActionPerformed | RejectedAction]]:
    parser = LessonTurnParser(role, board)
    pieces = [piece for chunk in chunks for piece in parser.feed(chunk)]
    return parser, [*pieces, *parser.close()]


def summarize_pieces(pieces: Sequence[TextPiece | ActionPerformed | RejectedAction]) -> list[str]:
    """Describe the pieces in short lines, with adjacent speech merged."""
    lines: list[str] = []
    for piece in pieces:
        match piece:
            case TextPiece(text) if lines and lines[-1].startswith("says "):
                lines[-1] += text
            case TextPiece(text):
                lines.append(f"says {text}")
            case ActionPerformed(_, action):
                lines.append(f"does {get_action_name(action)} {getattr(action, 'element_id', '')}".strip())
            case RejectedAction(name, reason):
                lines.append(f"drops {name}: {reason.partition('.')[0]}")
    return lines


EXPECTED_SUMMARY = [
    "says Hello there.",
    "does wb_draw_shape box",
    "says  A box.",
    "drops spotlight: spotlight is for teachers",
    "does wb_draw_shape box-2",
]


def test_lesson_turn_parser_streams_speech() -> None:
    parser = LessonTurnParser("teacher", EMPTY_BOARD)
    assert summarize_pieces(parser.feed('[{"type":"text","content":"Hello the')) == ["says Hello the"]
    assert summarize_pieces(parser.feed("re.")) == ["says re."]
    assert parser.text == "Hello there."


def test_lesson_turn_parser_performs_action_when_complete() -> None:
    parser = LessonTurnParser("teacher", EMPTY_BOARD)
    assert parser.feed(f"[{BOX_ITEM[:-1]}") == []
    (performed,) = parser.feed("}")
    assert isinstance(performed, ActionPerformed)
    assert performed.id.startswith("act_")
    assert [element.id for element in parser.board.elements] == ["box"]


def test_lesson_turn_parser_keeps_order_and_gives_reason_for_rejected_action() -> None:
    _, pieces = parse_turn(LESSON_ARRAY)
    assert summarize_pieces(pieces) == EXPECTED_SUMMARY


@given(st.lists(st.integers(0, len(LESSON_ARRAY)), max_size=30))
def test_lesson_turn_result_does_not_depend_on_chunks(places: list[int]) -> None:
    cuts = [0, *sorted(places), len(LESSON_ARRAY)]
    parser, pieces = parse_turn(*(LESSON_ARRAY[start:end] for start, end in itertools.pairwise(cuts)))
    assert summarize_pieces(pieces) == EXPECTED_SUMMARY
    assert parser.lesson_items == parse_turn(LESSON_ARRAY)[0].lesson_items


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ({"name": "wb_dance"}, "drops wb_dance: There is no action 'wb_dance'"),
        ({"name": "wb_draw_text", "params": {"x": 1}}, "drops wb_draw_text: wb_draw_text: Object missing"),
        ({"name": "wb_delete", "params": {"elementId": "sun"}}, "drops wb_delete: There is no element sun"),
        ({"params": {"x": 1}}, "drops : There is no action ''"),
        ({"name": "laser", "params": {"elementId": "a"}}, "drops laser: laser is for teachers"),
    ],
)
def test_lesson_turn_parser_rejects_invalid_action_and_continues(line: dict[str, object], why: str) -> None:
    array = [{"type": "action", **line}, {"type": "text", "content": "Anyway."}]
    parser, pieces = parse_turn(json.dumps(array))
    dropped, *rest = summarize_pieces(pieces)
    assert dropped.startswith(why)
    assert rest == ["says Anyway."]
    assert parse_lesson_actions(parser.lesson_items) == ()


def test_rejected_action_name_is_truncated() -> None:
    _, pieces = parse_turn(json.dumps([{"type": "action", "name": "x" * 5000}]))
    (dropped,) = pieces
    assert isinstance(dropped, RejectedAction)
    assert len(dropped.name) == 100


def test_drawn_element_gets_id_that_is_free_on_board() -> None:
    before, _ = parse_turn(f"[{BOX_ITEM}]")
    _, pieces = parse_turn(
        f'[{BOX_ITEM},{{"type":"action","name":"wb_draw_text","params":{{"content":"a","x":1,"y":1}}}}]',
        board=before.board,
    )
    assert summarize_pieces(pieces) == ["does wb_draw_shape box-2", "does wb_draw_text text-1"]


def test_lesson_items_have_exactly_what_was_performed() -> None:
    parser, _ = parse_turn(f"Sure!\n```json\n{LESSON_ARRAY}\n```")
    lines = json.loads(parser.lesson_items)
    assert [line.get("content") or line["params"]["elementId"] for line in lines] == [
        "Hello there.",
        "box",
        " A box.",
        "box-2",
    ]
    assert parser.text == "Hello there. A box."
    again, pieces = parse_turn(parser.lesson_items)
    assert again.lesson_items == parser.lesson_items
    assert not any(isinstance(piece, RejectedAction) for piece in pieces)


def test_lesson_items_are_empty_when_nothing_is_performed() -> None:
    for nothing in ("", " \n", "[]", '[{"type":"action","name":"wb_dance"}]'):
        parser, _ = parse_turn(nothing)
        assert (parser.lesson_items, parser.text) == ("", "")


@pytest.mark.parametrize("prose", ["I would rather talk.", "See [1] and {this}.", "Speech. " * 500])
def test_lesson_turn_parser_treats_prose_as_speech(prose: str) -> None:
    parser, _ = parse_turn(*(prose[at : at + 7] for at in range(0, len(prose), 7)))
    assert parser.text.strip() == prose.strip()
    assert json.loads(parser.lesson_items) == [{"type": "text", "content": parser.text}]


def test_lesson_turn_parser_keeps_complete_items_of_unfinished_array() -> None:
    parser, pieces = parse_turn(f'[{BOX_ITEM},{{"type":"text","content":"And th')
    assert summarize_pieces(pieces) == ["does wb_draw_shape box", "says And th"]
    assert len(parse_lesson_actions(parser.lesson_items)) == 1


@given(st.lists(TEXTS | ACTIONS, max_size=8))
def test_lesson_actions_round_trip_through_lesson_items(lines: list[str | Action]) -> None:
    actions = [line for line in lines if not isinstance(line, str)]
    assert parse_lesson_actions(encode_lesson_items(lines)) == tuple(actions)


@given(st.lists(ACTIONS, max_size=8))
def test_lesson_items_replay_to_board_of_parser(actions: list[Action]) -> None:
    settled_ = [entry.action for entry in record_actions(actions)]
    parser, _ = parse_turn(encode_lesson_items(settled_), role="teacher")
    assert (
        replay_actions(RecordedAction(action=action) for action in parse_lesson_actions(parser.lesson_items or "[]"))
        == parser.board
    )


def test_encode_lesson_items_merges_adjacent_speech() -> None:
    lines = json.loads(
        encode_lesson_items(["One, ", "two.", OpenWhiteboard(), DrawText(content="x", x=1, y=1), "Three."])
    )
    assert [line["type"] for line in lines] == ["text", "action", "action", "text"]
    assert lines[0]["content"] == "One, two."


def test_lesson_turn_parser_removes_nul_characters() -> None:
    parser, _ = parse_turn(r'[{"type":"text","content":"no\u0000thing"}]')
    assert parser.text == "nothing"


def test_extract_speech_returns_only_speech() -> None:
    assert extract_speech(f'[{BOX_ITEM},{{"type":"text","content":"Look."}}]') == "Look."
    assert extract_speech("Just words.") == "Just words."


def test_create_successor_continues_on_same_board() -> None:
    first, _ = parse_turn(f"[{BOX_ITEM}]")
    second = first.create_successor()
    second.feed(
        '[{"type":"text","content":"A box."},{"type":"action","name":"wb_delete","params":{"elementId":"box"}}]'
    )
    whole = concatenate_lesson_items(first.lesson_items, second.lesson_items)
    assert [line["type"] for line in json.loads(whole)] == ["action", "text", "action"]
    assert (
        concatenate_lesson_items("", ""),
        concatenate_lesson_items(whole, ""),
        concatenate_lesson_items("", whole),
    ) == ("", whole, whole)

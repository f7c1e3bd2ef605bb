"""Dialogues with an act: what a model writes, and what is said, done and left out."""

import itertools
import json
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from moot.streaming.lesson_turn import Act, Dropped, Took, actions_of, both, spoken_in, written
from moot.streaming.reasoning_tags import Said
from moot.types.actions import Action, name_of
from moot.types.drawing import DrawText, Open
from moot.types.modes import LessonRole
from moot.whiteboard.state import EMPTY, Board, Entry, replayed
from tests.whiteboard.ledgers import ACTIONS, WORDS, kept

BOX = '{"type":"action","name":"wb_draw_shape","params":{"shape":"rectangle","elementId":"box","x":10,"y":10,"width":50,"height":50}}'
HELLO = '{"type":"text","content":"Hello there."}'
ARRAY = f'[{HELLO},{BOX},{{"type":"text","content":"A box."}},{{"type":"action","name":"spotlight","params":{{"elementId":"box"}}}},{BOX}]'


def performed(
    *chunks: str, role: LessonRole | None = "student", board: Board = EMPTY
) -> tuple[Act, list[Said | Took | Dropped]]:
    act = Act(role, board)
    pieces = [piece for chunk in chunks for piece in act.feed(chunk)]
    return act, [*pieces, *act.close()]


def told(pieces: Sequence[Said | Took | Dropped]) -> list[str]:
    """Tell in short what happened, whatever the way in which speech was cut."""
    lines: list[str] = []
    for piece in pieces:
        match piece:
            case Said(text) if lines and lines[-1].startswith("says "):
                lines[-1] += text
            case Said(text):
                lines.append(f"says {text}")
            case Took(_, action):
                lines.append(f"does {name_of(action)} {getattr(action, 'element_id', '')}".strip())
            case Dropped(name, reason):
                lines.append(f"drops {name}: {reason.partition('.')[0]}")
    return lines


WHOLE = [
    "says Hello there.",
    "does wb_draw_shape box",
    "says  A box.",
    "drops spotlight: spotlight is for teachers",
    "does wb_draw_shape box-2",
]


def test_speech_grows_while_it_is_written() -> None:
    act = Act("teacher", EMPTY)
    assert told(act.feed('[{"type":"text","content":"Hello the')) == ["says Hello the"]
    assert told(act.feed("re.")) == ["says re."]
    assert act.text == "Hello there."


def test_an_action_is_taken_when_it_is_complete_and_not_before() -> None:
    act = Act("teacher", EMPTY)
    assert act.feed(f"[{BOX[:-1]}") == []
    (took,) = act.feed("}")
    assert isinstance(took, Took)
    assert took.id.startswith("act_")
    assert [element.id for element in act.board.elements] == ["box"]


def test_speech_and_actions_come_in_their_order_and_what_cannot_be_done_says_why() -> None:
    _, pieces = performed(ARRAY)
    assert told(pieces) == WHOLE


@given(st.lists(st.integers(0, len(ARRAY)), max_size=30))
def test_any_cut_gives_the_same_performance(places: list[int]) -> None:
    cuts = [0, *sorted(places), len(ARRAY)]
    act, pieces = performed(*(ARRAY[start:end] for start, end in itertools.pairwise(cuts)))
    assert told(pieces) == WHOLE
    assert act.script == performed(ARRAY)[0].script


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
def test_what_cannot_be_done_is_left_out_and_the_speech_goes_on(line: dict[str, object], why: str) -> None:
    array = [{"type": "action", **line}, {"type": "text", "content": "Anyway."}]
    act, pieces = performed(json.dumps(array))
    dropped, *rest = told(pieces)
    assert dropped.startswith(why)
    assert rest == ["says Anyway."]
    assert actions_of(act.script) == ()


def test_a_very_long_name_is_cut() -> None:
    _, pieces = performed(json.dumps([{"type": "action", "name": "x" * 5000}]))
    (dropped,) = pieces
    assert isinstance(dropped, Dropped)
    assert len(dropped.name) == 100


def test_what_is_drawn_gets_an_id_that_is_free_on_the_board_as_it_is() -> None:
    before, _ = performed(f"[{BOX}]")
    _, pieces = performed(
        f'[{BOX},{{"type":"action","name":"wb_draw_text","params":{{"content":"a","x":1,"y":1}}}}]',
        board=before.board,
    )
    assert told(pieces) == ["does wb_draw_shape box-2", "does wb_draw_text text-1"]


def test_the_script_is_what_was_performed() -> None:
    act, _ = performed(f"Sure!\n```json\n{ARRAY}\n```")
    lines = json.loads(act.script)
    assert [line.get("content") or line["params"]["elementId"] for line in lines] == [
        "Hello there.",
        "box",
        " A box.",
        "box-2",
    ]
    assert act.text == "Hello there. A box."
    again, pieces = performed(act.script)
    assert again.script == act.script
    assert not any(isinstance(piece, Dropped) for piece in pieces)


def test_who_does_nothing_leaves_no_script() -> None:
    for nothing in ("", " \n", "[]", '[{"type":"action","name":"wb_dance"}]'):
        act, _ = performed(nothing)
        assert (act.script, act.text) == ("", "")


@pytest.mark.parametrize("prose", ["I would rather talk.", "See [1] and {this}.", "Speech. " * 500])
def test_prose_instead_of_an_array_is_said(prose: str) -> None:
    act, _ = performed(*(prose[at : at + 7] for at in range(0, len(prose), 7)))
    assert act.text.strip() == prose.strip()
    assert json.loads(act.script) == [{"type": "text", "content": act.text}]


def test_an_array_that_breaks_off_keeps_what_was_complete_and_the_words_until_there() -> None:
    act, pieces = performed(f'[{BOX},{{"type":"text","content":"And th')
    assert told(pieces) == ["does wb_draw_shape box", "says And th"]
    assert len(actions_of(act.script)) == 1


@given(st.lists(WORDS | ACTIONS, max_size=8))
def test_actions_are_read_out_of_a_script_as_they_were_written_into_it(lines: list[str | Action]) -> None:
    actions = [line for line in lines if not isinstance(line, str)]
    assert actions_of(written(lines)) == tuple(actions)


@given(st.lists(ACTIONS, max_size=8))
def test_a_script_leads_to_the_board_of_the_act(actions: list[Action]) -> None:
    settled_ = [entry.action for entry in kept(actions)]
    act, _ = performed(written(settled_), role="teacher")
    assert replayed(Entry(action=action) for action in actions_of(act.script or "[]")) == act.board


def test_neighbouring_speech_is_written_as_one_item() -> None:
    lines = json.loads(written(["One, ", "two.", Open(), DrawText(content="x", x=1, y=1), "Three."]))
    assert [line["type"] for line in lines] == ["text", "action", "action", "text"]
    assert lines[0]["content"] == "One, two."


def test_no_nul_comes_out_however_it_was_written() -> None:
    act, _ = performed(r'[{"type":"text","content":"no\u0000thing"}]')
    assert act.text == "nothing"


def test_only_the_speech_of_an_array_is_asked_for() -> None:
    assert spoken_in(f'[{BOX},{{"type":"text","content":"Look."}}]') == "Look."
    assert spoken_in("Just words.") == "Just words."


def test_a_sequel_begins_on_the_board_that_was_left_and_both_scripts_are_one() -> None:
    first, _ = performed(f"[{BOX}]")
    second = first.sequel()
    second.feed(
        '[{"type":"text","content":"A box."},{"type":"action","name":"wb_delete","params":{"elementId":"box"}}]'
    )
    whole = both(first.script, second.script)
    assert [line["type"] for line in json.loads(whole)] == ["action", "text", "action"]
    assert (both("", ""), both(whole, ""), both("", whole)) == ("", whole, whole)

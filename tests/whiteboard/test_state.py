from collections.abc import Sequence

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from moot.types.actions import Action, Laser, get_action_name
from moot.types.drawing import Clear, Close, Delete, Draw, DrawCode, DrawShape, DrawText, EditCode, Open
from moot.types.events import ActionDropped, Event, RunEnded, TextDelta, TextRetracted, TurnStatus
from moot.whiteboard.state import (
    BOARD_EVENT_TYPES,
    EMPTY_BOARD,
    MAX_ELEMENTS,
    Board,
    RecordedAction,
    apply_action,
    assign_element_id,
    board_actions,
    find_action_problem,
    replay_actions,
)
from tests.whiteboard.acting import FIRST, SECOND, at, does, ended, started, text
from tests.whiteboard.ledgers import ACTIONS, DRAWINGS, LEDGERS, kept


def names(events: Sequence[Event]) -> list[str]:
    return [f"{entry.participant} {get_action_name(entry.action)}" for entry in board_actions(events)]


def test_what_was_done_is_listed_in_its_order_with_whose_it_is() -> None:
    log = [started(FIRST), does(FIRST, Open()), ended(FIRST), started(SECOND), does(SECOND, Clear())]
    assert names(log) == ["alpha wb_open", "beta wb_clear"]


@pytest.mark.parametrize(
    "void",
    [
        started(FIRST, 2),
        TextRetracted(**at(FIRST)),  # type: ignore[arg-type]
        ended(FIRST, status="failed"),
    ],
)
def test_a_turn_that_began_anew_or_failed_has_done_nothing(void: Event) -> None:
    log = [started(SECOND), does(SECOND, Clear()), started(FIRST), does(FIRST, Open()), void]
    assert names(log) == ["beta wb_clear"]


@pytest.mark.parametrize("status", ["completed", "partial", "stopped", "interrupted"])
def test_a_turn_that_ended_otherwise_has_done_what_it_did(status: TurnStatus) -> None:
    assert names([started(FIRST), does(FIRST, Open()), ended(FIRST, status=status)]) == ["alpha wb_open"]


def test_what_was_left_out_or_said_draws_nothing() -> None:
    said = TextDelta(**at(FIRST), text="wb_open")  # type: ignore[arg-type]
    dropped = ActionDropped(**at(FIRST), name="wb_open", reason="No.")  # type: ignore[arg-type]
    assert board_actions([started(FIRST), said, dropped]) == []


LOG = st.lists(
    st.sampled_from(
        [
            *(started(seat) for seat in (FIRST, SECOND)),
            *(does(seat, text("a", id)) for seat in (FIRST, SECOND) for id in ("a", "b")),
            ended(FIRST),
            ended(SECOND, status="failed"),
            RunEnded(status="completed"),
        ]
    ),
    max_size=20,
)


@given(LOG)
def test_these_kinds_of_events_are_all_that_tells_what_was_drawn(log: list[Event]) -> None:
    assert board_actions(log) == board_actions(
        [event for event in log if isinstance(event, BOARD_EVENT_TYPES)]
    )


TEXT = DrawText(content="Hello", x=10, y=10)
BOX = DrawShape(shape="rectangle", x=0, y=0)
CODE = DrawCode(code="a\nb\nc", x=0, y=0)


def board_of(*actions: Action) -> Board:
    return replay_actions(RecordedAction(action=action) for action in actions)


def ids(board: Board) -> list[str]:
    return [element.id for element in board.elements]


def lines(board: Board) -> list[tuple[str, str]]:
    return [(line.id, line.text) for line in board.elements[0].listing.lines]


def edit(operation: str, *line_ids: str, content: str = "") -> EditCode:
    params = {"elementId": "code-1", "operation": operation, "lineIds": line_ids, "content": content}
    return msgspec.convert(params | {"name": "wb_edit_code"}, EditCode)


def test_a_lesson_begins_with_a_closed_empty_board() -> None:
    assert replay_actions([]) == Board(open=False, elements=())


def test_drawing_opens_the_board() -> None:
    assert board_of(TEXT).open


def test_closing_hides_and_keeps_what_clearing_takes_away() -> None:
    closed = board_of(Open(), TEXT, Close())
    assert (closed.open, ids(closed)) == (False, ["text-1"])
    cleared = apply_action(closed, Clear())
    assert (cleared.open, ids(cleared)) == (False, [])


def test_elements_are_numbered_by_their_kind() -> None:
    assert ids(board_of(TEXT, BOX, TEXT, CODE)) == ["text-1", "shape-1", "text-2", "code-1"]


def test_a_number_is_not_given_again_while_a_later_one_is_there() -> None:
    assert ids(board_of(TEXT, TEXT, Delete(element_id="text-1"), TEXT)) == ["text-2", "text-3"]


def test_an_id_that_is_taken_gets_a_suffix() -> None:
    named = DrawShape(shape="circle", x=0, y=0, element_id="sun")
    assert ids(board_of(named, named, named)) == ["sun", "sun-2", "sun-3"]


def test_the_longest_id_can_be_taken_too() -> None:
    named = DrawShape(shape="circle", x=0, y=0, element_id="s" * 40)
    first, second = ids(board_of(named, named))
    assert first != second
    assert len(second) <= 40


def test_what_is_settled_carries_its_id() -> None:
    action = assign_element_id(TEXT, board_of(TEXT))
    assert isinstance(action, Draw)
    assert action.element_id == "text-2"


def test_what_draws_nothing_is_settled_as_it_is() -> None:
    assert assign_element_id(Clear(), EMPTY_BOARD) == Clear()


def test_an_element_says_who_drew_it() -> None:
    assert replay_actions([RecordedAction(participant="ada", action=TEXT)]).elements[0].by == "ada"


def test_what_is_done_with_a_slide_leaves_the_board_alone() -> None:
    board = board_of(TEXT)
    assert apply_action(board, Laser(element_id="text-1")) == board


@pytest.mark.parametrize(
    ("change", "left"),
    [
        (edit("insert_after", "L1", content="x"), [("L1", "a"), ("L4", "x"), ("L2", "b"), ("L3", "c")]),
        (edit("insert_before", "L1", content="x"), [("L4", "x"), ("L1", "a"), ("L2", "b"), ("L3", "c")]),
        (edit("delete_lines", "L1", "L3"), [("L2", "b")]),
        (edit("replace_lines", "L2", content="x"), [("L1", "a"), ("L2", "x"), ("L3", "c")]),
        (
            edit("replace_lines", "L1", "L2", content="x\ny\nz"),
            [("L1", "x"), ("L2", "y"), ("L4", "z"), ("L3", "c")],
        ),
        (edit("replace_lines", "L3", "L1", content="x"), [("L1", "x"), ("L2", "b")]),
        (edit("insert_after", "L9", content="x"), [("L1", "a"), ("L2", "b"), ("L3", "c")]),
    ],
    ids=lambda value: value.operation if isinstance(value, EditCode) else "",
)
def test_code_is_edited_by_the_names_of_its_lines(change: EditCode, left: list[tuple[str, str]]) -> None:
    assert lines(board_of(CODE, change)) == left


def test_the_name_of_a_deleted_line_is_never_given_again() -> None:
    board = board_of(CODE, edit("delete_lines", "L3"), edit("insert_after", "L2", content="new"))
    assert lines(board) == [("L1", "a"), ("L2", "b"), ("L4", "new")]


def test_what_finds_nothing_changes_nothing_and_can_say_so() -> None:
    board = board_of(TEXT, CODE)
    told: list[tuple[Action, str]] = [
        (Delete(element_id="sun"), "There is no element sun on the whiteboard; there is text-1, code-1."),
        (edit("delete_lines", "L7"), "code-1 has no line L7; it has L1, L2, L3."),
        (
            EditCode(element_id="text-1", operation="delete_lines", line_id="L1"),
            "text-1 is no code. Delete it and draw it anew.",
        ),
    ]
    for action, why in told:
        assert find_action_problem(board, action) == why
        assert apply_action(board, action) == board
    assert find_action_problem(EMPTY_BOARD, Delete(element_id="sun")) == (
        "There is no element sun on the whiteboard; there is nothing."
    )


def test_what_finds_its_target_has_nothing_against_it() -> None:
    board = board_of(TEXT, CODE)
    for action in (
        Delete(element_id="text-1"),
        edit("delete_lines", "L1"),
        TEXT,
        Clear(),
        Laser(element_id="logo"),
    ):
        assert find_action_problem(board, action) is None


def test_a_full_board_takes_no_more() -> None:
    full = board_of(*[TEXT] * MAX_ELEMENTS)
    assert (
        find_action_problem(full, TEXT)
        == "The whiteboard is full with 100 elements. Delete some, or clear it."
    )
    assert apply_action(full, TEXT) == full


def test_code_that_would_be_too_long_is_objected_to() -> None:
    long = board_of(DrawCode(code="\n" * 199, x=0, y=0))
    assert find_action_problem(long, edit("insert_after", "L1", content="a\nb")) == (
        "code-1 would have more than 200 lines. Delete some first."
    )
    assert find_action_problem(long, edit("replace_lines", "L1", content="a")) is None


@given(LEDGERS, st.integers(0, 12))
def test_a_board_does_not_depend_on_when_one_looks(ledger: list[RecordedAction], cut: int) -> None:
    assert replay_actions(ledger[cut:], replay_actions(ledger[:cut])) == replay_actions(ledger)


@given(LEDGERS)
def test_ids_are_unique(ledger: list[RecordedAction]) -> None:
    board = replay_actions(ledger)
    assert len(set(ids(board))) == len(board.elements)
    for element in board.elements:
        names = [line.id for line in element.listing.lines]
        assert len(set(names)) == len(names)
        assert element.drawing.element_id == element.id


@given(st.lists(ACTIONS, max_size=12))
def test_what_is_kept_replays_to_what_was_seen(actions: list[Action]) -> None:
    ledger = kept(actions)
    assert replay_actions(ledger) == board_of(*actions)
    stored = msgspec.json.decode(msgspec.json.encode(ledger), type=list[RecordedAction])
    assert replay_actions(stored) == replay_actions(ledger)


@given(LEDGERS, DRAWINGS)
def test_what_was_drawn_is_found(ledger: list[RecordedAction], drawing: Action) -> None:
    before = replay_actions(ledger)
    action = assign_element_id(drawing, before)
    assert isinstance(action, Draw)
    assert action.element_id is not None
    delete = Delete(element_id=action.element_id)
    drawn = apply_action(before, action)
    assert find_action_problem(drawn, delete) is None
    assert apply_action(drawn, delete).elements == before.elements


@given(LEDGERS)
def test_whatever_changes_nothing_by_name_has_a_reason(ledger: list[RecordedAction]) -> None:
    board = EMPTY_BOARD
    for entry in ledger:
        if isinstance(entry.action, Delete) and apply_action(board, entry.action) == board:
            assert find_action_problem(board, entry.action)
        board = apply_action(board, entry.action, entry.participant)

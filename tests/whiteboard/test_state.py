import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from moot.types.actions import Action, Laser
from moot.types.drawing import (
    ClearWhiteboard,
    CloseWhiteboard,
    DeleteElement,
    Draw,
    DrawCode,
    DrawShape,
    DrawText,
    EditCode,
    OpenWhiteboard,
)
from moot.whiteboard.state import (
    EMPTY_BOARD,
    MAX_ELEMENTS,
    Board,
    RecordedAction,
    apply_action,
    assign_element_id,
    find_action_problem,
    replay_actions,
)
from tests.support.whiteboard_strategies import ACTION_HISTORIES, ACTIONS, DRAWINGS, record_actions

TEXT_DRAWING = DrawText(content="Hello", x=10, y=10)
SHAPE_DRAWING = DrawShape(shape="rectangle", x=0, y=0)
CODE_DRAWING = DrawCode(code="a\nb\nc", x=0, y=0)


def make_board(*actions: Action) -> Board:
    return replay_actions(RecordedAction(action=action) for action in actions)


def element_ids(board: Board) -> list[str]:
    return [element.id for element in board.elements]


def code_lines(board: Board) -> list[tuple[str, str]]:
    return [(line.id, line.text) for line in board.elements[0].listing.lines]


def edit_code(operation: str, *line_ids: str, content: str = "") -> EditCode:
    params = {"elementId": "code-1", "operation": operation, "lineIds": line_ids, "content": content}
    return msgspec.convert(params | {"name": "wb_edit_code"}, EditCode)


def test_replay_of_nothing_is_closed_empty_board() -> None:
    assert replay_actions([]) == Board(open=False, elements=())


def test_drawing_opens_board() -> None:
    assert make_board(TEXT_DRAWING).open


def test_close_keeps_elements_and_clear_removes_them() -> None:
    closed = make_board(OpenWhiteboard(), TEXT_DRAWING, CloseWhiteboard())
    assert (closed.open, element_ids(closed)) == (False, ["text-1"])
    cleared = apply_action(closed, ClearWhiteboard())
    assert (cleared.open, element_ids(cleared)) == (False, [])


def test_element_ids_are_numbered_by_kind() -> None:
    assert element_ids(make_board(TEXT_DRAWING, SHAPE_DRAWING, TEXT_DRAWING, CODE_DRAWING)) == [
        "text-1",
        "shape-1",
        "text-2",
        "code-1",
    ]


def test_element_number_is_not_reused_while_later_one_exists() -> None:
    assert element_ids(make_board(TEXT_DRAWING, TEXT_DRAWING, DeleteElement(element_id="text-1"), TEXT_DRAWING)) == [
        "text-2",
        "text-3",
    ]


def test_duplicate_element_id_gets_suffix() -> None:
    named = DrawShape(shape="circle", x=0, y=0, element_id="sun")
    assert element_ids(make_board(named, named, named)) == ["sun", "sun-2", "sun-3"]


def test_duplicate_of_longest_element_id_stays_within_limit() -> None:
    named = DrawShape(shape="circle", x=0, y=0, element_id="s" * 40)
    first, second = element_ids(make_board(named, named))
    assert first != second
    assert len(second) <= 40


def test_assign_element_id_sets_next_id() -> None:
    action = assign_element_id(TEXT_DRAWING, make_board(TEXT_DRAWING))
    assert isinstance(action, Draw)
    assert action.element_id == "text-2"


def test_assign_element_id_keeps_actions_that_draw_nothing() -> None:
    assert assign_element_id(ClearWhiteboard(), EMPTY_BOARD) == ClearWhiteboard()


def test_element_has_participant_who_drew_it() -> None:
    assert replay_actions([RecordedAction(participant="ada", action=TEXT_DRAWING)]).elements[0].participant == "ada"


def test_slide_actions_do_not_change_board() -> None:
    board = make_board(TEXT_DRAWING)
    assert apply_action(board, Laser(element_id="text-1")) == board


@pytest.mark.parametrize(
    ("change", "left"),
    [
        (edit_code("insert_after", "L1", content="x"), [("L1", "a"), ("L4", "x"), ("L2", "b"), ("L3", "c")]),
        (edit_code("insert_before", "L1", content="x"), [("L4", "x"), ("L1", "a"), ("L2", "b"), ("L3", "c")]),
        (edit_code("delete_lines", "L1", "L3"), [("L2", "b")]),
        (edit_code("replace_lines", "L2", content="x"), [("L1", "a"), ("L2", "x"), ("L3", "c")]),
        (
            edit_code("replace_lines", "L1", "L2", content="x\ny\nz"),
            [("L1", "x"), ("L2", "y"), ("L4", "z"), ("L3", "c")],
        ),
        (edit_code("replace_lines", "L3", "L1", content="x"), [("L1", "x"), ("L2", "b")]),
        (edit_code("insert_after", "L9", content="x"), [("L1", "a"), ("L2", "b"), ("L3", "c")]),
    ],
    ids=lambda value: value.operation if isinstance(value, EditCode) else "",
)
def test_code_is_edited_by_line_ids(change: EditCode, left: list[tuple[str, str]]) -> None:
    assert code_lines(make_board(CODE_DRAWING, change)) == left


def test_id_of_deleted_line_is_not_reused() -> None:
    board = make_board(CODE_DRAWING, edit_code("delete_lines", "L3"), edit_code("insert_after", "L2", content="new"))
    assert code_lines(board) == [("L1", "a"), ("L2", "b"), ("L4", "new")]


def test_action_on_unknown_target_is_reported_and_changes_nothing() -> None:
    board = make_board(TEXT_DRAWING, CODE_DRAWING)
    problems: list[tuple[Action, str]] = [
        (
            DeleteElement(element_id="sun"),
            "There is no element sun on the whiteboard; there is text-1, code-1.",
        ),
        (edit_code("delete_lines", "L7"), "code-1 has no line L7; it has L1, L2, L3."),
        (
            EditCode(element_id="text-1", operation="delete_lines", line_id="L1"),
            "text-1 is not a code element. Delete it and draw it again.",
        ),
    ]
    for action, why in problems:
        assert find_action_problem(board, action) == why
        assert apply_action(board, action) == board
    assert find_action_problem(EMPTY_BOARD, DeleteElement(element_id="sun")) == (
        "There is no element sun on the whiteboard; there is nothing."
    )


def test_find_action_problem_returns_none_for_valid_actions() -> None:
    board = make_board(TEXT_DRAWING, CODE_DRAWING)
    for action in (
        DeleteElement(element_id="text-1"),
        edit_code("delete_lines", "L1"),
        TEXT_DRAWING,
        ClearWhiteboard(),
        Laser(element_id="logo"),
    ):
        assert find_action_problem(board, action) is None


def test_full_board_rejects_new_elements() -> None:
    full = make_board(*[TEXT_DRAWING] * MAX_ELEMENTS)
    assert (
        find_action_problem(full, TEXT_DRAWING) == "The whiteboard is full with 100 elements. Delete some, or clear it."
    )
    assert apply_action(full, TEXT_DRAWING) == full


def test_edit_that_exceeds_line_limit_is_reported() -> None:
    long = make_board(DrawCode(code="\n" * 199, x=0, y=0))
    assert find_action_problem(long, edit_code("insert_after", "L1", content="a\nb")) == (
        "code-1 would have more than 200 lines. Delete some first."
    )
    assert find_action_problem(long, edit_code("replace_lines", "L1", content="a")) is None


@given(ACTION_HISTORIES, st.integers(0, 12))
def test_replay_can_be_split_at_any_action(ledger: list[RecordedAction], cut: int) -> None:
    assert replay_actions(ledger[cut:], replay_actions(ledger[:cut])) == replay_actions(ledger)


@given(ACTION_HISTORIES)
def test_element_and_line_ids_are_unique(ledger: list[RecordedAction]) -> None:
    board = replay_actions(ledger)
    assert len(set(element_ids(board))) == len(board.elements)
    for element in board.elements:
        names = [line.id for line in element.listing.lines]
        assert len(set(names)) == len(names)
        assert element.drawing.element_id == element.id


@given(st.lists(ACTIONS, max_size=12))
def test_recorded_actions_replay_to_same_board(actions: list[Action]) -> None:
    ledger = record_actions(actions)
    assert replay_actions(ledger) == make_board(*actions)
    stored = msgspec.json.decode(msgspec.json.encode(ledger), type=list[RecordedAction])
    assert replay_actions(stored) == replay_actions(ledger)


@given(ACTION_HISTORIES, DRAWINGS)
def test_drawn_element_can_be_deleted(ledger: list[RecordedAction], drawing: Action) -> None:
    before = replay_actions(ledger)
    action = assign_element_id(drawing, before)
    assert isinstance(action, Draw)
    assert action.element_id is not None
    delete = DeleteElement(element_id=action.element_id)
    drawn = apply_action(before, action)
    assert find_action_problem(drawn, delete) is None
    assert apply_action(drawn, delete).elements == before.elements


@given(ACTION_HISTORIES)
def test_ineffective_delete_has_reported_problem(ledger: list[RecordedAction]) -> None:
    board = EMPTY_BOARD
    for entry in ledger:
        if isinstance(entry.action, DeleteElement) and apply_action(board, entry.action) == board:
            assert find_action_problem(board, entry.action)
        board = apply_action(board, entry.action, entry.participant)

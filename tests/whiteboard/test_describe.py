import pytest
from hypothesis import given
from inline_snapshot import snapshot

from moot.types.drawing import CloseWhiteboard, DrawLine, DrawShape, DrawText, OpenWhiteboard
from moot.whiteboard.describe import describe_board, find_layout_problems, line_crosses_box
from moot.whiteboard.geometry import Box, Point
from moot.whiteboard.state import EMPTY_BOARD, RecordedAction, replay_actions
from tests.support.whiteboard_lesson import LESSON_ACTIONS, make_board
from tests.support.whiteboard_strategies import ACTION_HISTORIES


def make_text(x: float, y: float, width: float = 100, height: float = 50) -> DrawText:
    return DrawText(content="Hello", x=x, y=y, width=width, height=height)


def make_shape(x: float, y: float, width: float = 100, height: float = 50) -> DrawShape:
    return DrawShape(shape="rectangle", x=x, y=y, width=width, height=height)


def test_tidy_board_has_no_layout_problems() -> None:
    assert (
        find_layout_problems(
            make_board(make_text(0, 0), make_shape(200, 0), DrawLine(start_x=100, start_y=25, end_x=200, end_y=25))
        )
        == ()
    )


def test_overlap_is_reported() -> None:
    assert find_layout_problems(make_board(make_text(0, 0), make_text(50, 0, width=300))) == (
        "text-1 and text-2 overlap by 50% of the smaller: move one of them.",
    )


def test_small_overlap_is_ignored() -> None:
    assert find_layout_problems(make_board(make_text(0, 0), make_text(71, 0))) == ()
    assert find_layout_problems(make_board(make_text(0, 0), make_text(70, 0))) != ()


def test_text_inside_shape_is_its_label() -> None:
    assert find_layout_problems(make_board(make_shape(0, 0, 200, 100), make_text(50, 25))) == ()
    assert find_layout_problems(make_board(make_shape(0, 0, 200, 100), make_text(150, 25))) != ()
    assert find_layout_problems(make_board(make_shape(0, 0, 200, 100), make_shape(50, 25))) != ()


def test_line_through_box_is_reported() -> None:
    line = DrawLine(start_x=0, start_y=25, end_x=400, end_y=25)
    assert find_layout_problems(make_board(line, make_shape(100, 0))) == (
        "line-1 goes through shape-1: end it at the edge, or lead it around.",
    )


def test_line_touching_box_is_allowed() -> None:
    assert (
        find_layout_problems(make_board(DrawLine(start_x=0, start_y=25, end_x=104, end_y=25), make_shape(100, 0))) == ()
    )


def test_element_off_canvas_is_reported_with_position() -> None:
    assert find_layout_problems(make_board(make_text(950, 540))) == (
        "text-1 is off the canvas (x 950 to 1050, y 540 to 590): keep x within 0 to 1000 and y within 0 to 563.",
    )


def test_layout_problems_are_limited() -> None:
    assert len(find_layout_problems(make_board(*[make_text(0, 0)] * 20))) == 8


@pytest.mark.parametrize(
    ("start", "end", "through"),
    [
        (Point(0, 0), Point(100, 100), True),
        (Point(50, 50), Point(55, 55), True),
        (Point(0, 50), Point(30, 50), False),
        (Point(0, 30), Point(100, 30), False),
        (Point(50, 0), Point(50, 100), True),
        (Point(30, 0), Point(30, 100), False),
        (Point(0, 90), Point(90, 200), False),
        (Point(50, 50), Point(50, 50), True),
        (Point(0, 0), Point(0, 0), False),
    ],
)
def test_line_crosses_box_when_point_is_inside(start: Point, end: Point, through: bool) -> None:
    assert line_crosses_box(start, end, Box(40, 40, 20, 20)) is through


def test_empty_board_is_described_in_one_line() -> None:
    assert describe_board(EMPTY_BOARD) == "The whiteboard (1000 x 563) is closed and empty."
    assert describe_board(make_board(OpenWhiteboard())) == "The whiteboard (1000 x 563) is open and empty."


def test_describe_board_lists_every_element() -> None:
    assert describe_board(replay_actions(LESSON_ACTIONS), {"ada": "Ada"}) == snapshot("""\
The whiteboard (1000 x 563) is open, with 8 elements:
- text-1: text "How things grow", at (40, 24), 560 x 44, by Ada
- chart-1: column chart over 2025, 2026, at (40, 84), 300 x 210, by Ada
- chart-2: pie chart over Sun, Wind, at (360, 84), 220 x 210, by Ada
- latex-1: formula \\sum_{i=1}^{n} i = \\frac{n(n+1)}{2}, at (610, 84), 350 x 90, by Ada
- table-1: table of 3 x 2, headed n | n², at (40, 320), 300 x 150, by Ada
- code-1: code python, at (560, 320), 400 x 200, by Ada
  L1: def grow(n):
  L2:     total = 1
  L3:     for _ in range(n):
  L4:         total *= 2
  L5:     return total
- sun: circle #5b8def, at (400, 330), 100 x 100, by Ada
- line-1: arrow, from (500, 380) to (570, 380), by Ada
It is crowded: delete or clear what is no longer needed before you draw more.
Mend this: line-1 goes through code-1: end it at the edge, or lead it around.\
""")


def test_describe_board_lists_elements_of_closed_board() -> None:
    assert describe_board(make_board(DrawText(content="Hi", x=0, y=0), CloseWhiteboard())) == (
        'The whiteboard (1000 x 563) is closed, with 1 element:\n- text-1: text "Hi", at (0, 0), 400 x 100'
    )


def test_describe_board_warns_from_six_elements() -> None:
    texts = [DrawText(content="a", x=0, y=y * 90, height=80) for y in range(6)]
    assert "crowded" not in describe_board(make_board(*texts[:5]))
    assert describe_board(make_board(*texts)).endswith(
        "It is crowded: delete or clear what is no longer needed before you draw more."
    )


@given(ACTION_HISTORIES)
def test_board_description_is_limited(ledger: list[RecordedAction]) -> None:
    assert len(describe_board(replay_actions(ledger))) < 12_000

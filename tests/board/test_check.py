import pytest

from moot.board.canvas import Box, Point
from moot.board.check import crosses, problems
from moot.board.replay import Board, Entry, replayed
from moot.model.actions import Action
from moot.model.drawings import DrawLine, DrawShape, DrawText


def board_of(*actions: Action) -> Board:
    return replayed(Entry(action=action) for action in actions)


def text(x: float, y: float, width: float = 100, height: float = 50) -> DrawText:
    return DrawText(content="Hello", x=x, y=y, width=width, height=height)


def box(x: float, y: float, width: float = 100, height: float = 50) -> DrawShape:
    return DrawShape(shape="rectangle", x=x, y=y, width=width, height=height)


def test_a_board_in_order_has_no_problems() -> None:
    assert (
        problems(board_of(text(0, 0), box(200, 0), DrawLine(start_x=100, start_y=25, end_x=200, end_y=25)))
        == ()
    )


def test_what_overlaps_by_a_third_of_the_smaller_is_told() -> None:
    assert problems(board_of(text(0, 0), text(50, 0, width=300))) == (
        "text-1 and text-2 overlap by 50% of the smaller: move one of them.",
    )


def test_a_slight_overlap_is_let_pass() -> None:
    assert problems(board_of(text(0, 0), text(71, 0))) == ()
    assert problems(board_of(text(0, 0), text(70, 0))) != ()


def test_words_on_a_shape_are_its_label() -> None:
    assert problems(board_of(box(0, 0, 200, 100), text(50, 25))) == ()
    assert problems(board_of(box(0, 0, 200, 100), text(150, 25))) != ()
    assert problems(board_of(box(0, 0, 200, 100), box(50, 25))) != ()


def test_a_line_through_a_box_is_told() -> None:
    line = DrawLine(start_x=0, start_y=25, end_x=400, end_y=25)
    assert problems(board_of(line, box(100, 0))) == (
        "line-1 goes through shape-1: end it at the edge, or lead it around.",
    )


def test_a_line_may_touch_a_box() -> None:
    assert problems(board_of(DrawLine(start_x=0, start_y=25, end_x=104, end_y=25), box(100, 0))) == ()


def test_what_is_off_the_canvas_is_told_with_where_it_is() -> None:
    assert problems(board_of(text(950, 540))) == (
        "text-1 is off the canvas (x 950 to 1050, y 540 to 590): keep x within 0 to 1000 and y within 0 to 563.",
    )


def test_a_long_list_is_cut() -> None:
    assert len(problems(board_of(*[text(0, 0)] * 20))) == 8


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
def test_a_line_crosses_a_box_that_it_has_points_within(start: Point, end: Point, through: bool) -> None:
    assert crosses(start, end, Box(40, 40, 20, 20)) is through

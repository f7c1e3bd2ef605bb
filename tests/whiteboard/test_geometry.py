import pytest

from moot.types.drawing import DrawLine, DrawText
from moot.whiteboard.geometry import CANVAS, Box, Point, bounding_box, point_on_circle


def test_canvas_has_slide_dimensions() -> None:
    assert (CANVAS.width, CANVAS.height) == (1000, 563)


def test_box_has_right_bottom_and_area() -> None:
    box = Box(10, 20, 30, 40)
    assert (box.right, box.bottom, box.area) == (40, 60, 1200)


def test_inset_box_never_has_negative_size() -> None:
    assert Box(0, 0, 100, 50).inset_by(10) == Box(10, 10, 80, 30)
    assert Box(0, 0, 10, 4).inset_by(10) == Box(2, 2, 6, 0)


def test_overlap_area_is_area_covered_by_both() -> None:
    assert Box(0, 0, 10, 10).overlap_area(Box(5, 5, 10, 10)) == 25
    assert Box(0, 0, 10, 10).overlap_area(Box(10, 0, 10, 10)) == 0


def test_bounding_box_of_line_spans_its_ends() -> None:
    assert bounding_box(DrawLine(start_x=90, start_y=10, end_x=40, end_y=30)) == Box(40, 10, 50, 20)
    assert bounding_box(DrawText(content="a", x=1, y=2, width=3, height=4)) == Box(1, 2, 3, 4)


@pytest.mark.parametrize(("part", "there"), [(0.0, (50, 10)), (0.25, (90, 50)), (0.5, (50, 90)), (0.75, (10, 50))])
def test_point_on_circle_starts_at_top_and_goes_clockwise(part: float, there: tuple[int, int]) -> None:
    assert point_on_circle(Point(50, 50), 40, part) == pytest.approx(there)

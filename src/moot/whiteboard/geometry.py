"""Canvas size, points, boxes and bounding boxes of elements. Units are canvas pixels."""

from math import cos, pi, sin
from typing import NamedTuple

from moot.types.drawing import DrawAction, DrawLine

CANVAS_WIDTH, CANVAS_HEIGHT = 1000, 563


class Point(NamedTuple):
    x: float
    y: float


def point_on_circle(centre: Point, radius: float, fraction: float) -> Point:
    """`fraction`: part of the circle from 0 to 1, clockwise from the top."""
    angle = (fraction * 2 - 0.5) * pi
    return Point(centre.x + radius * cos(angle), centre.y + radius * sin(angle))


class Box(NamedTuple):
    x: float
    y: float
    width: float
    height: float

    @property
    def right(self) -> float:
        return self.x + self.width

    @property
    def bottom(self) -> float:
        return self.y + self.height

    @property
    def area(self) -> float:
        return self.width * self.height

    def inset_by(self, margin: float) -> "Box":
        """Return a box smaller by `margin` on every side; width and height never become negative."""
        side = min(margin, self.width / 2, self.height / 2)
        return Box(self.x + side, self.y + side, self.width - 2 * side, self.height - 2 * side)

    def overlap_area(self, other: "Box") -> float:
        across = min(self.right, other.right) - max(self.x, other.x)
        down = min(self.bottom, other.bottom) - max(self.y, other.y)
        return max(across, 0) * max(down, 0)


CANVAS = Box(0, 0, CANVAS_WIDTH, CANVAS_HEIGHT)


def bounding_box(drawing: DrawAction) -> Box:
    """Width or height of a line's box can be 0."""
    if isinstance(drawing, DrawLine):
        x, y = min(drawing.start_x, drawing.end_x), min(drawing.start_y, drawing.end_y)
        return Box(x, y, abs(drawing.end_x - drawing.start_x), abs(drawing.end_y - drawing.start_y))
    return Box(drawing.x, drawing.y, drawing.width, drawing.height)

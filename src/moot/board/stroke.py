"""Straight lines, with a head at either end where one is wanted."""

from math import hypot

from moot.board.canvas import Point
from moot.board.markup import ink, points, tag
from moot.model.drawings import DrawLine, Head


def stroke(drawing: DrawLine) -> str:
    """Draw a line; it ends where its heads begin, so that their tips are sharp."""
    start, end = Point(drawing.start_x, drawing.start_y), Point(drawing.end_x, drawing.end_y)
    first, last = drawing.points
    size = min(8 + drawing.width * 2.5, hypot(end.x - start.x, end.y - start.y) / 2)
    begins = _towards(start, end, size * 0.8) if first == "arrow" else start
    ends = _towards(end, start, size * 0.8) if last == "arrow" else end
    shaft = tag(
        "line",
        x1=begins.x,
        y1=begins.y,
        x2=ends.x,
        y2=ends.y,
        stroke=ink(drawing.color),
        stroke_width=drawing.width,
        stroke_dasharray=f"{drawing.width * 4:g} {drawing.width * 3:g}"
        if drawing.style == "dashed"
        else None,
    )
    return shaft + _head(first, start, end, size, drawing) + _head(last, end, start, size, drawing)


def _head(head: Head, tip: Point, other: Point, size: float, drawing: DrawLine) -> str:
    if head == "dot":
        return tag("circle", cx=tip.x, cy=tip.y, r=drawing.width + 2, fill=ink(drawing.color))
    if head == "" or size == 0:
        return ""
    foot = _towards(tip, other, size)
    half = 0.45
    across, down = (foot.y - tip.y) * half, (foot.x - tip.x) * half
    corners = tip, Point(foot.x + across, foot.y - down), Point(foot.x - across, foot.y + down)
    return tag("polygon", points=points(*corners), fill=ink(drawing.color))


def _towards(start: Point, end: Point, distance: float) -> Point:
    length = hypot(end.x - start.x, end.y - start.y)
    part = distance / length if length else 0
    return Point(start.x + (end.x - start.x) * part, start.y + (end.y - start.y) * part)

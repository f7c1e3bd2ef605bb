"""Pies and rings: parts of a whole, clockwise from the top."""

from collections.abc import Sequence
from itertools import accumulate

from moot.board.canvas import Box, Point, around
from moot.board.lettering import line
from moot.board.markup import number, tag

HOLE = 0.56
SMALLEST = 0.05  # a slice less than this has no room for its percentage


def pie(values: Sequence[float], box: Box, size: float, colours: Sequence[str], *, hollow: bool) -> str:
    """Draw a slice for each value, with its percentage where there is room."""
    whole = sum(values)
    radius = min(box.width, box.height) / 2 * 0.96
    centre = Point(box.x + box.width / 2, box.y + box.height / 2)
    ends = list(accumulate(value / whole for value in values))
    starts = [0.0, *ends]
    inner = radius * HOLE if hollow else 0
    drawn = []
    for at, (start, end) in enumerate(zip(starts, ends, strict=False)):
        colour = colours[at % len(colours)]
        if end - start > 0:
            drawn.append(
                tag("path", d=_slice(centre, radius, inner, start, end), fill=colour, stroke="#ffffff")
            )
        if end - start >= SMALLEST:
            place = around(centre, (inner + radius) / 2 if hollow else radius * 0.65, (start + end) / 2)
            share = f"{end - start:.0%}"
            drawn.append(line(share, place.x, place.y + size * 0.36, size, fill="#ffffff", anchor="middle"))
    return "".join(drawn)


def _slice(centre: Point, radius: float, inner: float, start: float, end: float) -> str:
    """Outline a slice; a whole circle is two arcs, since one that ends where it begins is nothing."""
    middle = (start + end) / 2
    outer = (around(centre, radius, part) for part in (start, middle, end))
    first, *rest = outer
    path = f"M{_at(first)}" + "".join(f"A{number(radius)} {number(radius)} 0 0 1 {_at(to)}" for to in rest)
    if inner:
        last, *back = (around(centre, inner, part) for part in (end, middle, start))
        arcs = "".join(f"A{number(inner)} {number(inner)} 0 0 0 {_at(to)}" for to in back)
        return f"{path}L{_at(last)}{arcs}Z"
    return f"{path}L{_at(centre)}Z"


def _at(point: Point) -> str:
    return f"{number(point.x)} {number(point.y)}"

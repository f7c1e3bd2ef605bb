"""Pie, ring and radar charts."""

from collections.abc import Sequence
from itertools import accumulate, chain

from moot.types.drawing import ChartData
from moot.whiteboard.geometry import Box, Point, around
from moot.whiteboard.render.elements import number, points, tag
from moot.whiteboard.render.plots import Scale, scale
from moot.whiteboard.render.text import clipped, line, width

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


GRID, TEXT = "#dfe4ea", "#5f6b7a"


def radar(data: ChartData, box: Box, size: float, colours: Sequence[str]) -> str:
    axes = max(len(one) for one in data.series)
    numbers = list(chain(*data.series))
    values = scale(min(numbers), max(numbers), steps=4, from_zero=True)
    radius = _radius(data, axes, box, size)
    centre = Point(box.x + box.width / 2, box.y + box.height / 2)
    return (
        _web(values, axes, centre, radius)
        + "".join(
            _outline(one, axes, values, centre, radius, colours[at])
            for at, one in enumerate(data.series)
            if one
        )
        + _names(data, axes, centre, radius, box, size)
    )


def _radius(data: ChartData, axes: int, box: Box, size: float) -> float:
    """Return the greatest radius that leaves room for the labels, but never too small a one."""
    room = [box.height / 2 - size * 1.8]
    for axis, label in enumerate(data.labels[:axes]):
        lean = abs(around(Point(0, 0), 1, axis / axes).x)
        if lean > 0.1:
            room.append((box.width / 2 - width(label, size) - size) / lean)
    return max(min(room), min(box.width, box.height) / 4)


def _web(values: Scale, axes: int, centre: Point, radius: float) -> str:
    rings = (
        tag(
            "polygon",
            points=points(*(around(centre, radius * values.part(tick), axis / axes) for axis in range(axes))),
            fill="none",
            stroke=GRID,
        )
        for tick in values.ticks[1:]
    )
    ends = (around(centre, radius, axis / axes) for axis in range(axes))
    spokes = (tag("line", x1=centre.x, y1=centre.y, x2=end.x, y2=end.y, stroke=GRID) for end in ends)
    return "".join((*rings, *spokes))


def _outline(
    one: Sequence[float], axes: int, values: Scale, centre: Point, radius: float, colour: str
) -> str:
    corners = [around(centre, radius * values.part(value), axis / axes) for axis, value in enumerate(one)]
    return tag(
        "polygon", points=points(*corners), fill=colour, fill_opacity=0.2, stroke=colour, stroke_width=2
    )


def _names(data: ChartData, axes: int, centre: Point, radius: float, box: Box, size: float) -> str:
    written = []
    for axis in range(min(axes, len(data.labels))):
        end = around(centre, radius + size * 0.7, axis / axes)
        side = end.x - centre.x
        anchor = "middle" if abs(side) < 1 else "start" if side > 0 else "end"
        room = box.width if anchor == "middle" else box.right - end.x if side > 0 else end.x - box.x
        drop = size * (0.36 + 0.5 * (end.y - centre.y) / (radius + size))
        text = clipped(" ".join(data.labels[axis].split()), max(room, size), size)
        written.append(line(text, end.x, end.y + drop, size, fill=TEXT, anchor=anchor))
    return "".join(written)

"""Pie, ring and radar charts."""

from collections.abc import Sequence
from itertools import accumulate, chain

from moot.types.drawing import ChartData
from moot.whiteboard.geometry import Box, Point, point_on_circle
from moot.whiteboard.render.elements import format_number, format_points, svg_tag
from moot.whiteboard.render.plots import AxisScale, compute_scale
from moot.whiteboard.render.text import render_text_line, text_width, truncate_text

HOLE_RATIO = 0.56
MIN_LABELLED_SHARE = 0.05  # smaller slices have no room for a label


def render_pie(values: Sequence[float], box: Box, size: float, colours: Sequence[str], *, hollow: bool) -> str:
    """Render one slice per value, with a percentage label if it fits. `hollow` renders a ring."""
    whole = sum(values)
    radius = min(box.width, box.height) / 2 * 0.96
    centre = Point(box.x + box.width / 2, box.y + box.height / 2)
    ends = list(accumulate(value / whole for value in values))
    starts = [0.0, *ends]
    inner = radius * HOLE_RATIO if hollow else 0
    drawn = []
    for at, (start, end) in enumerate(zip(starts, ends, strict=False)):
        colour = colours[at % len(colours)]
        if end - start > 0:
            drawn.append(
                svg_tag("path", d=_slice_path(centre, radius, inner, start, end), fill=colour, stroke="#ffffff")
            )
        if end - start >= MIN_LABELLED_SHARE:
            place = point_on_circle(centre, (inner + radius) / 2 if hollow else radius * 0.65, (start + end) / 2)
            share = f"{end - start:.0%}"
            drawn.append(render_text_line(share, place.x, place.y + size * 0.36, size, fill="#ffffff", anchor="middle"))
    return "".join(drawn)


def _slice_path(centre: Point, radius: float, inner: float, start: float, end: float) -> str:
    """Return the path string. Uses two arcs, because SVG does not render an arc whose ends are equal."""
    middle = (start + end) / 2
    outer = (point_on_circle(centre, radius, part) for part in (start, middle, end))
    first, *rest = outer
    path = f"M{_format_point(first)}" + "".join(
        f"A{format_number(radius)} {format_number(radius)} 0 0 1 {_format_point(to)}" for to in rest
    )
    if inner:
        last, *back = (point_on_circle(centre, inner, part) for part in (end, middle, start))
        arcs = "".join(f"A{format_number(inner)} {format_number(inner)} 0 0 0 {_format_point(to)}" for to in back)
        return f"{path}L{_format_point(last)}{arcs}Z"
    return f"{path}L{_format_point(centre)}Z"


def _format_point(point: Point) -> str:
    return f"{format_number(point.x)} {format_number(point.y)}"


GRID_COLOUR, TEXT_COLOUR = "#dfe4ea", "#5f6b7a"


def render_radar(data: ChartData, box: Box, size: float, colours: Sequence[str]) -> str:
    axes = max(len(one) for one in data.series)
    numbers = list(chain(*data.series))
    values = compute_scale(min(numbers), max(numbers), steps=4, from_zero=True)
    radius = _max_radius(data, axes, box, size)
    centre = Point(box.x + box.width / 2, box.y + box.height / 2)
    return (
        _render_grid(values, axes, centre, radius)
        + "".join(
            _render_series(one, axes, values, centre, radius, colours[at]) for at, one in enumerate(data.series) if one
        )
        + _render_axis_labels(data, axes, centre, radius, box, size)
    )


def _max_radius(data: ChartData, axes: int, box: Box, size: float) -> float:
    """Return the largest radius that leaves room for labels, at least a quarter of the box."""
    room = [box.height / 2 - size * 1.8]
    for axis, label in enumerate(data.labels[:axes]):
        lean = abs(point_on_circle(Point(0, 0), 1, axis / axes).x)
        if lean > 0.1:
            room.append((box.width / 2 - text_width(label, size) - size) / lean)
    return max(min(room), min(box.width, box.height) / 4)


def _render_grid(values: AxisScale, axes: int, centre: Point, radius: float) -> str:
    rings = (
        svg_tag(
            "polygon",
            points=format_points(
                *(point_on_circle(centre, radius * values.relative_position(tick), axis / axes) for axis in range(axes))
            ),
            fill="none",
            stroke=GRID_COLOUR,
        )
        for tick in values.ticks[1:]
    )
    ends = (point_on_circle(centre, radius, axis / axes) for axis in range(axes))
    spokes = (svg_tag("line", x1=centre.x, y1=centre.y, x2=end.x, y2=end.y, stroke=GRID_COLOUR) for end in ends)
    return "".join((*rings, *spokes))


def _render_series(
    series: Sequence[float], axes: int, values: AxisScale, centre: Point, radius: float, colour: str
) -> str:
    corners = [
        point_on_circle(centre, radius * values.relative_position(value), axis / axes)
        for axis, value in enumerate(series)
    ]
    return svg_tag(
        "polygon", points=format_points(*corners), fill=colour, fill_opacity=0.2, stroke=colour, stroke_width=2
    )


def _render_axis_labels(data: ChartData, axes: int, centre: Point, radius: float, box: Box, size: float) -> str:
    written = []
    for axis in range(min(axes, len(data.labels))):
        end = point_on_circle(centre, radius + size * 0.7, axis / axes)
        side = end.x - centre.x
        anchor = "middle" if abs(side) < 1 else "start" if side > 0 else "end"
        room = box.width if anchor == "middle" else box.right - end.x if side > 0 else end.x - box.x
        drop = size * (0.36 + 0.5 * (end.y - centre.y) / (radius + size))
        text = truncate_text(" ".join(data.labels[axis].split()), max(room, size), size)
        written.append(render_text_line(text, end.x, end.y + drop, size, fill=TEXT_COLOUR, anchor=anchor))
    return "".join(written)

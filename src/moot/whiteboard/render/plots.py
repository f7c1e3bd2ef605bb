"""Renders charts with axes (bar, line, area, scatter) and computes axis scales."""

from collections.abc import Sequence
from itertools import chain
from math import ceil, cos, degrees, floor, log10, radians, sin
from typing import NamedTuple

from moot.types.drawing import ChartData
from moot.whiteboard.geometry import Box, Point
from moot.whiteboard.render.elements import format_points, svg_tag
from moot.whiteboard.render.text import render_text_line, text_width, truncate_text

RELATIVE_TOLERANCE = 1e-9  # values closer than this count as equal
UNIT_SUFFIXES = ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e4, "k"))


class AxisScale(NamedTuple):
    low: float
    high: float
    step: float

    @property
    def ticks(self) -> tuple[float, ...]:
        count = round((self.high - self.low) / self.step)
        return tuple(self.low + self.step * at for at in range(count + 1))

    def relative_position(self, value: float) -> float:
        """Return a value from 0 (low) to 1 (high)."""
        return (value - self.low) / (self.high - self.low)


def compute_scale(low: float, high: float, *, steps: int, from_zero: bool) -> AxisScale:
    """Extend a range to full steps of 1, 2 or 5 times a power of ten; `steps` is approximate."""
    if from_zero:
        low, high = min(low, 0), max(high, 0)
    if high - low <= max(abs(low), abs(high), 0.001) * RELATIVE_TOLERANCE:
        low, high = (0, 1) if from_zero else (low - 1, high + 1)
    rough = (high - low) / max(steps, 1)
    power = 10.0 ** floor(log10(rough))
    step = next(power * factor for factor in (1, 2, 5, 10) if power * factor >= rough * 0.999)
    first, last = floor(low / step + 1e-9), -floor(-high / step + 1e-9)
    return AxisScale(first * step, max(last, first + 1) * step, step)


def format_tick(value: float) -> str:
    """Return a short string: four significant digits and a unit suffix for large values."""
    size, unit = next(((size, unit) for size, unit in UNIT_SUFFIXES if abs(value) >= size), (1, ""))
    if unit == "k":
        size = 1e3
    text = f"{value / size:.4g}"
    return f"{'0' if text == '-0' else text}{unit}"


AXIS_COLOUR, GRID_COLOUR, TEXT_COLOUR = "#9aa5b1", "#e8ebef", "#5f6b7a"
SLANT_RADIANS = radians(35)
MAX_SLANTED_LENGTH = 7  # in multiples of the font size
SLOT_FILL_RATIO = 0.72  # the rest of a slot is the gap to the next one


def render_bars(data: ChartData, box: Box, size: float, colours: Sequence[str], *, horizontal: bool) -> str:
    """Render one group of bars per label. `horizontal` puts the first label on top."""
    values = _scale_for_series(data.series, box.width / 70 if horizontal else box.height / 40, from_zero=True)
    names = _slot_labels(data)
    plot = _plot_area(box, size, names) if horizontal else _plot_area(box, size, _tick_labels(values), names)
    slots = _slot_count(data)
    room = (plot.height if horizontal else plot.width) / slots
    each = room * SLOT_FILL_RATIO / len(data.series)
    drawn = []
    for at, series in enumerate(data.series):
        for slot, value in enumerate(series):
            offset = slot * room + room * (1 - SLOT_FILL_RATIO) / 2 + at * each
            low, high = sorted((values.relative_position(0), values.relative_position(value)))
            long = (high - low) * (plot.width if horizontal else plot.height)
            if horizontal:
                place = Box(plot.x + low * plot.width, plot.y + offset, long, each)
            else:
                place = Box(plot.x + offset, plot.bottom - high * plot.height, each, long)
            drawn.append(svg_tag("rect", **place._asdict(), fill=colours[at]))
    axes = _render_horizontal_axis(values, plot, size) if horizontal else _render_vertical_axis(values, plot, size)
    labels = _render_side_labels(data, plot, size, box.x) if horizontal else _render_bottom_labels(data, plot, size)
    return axes + "".join(drawn) + labels


def render_curves(data: ChartData, box: Box, size: float, colours: Sequence[str], *, filled: bool) -> str:
    """Render one line per series; `filled` adds the area below it."""
    numbers = list(chain(*data.series))
    from_zero = filled or min(numbers) < max(numbers) / 2
    values = _scale_for_series(data.series, box.height / 40, from_zero=from_zero)
    plot = _plot_area(box, size, _tick_labels(values), _slot_labels(data))
    room = plot.width / _slot_count(data)
    drawn = []
    for at, series in enumerate(data.series):
        path = [
            Point(plot.x + (slot + 0.5) * room, plot.bottom - values.relative_position(value) * plot.height)
            for slot, value in enumerate(series)
        ]
        if filled and path:
            zero = plot.bottom - values.relative_position(0) * plot.height
            ends = Point(path[-1].x, zero), Point(path[0].x, zero)
            drawn.append(svg_tag("polygon", points=format_points(*path, *ends), fill=colours[at], fill_opacity=0.25))
        drawn.append(
            svg_tag("polyline", points=format_points(*path), fill="none", stroke=colours[at], stroke_width=2.5)
        )
        drawn += [svg_tag("circle", cx=place.x, cy=place.y, r=3, fill=colours[at]) for place in path]
    return _render_vertical_axis(values, plot, size) + "".join(drawn) + _render_bottom_labels(data, plot, size)


def render_scatter(data: ChartData, box: Box, size: float, colours: Sequence[str]) -> str:
    """Render one dot per (x, y) pair. A single series gets the x values 1, 2, 3 and so on."""
    first, *others = data.series
    across, series = (first, others) if others else (tuple(map(float, range(1, len(first) + 1))), [first])
    values = _scale_for_series(series, box.height / 40, from_zero=False)
    plot = _plot_area(box, size, _tick_labels(values))
    wide = _scale_for_series([across], plot.width / 70, from_zero=False)
    drawn = [
        svg_tag(
            "circle",
            cx=plot.x + wide.relative_position(x) * plot.width,
            cy=plot.bottom - values.relative_position(y) * plot.height,
            r=4,
            fill=colours[at],
            fill_opacity=0.8,
        )
        for at, one in enumerate(series)
        for x, y in zip(across, one, strict=False)
    ]
    return _render_vertical_axis(values, plot, size) + _render_horizontal_axis(wide, plot, size) + "".join(drawn)


def _scale_for_series(series: Sequence[Sequence[float]], steps: float, *, from_zero: bool) -> AxisScale:
    numbers = list(chain(*series)) or [0.0]
    return compute_scale(min(numbers), max(numbers), steps=max(min(int(steps), 6), 2), from_zero=from_zero)


def _slot_count(data: ChartData) -> int:
    return max(len(data.labels), *(len(one) for one in data.series), 1)


def _slot_labels(data: ChartData) -> tuple[str, ...]:
    labels = [" ".join(label.split()) for label in data.labels]
    return (*labels, *[""] * (_slot_count(data) - len(labels)))


def _tick_labels(values: AxisScale) -> tuple[str, ...]:
    return tuple(format_tick(tick) for tick in values.ticks)


def _plot_area(box: Box, size: float, side_labels: Sequence[str], bottom_labels: Sequence[str] = ()) -> Box:
    """Return the box without the space for labels on the left and below."""
    left = max(text_width(text, size) for text in side_labels) + size * 0.7
    right, above = min(size, box.width / 8), min(size * 0.6, box.height / 6)
    deep = size * 1.7
    if _is_slanted(bottom_labels, box.width - left - right, size):
        longest = min(max(text_width(text, size) for text in bottom_labels), size * MAX_SLANTED_LENGTH)
        deep += longest * sin(SLANT_RADIANS)
        left = max(left, longest * cos(SLANT_RADIANS) - box.width / len(bottom_labels) / 3)
    left, deep = min(left, box.width * 0.45), min(deep, box.height / 2.5)
    return Box(box.x + left, box.y + above, max(box.width - left - right, 1), max(box.height - deep - above, 1))


def _is_slanted(names: Sequence[str], available_width: float, size: float) -> bool:
    """Return whether labels overlap if horizontal. Short labels are never slanted; some are skipped instead."""
    longest = max((text_width(name, size) for name in names), default=0)
    return longest > size * 3 and longest > available_width / len(names) * 0.96


def _render_vertical_axis(values: AxisScale, plot: Box, size: float) -> str:
    """Render the left axis with a grid line per tick."""
    written = []
    for tick in values.ticks:
        y = plot.bottom - values.relative_position(tick) * plot.height
        colour = AXIS_COLOUR if abs(tick) < values.step / 1000 else GRID_COLOUR
        written.append(svg_tag("line", x1=plot.x, y1=y, x2=plot.right, y2=y, stroke=colour))
        written.append(
            render_text_line(
                format_tick(tick), plot.x - size * 0.5, y + size * 0.36, size, fill=TEXT_COLOUR, anchor="end"
            )
        )
    return "".join(written)


def _render_horizontal_axis(values: AxisScale, plot: Box, size: float) -> str:
    """Render the bottom axis with a grid line per tick."""
    written = []
    for tick in values.ticks:
        x = plot.x + values.relative_position(tick) * plot.width
        colour = AXIS_COLOUR if abs(tick) < values.step / 1000 else GRID_COLOUR
        written.append(svg_tag("line", x1=x, y1=plot.y, x2=x, y2=plot.bottom, stroke=colour))
        written.append(
            render_text_line(format_tick(tick), x, plot.bottom + size * 1.3, size, fill=TEXT_COLOUR, anchor="middle")
        )
    return "".join(written)


def _render_bottom_labels(data: ChartData, plot: Box, size: float) -> str:
    """Render labels below their slots; if slots are narrow, slant labels or skip some."""
    names = _slot_labels(data)
    room = plot.width / len(names)
    slanted = _is_slanted(names, plot.width, size)
    taken = size * 1.2 if slanted else max(text_width(name, size) for name in names) + size * 0.2
    every = max(ceil(taken / room), 1)
    placed = [(name, plot.x + (at * every + 0.5) * room) for at, name in enumerate(names[::every])]
    if not slanted:
        return "".join(
            render_text_line(name, x, plot.bottom + size * 1.3, size, fill=TEXT_COLOUR, anchor="middle")
            for name, x in placed
        )
    return "".join(
        render_text_line(
            truncate_text(name, min(size * MAX_SLANTED_LENGTH, plot.height), size),
            x + size * 0.3,
            plot.bottom + size * 1.1,
            size,
            fill=TEXT_COLOUR,
            anchor="end",
            rotation_degrees=-degrees(SLANT_RADIANS),
        )
        for name, x in placed
    )


def _render_side_labels(data: ChartData, plot: Box, size: float, left: float) -> str:
    """Render labels left of the plot, truncated at the x value `left`."""
    names = _slot_labels(data)
    room = plot.height / len(names)
    every = max(ceil(size * 1.1 / room), 1)
    return "".join(
        render_text_line(
            truncate_text(name, max(plot.x - left - size * 0.5, size), size),
            plot.x - size * 0.5,
            plot.y + (at * every + 0.5) * room + size * 0.36,
            size,
            fill=TEXT_COLOUR,
            anchor="end",
        )
        for at, name in enumerate(names[::every])
    )

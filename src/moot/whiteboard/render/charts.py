"""Renders charts of all types: a card with a plot and an optional legend."""

from collections.abc import Sequence

from moot.types.drawing import DEFAULT_INK_COLOUR, ChartData, DrawChart
from moot.whiteboard.geometry import Box
from moot.whiteboard.render.elements import svg_colour, svg_tag
from moot.whiteboard.render.plots import render_bars, render_curves, render_scatter
from moot.whiteboard.render.polar import render_pie, render_radar
from moot.whiteboard.render.text import render_placeholder, render_text_line, text_width, truncate_text

PALETTE = (
    "#5b8def", "#f2994a", "#27ae60", "#9b51e0", "#eb5757", "#2d9cdb", "#e0b000", "#3fb59b", "#c266c9", "#7c8794",
)  # fmt: skip
CARD_MARGIN = 12
MAX_FONT_SIZE = 12


def render_chart(drawing: DrawChart, box: Box) -> str:
    """Render a placeholder with an error message if the values do not fit the chart type."""
    if problem := _chart_problem(drawing):
        return render_placeholder(box, problem, _numbers_as_text(drawing.data))
    card = svg_tag("rect", **box._asdict(), rx=6, fill="#ffffff", stroke="#e1e5ea")
    inner = box.inset_by(min(CARD_MARGIN, box.height / 10))
    size = min(MAX_FONT_SIZE, max(inner.height / 14, 6))
    sliced = drawing.chart_type in {"pie", "ring"}
    slices = drawing.data.labels[: len(drawing.data.series[0])]
    entries = slices if sliced else _series_names(drawing)
    colours = _series_colours(drawing, max(len(drawing.data.series), len(drawing.data.series[0])))
    key, taken = render_legend(entries, colours, inner, size)
    plot = Box(inner.x, inner.y, inner.width, inner.height - taken)
    return card + _render_plot(drawing, plot, size, colours) + key


def render_legend(entries: Sequence[str], colours: Sequence[str], inner: Box, size: float) -> tuple[str, float]:
    """Return the SVG string and the height of the legend. Rows beyond a third of the box are dropped."""
    height, rows = size * 1.6, _wrap_legend(entries, inner.width, size)
    rows = rows[: max(int(inner.height / 3 / height), 0)]
    top = inner.bottom - len(rows) * height
    written, entry = [], 0
    for at, row in enumerate(rows):
        x = inner.x + (inner.width - sum(_legend_entry_width(text, size) for text in row)) / 2
        y = top + (at + 0.75) * height
        for text in row:
            written.append(
                svg_tag("rect", x=x, y=y - size * 0.75, width=size * 0.8, height=size * 0.8, rx=2, fill=colours[entry])
            )
            written.append(render_text_line(text, x + size * 1.2, y, size, fill=DEFAULT_INK_COLOUR))
            x += _legend_entry_width(text, size)
            entry += 1
    return "".join(written), len(rows) * height + (size * 0.4 if rows else 0)


def _wrap_legend(entries: Sequence[str], max_width: float, size: float) -> list[list[str]]:
    rows: list[list[str]] = []
    reach = max_width
    for entry in entries:
        text = truncate_text(" ".join(entry.split()) or "-", max_width - size * 2.4, size)
        if reach + _legend_entry_width(text, size) > max_width:
            rows.append([])
            reach = 0
        rows[-1].append(text)
        reach += _legend_entry_width(text, size)
    return rows


def _legend_entry_width(text: str, size: float) -> float:
    return text_width(text, size) + size * 2.4


def _render_plot(drawing: DrawChart, plot: Box, size: float, colours: Sequence[str]) -> str:
    data = drawing.data
    match drawing.chart_type:
        case "pie" | "ring":
            return render_pie(data.series[0], plot, size, colours, hollow=drawing.chart_type == "ring")
        case "radar":
            return render_radar(data, plot, size, colours)
        case "bar" | "column":
            return render_bars(data, plot, size, colours, horizontal=drawing.chart_type == "bar")
        case "line" | "area":
            return render_curves(data, plot, size, colours, filled=drawing.chart_type == "area")
        case "scatter":
            return render_scatter(data, plot, size, colours)


def _chart_problem(drawing: DrawChart) -> str | None:
    series = drawing.data.series
    if not any(series):
        return "This chart has no numbers."
    if drawing.chart_type in {"pie", "ring"} and (min(series[0], default=0) < 0 or sum(series[0]) <= 0):
        return f"The numbers of a {drawing.chart_type} are parts of a whole: none below 0, not all 0."
    if drawing.chart_type == "radar" and max(len(one) for one in series) < 3:
        return "A radar needs three labels or more."
    return None


def _series_names(drawing: DrawChart) -> tuple[str, ...]:
    """Return one legend string per rendered series; empty for a single series without a name."""
    data = drawing.data
    skipped = 1 if drawing.chart_type == "scatter" and len(data.series) > 1 else 0
    names = data.legends if len(data.legends) <= len(data.series) - skipped else data.legends[skipped:]
    count = len(data.series) - skipped
    if count == 1 and not names:
        return ()
    return tuple(names[at] if at < len(names) else f"Series {at + 1}" for at in range(count))


def _series_colours(drawing: DrawChart, count: int) -> tuple[str, ...]:
    given = tuple(svg_colour(colour) for colour in drawing.theme_colors)
    palette = (*given, *(colour for colour in PALETTE if colour not in given))
    return tuple(palette[at % len(palette)] for at in range(count))


def _numbers_as_text(data: ChartData) -> str:
    return "; ".join(", ".join(f"{number:g}" for number in one) for one in data.series)

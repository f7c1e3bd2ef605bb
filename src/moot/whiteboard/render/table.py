"""Renders tables: column widths follow the content, all rows have the same height."""

from collections.abc import Sequence

from moot.types.drawing import DEFAULT_INK_COLOUR, DrawTable
from moot.whiteboard.geometry import Box
from moot.whiteboard.render.elements import svg_colour, svg_tag
from moot.whiteboard.render.text import LEADING, FittedText, fit_text, render_text_line, text_width

MAX_FONT_SIZE = 15
CELL_MARGIN = 8
RULE_COLOUR = "#c9d0d9"
HEADER_OPACITY = 0.16


def render_table(drawing: DrawTable, box: Box) -> str:
    """Short rows get empty cells at the end."""
    across = max(len(row) for row in drawing.data)
    rows = [(*row, *[""] * (across - len(row))) for row in drawing.data]
    height = box.height / len(rows)
    size = min(MAX_FONT_SIZE, max(height * 0.55, 4))
    widths = column_widths(rows, box.width, size)
    header = box._replace(height=height)
    head = svg_tag("rect", **header._asdict(), fill=svg_colour(drawing.theme_color), fill_opacity=HEADER_OPACITY)
    cells = "".join(
        _render_row(row, Box(box.x, box.y + at * height, box.width, height), widths, size)
        for at, row in enumerate(rows)
    )
    return head + cells + _render_rules(box, widths, len(rows))


def column_widths(rows: Sequence[Sequence[str]], total_width: float, size: float) -> list[float]:
    """Return widths proportional to the widest cell of each column, with lower and upper limits."""
    least = total_width / len(rows[0]) / 2
    wanted = [max(text_width(cell, size) for cell in column) + 2 * CELL_MARGIN for column in zip(*rows, strict=True)]
    limited = [min(max(one, least), total_width / 2) for one in wanted]
    return [width * total_width / sum(limited) for width in limited]


def _render_row(row: Sequence[str], box: Box, widths: Sequence[float], size: float) -> str:
    written, left = [], box.x
    for cell, across in zip(row, widths, strict=True):
        margin = min(CELL_MARGIN, across / 4)
        text = fit_text(cell, across - 2 * margin, box.height, size)
        written.append(_render_cell(text, left + margin, box))
        left += across
    return "".join(written)


def _render_cell(text: FittedText, x: float, box: Box) -> str:
    top = box.y + (box.height - text.size * LEADING * len(text.lines)) / 2
    return "".join(
        render_text_line(row, x, top + text.size * (at * LEADING + 1), text.size, fill=DEFAULT_INK_COLOUR)
        for at, row in enumerate(text.lines)
        if row
    )


def _render_rules(box: Box, widths: Sequence[float], rows: int) -> str:
    frame = svg_tag("rect", **box._asdict(), fill="none", stroke=RULE_COLOUR)
    across = (
        svg_tag("line", x1=box.x, y1=y, x2=box.right, y2=y, stroke=RULE_COLOUR)
        for y in (box.y + box.height * at / rows for at in range(1, rows))
    )
    down = (
        svg_tag("line", x1=x, y1=box.y, x2=x, y2=box.bottom, stroke=RULE_COLOUR)
        for x in (box.x + sum(widths[:at]) for at in range(1, len(widths)))
    )
    return "".join((*across, *down, frame))

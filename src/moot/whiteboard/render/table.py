"""Tables: columns as wide as their content asks for, and rows of one height, within the box."""

from collections.abc import Sequence

from moot.types.drawing import INK, DrawTable
from moot.whiteboard.geometry import Box
from moot.whiteboard.render.elements import ink, tag
from moot.whiteboard.render.text import LEADING, Fitted, fitted, line, width

SIZE = 15
MARGIN = 8
RULE = "#c9d0d9"
TINT = 0.16


def table(drawing: DrawTable, box: Box) -> str:
    """Draw all rows at the same height; a row that is short is filled up with empty cells."""
    across = max(len(row) for row in drawing.data)
    rows = [(*row, *[""] * (across - len(row))) for row in drawing.data]
    height = box.height / len(rows)
    size = min(SIZE, max(height * 0.55, 4))
    widths = columns(rows, box.width, size)
    head = tag(
        "rect",
        x=box.x,
        y=box.y,
        width=box.width,
        height=height,
        fill=ink(drawing.theme_color),
        fill_opacity=TINT,
    )
    cells = "".join(
        _row(row, Box(box.x, box.y + at * height, box.width, height), widths, size)
        for at, row in enumerate(rows)
    )
    return head + cells + _rules(box, widths, len(rows))


def columns(rows: Sequence[Sequence[str]], across: float, size: float) -> list[float]:
    """Share the width by what the widest cell of each column takes, so that none is starved."""
    least = across / len(rows[0]) / 2
    wanted = [max(width(cell, size) for cell in column) + 2 * MARGIN for column in zip(*rows, strict=True)]
    claims = [min(max(one, least), across / 2) for one in wanted]
    return [claim * across / sum(claims) for claim in claims]


def _row(row: Sequence[str], box: Box, widths: Sequence[float], size: float) -> str:
    written, left = [], box.x
    for cell, across in zip(row, widths, strict=True):
        margin = min(MARGIN, across / 4)
        text = fitted(cell, across - 2 * margin, box.height, size)
        written.append(_cell(text, left + margin, box))
        left += across
    return "".join(written)


def _cell(text: Fitted, x: float, box: Box) -> str:
    top = box.y + (box.height - text.size * LEADING * len(text.lines)) / 2
    return "".join(
        line(row, x, top + text.size * (at * LEADING + 1), text.size, fill=INK)
        for at, row in enumerate(text.lines)
        if row
    )


def _rules(box: Box, widths: Sequence[float], rows: int) -> str:
    frame = tag("rect", x=box.x, y=box.y, width=box.width, height=box.height, fill="none", stroke=RULE)
    across = (
        tag("line", x1=box.x, y1=y, x2=box.right, y2=y, stroke=RULE)
        for y in (box.y + box.height * at / rows for at in range(1, rows))
    )
    down = (
        tag("line", x1=x, y1=box.y, x2=x, y2=box.bottom, stroke=RULE)
        for x in (box.x + sum(widths[:at]) for at in range(1, len(widths)))
    )
    return "".join((*across, *down, frame))

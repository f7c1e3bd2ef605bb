"""What stands where something cannot be drawn: the reason, and what was to be drawn."""

from moot.board.canvas import Box
from moot.board.lettering import LEADING, fitted, line
from moot.board.markup import tag

SIZE = 13
MARGIN = 8
SOURCE_SHOWN = 300


def trouble(box: Box, reason: str, source: str) -> str:
    """Draw a box that says why, with the source below."""
    frame = tag(
        "rect",
        x=box.x,
        y=box.y,
        width=box.width,
        height=box.height,
        rx=4,
        fill="#fdf3f2",
        stroke="#d9534f",
        stroke_dasharray="5 4",
    )
    inner = box.within(MARGIN)
    text = fitted(f"{reason}\n{source[:SOURCE_SHOWN]}", inner.width, inner.height, SIZE)
    rows = (
        line(row, inner.x, inner.y + text.size * (at * LEADING + 1), text.size, fill="#8a2f2b")
        for at, row in enumerate(text.lines)
    )
    return frame + "".join(rows)

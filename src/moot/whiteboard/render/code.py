"""Code on a dark panel, with the names of its lines beside them, since these are what an edit refers to."""

from moot.types.drawing import DrawCode
from moot.whiteboard.code_listing import Line, Listing
from moot.whiteboard.geometry import Box
from moot.whiteboard.render.elements import printable, tag
from moot.whiteboard.render.text import CELL, LEADING, MONO, TAB, clipped, columns, grid, line

SIZE, SMALLEST = 15, 7
BAR = 26
MARGIN = 10
GROUND, TITLE, NAMES, INK = "#1f2430", "#9aa5b8", "#6b7689", "#e6e9ef"


def panel(drawing: DrawCode, listing: Listing, box: Box) -> str:
    """Draw the lines as large as all of them fit, within reason; what does not fit is told."""
    title = drawing.file_name or drawing.language
    bar = min(BAR, box.height / 3) if title else 0
    inner = Box(box.x, box.y + bar, box.width, box.height - bar).within(MARGIN)
    size = _size(listing, inner)
    room = max(int(inner.height / (size * LEADING)), 1)
    lines = listing.lines
    if len(lines) > room:
        lines = (*lines[: room - 1], Line("", f"… {len(listing.lines) - room + 1} more lines"))
    ground = tag("rect", x=box.x, y=box.y, width=box.width, height=box.height, rx=6, fill=GROUND)
    head = _title(title, box, bar) if title else ""
    rows = "".join(_row(one, at, inner, size, _gutter(listing)) for at, one in enumerate(lines))
    return ground + head + tag("g", rows, font_family=MONO, text_anchor="middle")


def _size(listing: Listing, inner: Box) -> float:
    longest = max((sum(columns(char) for char in _shown(one.text)) for one in listing.lines), default=1)
    cells = _gutter(listing) + 1 + longest
    by_width = inner.width / (cells * CELL)
    by_height = inner.height / (max(len(listing.lines), 1) * LEADING)
    return max(min(SIZE, by_width, by_height), SMALLEST)


def _gutter(listing: Listing) -> int:
    return max((len(one.id) for one in listing.lines), default=2)


def _row(one: Line, at: int, inner: Box, size: float, gutter: int) -> str:
    cell = CELL * size
    base = inner.y + size * (at * LEADING + 1)
    room = int(inner.width / cell) - gutter - 1
    name = grid(one.id.rjust(gutter), inner.x, base, size, fill=NAMES) if one.id else ""
    text = _cut(_shown(one.text), room)
    return name + (grid(text, inner.x + (gutter + 1) * cell, base, size, fill=INK) if text else "")


def _shown(text: str) -> str:
    return printable(text.replace("\t", TAB).rstrip())


def _cut(text: str, room: int) -> str:
    """Cut a line to so many cells, and show that it was cut."""
    kept, taken = "", 0
    for char in text:
        taken += columns(char)
        if taken > room:
            return f"{kept[:-1]}…"
        kept += char
    return kept


def _title(title: str, box: Box, bar: float) -> str:
    size = min(12, bar * 0.6)
    text = clipped(" ".join(printable(title).split()), box.width - 2 * MARGIN, size)
    rule = tag("line", x1=box.x, y1=box.y + bar, x2=box.right, y2=box.y + bar, stroke="#343b4a")
    return rule + line(text, box.x + MARGIN, box.y + bar / 2 + size * 0.36, size, fill=TITLE)

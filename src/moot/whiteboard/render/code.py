"""Renders code elements as a dark panel with line ids, which edits refer to."""

from moot.types.drawing import DrawCode
from moot.whiteboard.code_listing import CodeLine, CodeListing
from moot.whiteboard.geometry import Box
from moot.whiteboard.render.elements import replace_unprintable, svg_tag
from moot.whiteboard.render.text import (
    CELL_WIDTH,
    LEADING,
    MONO_FAMILY,
    TAB_SPACES,
    character_cells,
    render_code_text,
    render_text_line,
    truncate_text,
)

MAX_FONT_SIZE, MIN_FONT_SIZE = 15, 7
TITLE_BAR_HEIGHT = 26
PANEL_MARGIN = 10
BACKGROUND_COLOUR, TITLE_COLOUR, LINE_ID_COLOUR, TEXT_COLOUR = "#1f2430", "#9aa5b8", "#6b7689", "#e6e9ef"


def render_code_panel(drawing: DrawCode, listing: CodeListing, box: Box) -> str:
    """Use the largest font size that fits all lines. A last row shows the number of lines without room."""
    title = drawing.file_name or drawing.language
    bar = min(TITLE_BAR_HEIGHT, box.height / 3) if title else 0
    inner = Box(box.x, box.y + bar, box.width, box.height - bar).inset_by(PANEL_MARGIN)
    size = _font_size(listing, inner)
    room = max(int(inner.height / (size * LEADING)), 1)
    lines = listing.lines
    if len(lines) > room:
        lines = (*lines[: room - 1], CodeLine("", f"… {len(listing.lines) - room + 1} more lines"))
    ground = svg_tag("rect", **box._asdict(), rx=6, fill=BACKGROUND_COLOUR)
    head = _render_title(title, box, bar) if title else ""
    rows = "".join(_render_line(one, at, inner, size, _gutter_width(listing)) for at, one in enumerate(lines))
    return ground + head + svg_tag("g", rows, font_family=MONO_FAMILY, text_anchor="middle")


def _font_size(listing: CodeListing, inner: Box) -> float:
    longest = max((sum(character_cells(char) for char in _visible_text(one.text)) for one in listing.lines), default=1)
    cells = _gutter_width(listing) + 1 + longest
    by_width = inner.width / (cells * CELL_WIDTH)
    by_height = inner.height / (max(len(listing.lines), 1) * LEADING)
    return max(min(MAX_FONT_SIZE, by_width, by_height), MIN_FONT_SIZE)


def _gutter_width(listing: CodeListing) -> int:
    return max((len(one.id) for one in listing.lines), default=2)


def _render_line(one: CodeLine, at: int, inner: Box, size: float, gutter: int) -> str:
    cell = CELL_WIDTH * size
    base = inner.y + size * (at * LEADING + 1)
    room = int(inner.width / cell) - gutter - 1
    name = render_code_text(one.id.rjust(gutter), inner.x, base, size, fill=LINE_ID_COLOUR) if one.id else ""
    text = _truncate_line(_visible_text(one.text), room)
    return name + (render_code_text(text, inner.x + (gutter + 1) * cell, base, size, fill=TEXT_COLOUR) if text else "")


def _visible_text(text: str) -> str:
    return replace_unprintable(text.replace("\t", TAB_SPACES).rstrip())


def _truncate_line(text: str, max_cells: int) -> str:
    kept, taken = "", 0
    for char in text:
        taken += character_cells(char)
        if taken > max_cells:
            return f"{kept[:-1]}…"
        kept += char
    return kept


def _render_title(title: str, box: Box, bar: float) -> str:
    size = min(12, bar * 0.6)
    text = truncate_text(" ".join(replace_unprintable(title).split()), box.width - 2 * PANEL_MARGIN, size)
    rule = svg_tag("line", x1=box.x, y1=box.y + bar, x2=box.right, y2=box.y + bar, stroke="#343b4a")
    return rule + render_text_line(text, box.x + PANEL_MARGIN, box.y + bar / 2 + size * 0.36, size, fill=TITLE_COLOUR)

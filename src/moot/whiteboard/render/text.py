"""Measures, wraps and renders text; renders error placeholders."""

import re
import unicodedata
from collections.abc import Iterator
from functools import lru_cache
from itertools import accumulate
from typing import NamedTuple

from moot.whiteboard.geometry import Box
from moot.whiteboard.render.elements import escape_text, format_number, replace_unprintable, svg_tag
from moot.whiteboard.render.fonts import sans_widths

SANS_FAMILY = "DejaVu Sans, Verdana, sans-serif"
MONO_FAMILY = "DejaVu Sans Mono, Menlo, Consolas, monospace"
LEADING = 1.3
MIN_FONT_SIZE = 8
TAB_SPACES = "    "
ELLIPSIS = "…"
NBSP = "\u00a0"
CELL_WIDTH = 0.602  # in multiples of the font size, as in most monospace fonts


class FittedText(NamedTuple):
    """Text wrapped to a box."""

    lines: tuple[str, ...]
    size: float  # font size


def text_width(text: str, size: float) -> float:
    return sum(character_advance(char) for char in text) * size


@lru_cache(maxsize=4096)
def character_advance(char: str) -> float:
    """Return the width at font size 1. East Asian wide characters count as 1, because the font lacks them."""
    if unicodedata.combining(char):
        return 0
    if _is_wide(char):
        return 1
    return sans_widths().character_width(char)


def fit_text(text: str, max_width: float, max_height: float, size: float) -> FittedText:
    """Wrap text to a box. Reduces the font size down to `MIN_FONT_SIZE`, then truncates with an ellipsis."""
    text = replace_unprintable(text.replace("\r\n", "\n").replace("\t", TAB_SPACES))
    while True:
        lines = tuple(wrap_text(text, max_width, size))
        if len(lines) * size * LEADING <= max_height or size <= MIN_FONT_SIZE:
            break
        size = max(size * 0.92, MIN_FONT_SIZE)
    room = max(int(max_height / (size * LEADING)), 1)
    if len(lines) > room:
        lines = (*lines[: room - 1], truncate_text(lines[room - 1] + ELLIPSIS, max_width, size))
    return FittedText(lines, size)


def wrap_text(text: str, max_width: float, size: float) -> Iterator[str]:
    """Yield lines; breaks at spaces, and inside words wider than a line."""
    for paragraph in text.split("\n"):
        line, reach = "", 0.0
        for piece in _split_words(paragraph, max_width / size):
            if line and reach + text_width(piece.rstrip(), 1) > max_width / size:
                yield line.rstrip()
                line, reach = "", 0.0
            line += piece
            reach += text_width(piece, 1)
        yield line.rstrip()


def truncate_text(text: str, max_width: float, size: float) -> str:
    """Return the string, shortened with an ellipsis if it is too wide."""
    if text_width(text, size) <= max_width:
        return text
    room = max_width - text_width(ELLIPSIS, size)
    reaches = accumulate(character_advance(char) * size for char in text)
    kept = sum(1 for reach in reaches if reach <= room)
    return text[:kept].rstrip() + ELLIPSIS


def render_text_line(
    text: str, x: float, y: float, size: float, *, fill: str, anchor: str | None = None, rotation_degrees: float = 0
) -> str:
    """`y` is the baseline. Positive `rotation_degrees` rotate clockwise around (x, y)."""
    turn = (
        f"rotate({format_number(rotation_degrees)} {format_number(x)} {format_number(y)})" if rotation_degrees else None
    )
    return svg_tag(
        "text",
        escape_text(_preserve_spaces(text)),
        x=x,
        y=y,
        font_size=size,
        fill=fill,
        text_anchor=anchor,
        transform=turn,
    )


def render_code_text(text: str, x: float, y: float, size: float, *, fill: str) -> str:
    """Centre each character in its own cell, so that columns align with any client font."""
    middles, reach = [], x
    for char in text:
        cells = CELL_WIDTH * size * character_cells(char)
        middles.append(format_number(reach + cells / 2))
        reach += cells
    return svg_tag("text", escape_text(text.replace(" ", NBSP)), x=" ".join(middles), y=y, font_size=size, fill=fill)


def character_cells(char: str) -> int:
    return 2 if _is_wide(char) else 1


def _preserve_spaces(text: str) -> str:
    """SVG collapses spaces, so replace leading and repeated ones by NBSP."""
    return re.sub(r"^ +| {2,}", lambda found: NBSP * len(found[0]), text)


def _is_wide(char: str) -> bool:
    return unicodedata.east_asian_width(char) in "WF"


def _split_words(paragraph: str, max_width: float) -> Iterator[str]:
    """Split after spaces, inside words wider than a line, and before each wide (East Asian) character."""
    word, reach = "", 0.0
    for char in paragraph:
        step = character_advance(char)
        spaced = bool(word) and word[-1].isspace() and not char.isspace()
        if word and (spaced or _is_wide(char) or (not char.isspace() and reach + step > max_width)):
            yield word
            word, reach = "", 0.0
        word += char
        reach += step
    if word:
        yield word


PLACEHOLDER_FONT_SIZE = 13
PLACEHOLDER_MARGIN = 8
MAX_SOURCE_CHARS = 300


def render_placeholder(box: Box, reason: str, source: str) -> str:
    """Render an error message and the source string in place of an element."""
    frame = svg_tag("rect", **box._asdict(), rx=4, fill="#fdf3f2", stroke="#d9534f", stroke_dasharray="5 4")
    inner = box.inset_by(PLACEHOLDER_MARGIN)
    text = fit_text(f"{reason}\n{source[:MAX_SOURCE_CHARS]}", inner.width, inner.height, PLACEHOLDER_FONT_SIZE)
    rows = (
        render_text_line(row, inner.x, inner.y + text.size * (at * LEADING + 1), text.size, fill="#8a2f2b")
        for at, row in enumerate(text.lines)
    )
    return frame + "".join(rows)

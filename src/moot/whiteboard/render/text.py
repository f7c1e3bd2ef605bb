"""Lays out text in a box; draws a placeholder for an element that cannot be drawn."""

import re
import unicodedata
from collections.abc import Iterator
from functools import lru_cache
from itertools import accumulate
from typing import NamedTuple

from moot.whiteboard.geometry import Box
from moot.whiteboard.render.elements import number, printable, tag, words
from moot.whiteboard.render.fonts import sans

SANS = "DejaVu Sans, Verdana, sans-serif"
MONO = "DejaVu Sans Mono, Menlo, Consolas, monospace"
LEADING = 1.3
SMALLEST = 8
TAB = "    "
ELLIPSIS = "…"
NBSP = "\u00a0"
CELL = 0.602  # of the size, as in most fonts for code


class Fitted(NamedTuple):
    """Lines that fit into a box, and the size of their letters."""

    lines: tuple[str, ...]
    size: float


def width(text: str, size: float) -> float:
    return sum(advance(char) for char in text) * size


@lru_cache(maxsize=4096)
def advance(char: str) -> float:
    """Return how far a character of size 1 takes the pen; one that the font lacks takes what it usually does."""
    if unicodedata.combining(char):
        return 0
    if _is_wide(char):
        return 1
    return sans().of(char)


def fitted(text: str, across: float, down: float, size: float) -> Fitted:
    """Break text to fit; it is written smaller where it would not, and cut where that is not enough."""
    text = printable(text.replace("\r\n", "\n").replace("\t", TAB))
    while True:
        lines = tuple(wrapped(text, across, size))
        if len(lines) * size * LEADING <= down or size <= SMALLEST:
            break
        size = max(size * 0.92, SMALLEST)
    room = max(int(down / (size * LEADING)), 1)
    if len(lines) > room:
        lines = (*lines[: room - 1], clipped(lines[room - 1] + ELLIPSIS, across, size))
    return Fitted(lines, size)


def wrapped(text: str, across: float, size: float) -> Iterator[str]:
    """Break text at spaces, and within words that are wider than a line."""
    for paragraph in text.split("\n"):
        line, reach = "", 0.0
        for piece in _pieces(paragraph, across / size):
            if line and reach + width(piece.rstrip(), 1) > across / size:
                yield line.rstrip()
                line, reach = "", 0.0
            line += piece
            reach += width(piece, 1)
        yield line.rstrip()


def clipped(text: str, across: float, size: float) -> str:
    """Cut one line to a width, and show that it was cut."""
    if width(text, size) <= across:
        return text
    room = across - width(ELLIPSIS, size)
    reaches = accumulate(advance(char) * size for char in text)
    kept = sum(1 for reach in reaches if reach <= room)
    return text[:kept].rstrip() + ELLIPSIS


def line(
    text: str, x: float, y: float, size: float, *, fill: str, anchor: str | None = None, turned: float = 0
) -> str:
    """Write one line whose baseline is at y, `turned` clockwise by so many degrees."""
    turn = f"rotate({number(turned)} {number(x)} {number(y)})" if turned else None
    return tag(
        "text", words(_spaced(text)), x=x, y=y, font_size=size, fill=fill, text_anchor=anchor, transform=turn
    )


def grid(text: str, x: float, y: float, size: float, *, fill: str) -> str:
    """Write code: each character in the middle of a cell of its own, so that any font keeps its columns."""
    middles, reach = [], x
    for char in text:
        cells = CELL * size * columns(char)
        middles.append(number(reach + cells / 2))
        reach += cells
    return tag("text", words(text.replace(" ", NBSP)), x=" ".join(middles), y=y, font_size=size, fill=fill)


def columns(char: str) -> int:
    return 2 if _is_wide(char) else 1


def _spaced(text: str) -> str:
    """Keep spaces that SVG would take for one, or for none."""
    return re.sub(r"^ +| {2,}", lambda found: NBSP * len(found[0]), text)


def _is_wide(char: str) -> bool:
    return unicodedata.east_asian_width(char) in "WF"


def _pieces(paragraph: str, across: float) -> Iterator[str]:
    """Part a paragraph after its spaces; a word too wide for a line, or of characters that stand alone, falls apart."""
    word, reach = "", 0.0
    for char in paragraph:
        step = advance(char)
        spaced = bool(word) and word[-1].isspace() and not char.isspace()
        if word and (spaced or _is_wide(char) or (not char.isspace() and reach + step > across)):
            yield word
            word, reach = "", 0.0
        word += char
        reach += step
    if word:
        yield word


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

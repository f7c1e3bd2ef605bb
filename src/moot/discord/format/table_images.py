"""Markdown tables, which Discord cannot show, as a board that can be painted."""

import re

import msgspec

from moot.types.drawing import DrawTable
from moot.whiteboard.geometry import WIDTH
from moot.whiteboard.state import EMPTY, Board, after

EDGE = 20
ROW = 40
RULE = re.compile(r"^[\s|:-]+$")
CELLS = re.compile(r"(?<!\\)\|")


def rows(text: str) -> list[list[str]]:
    """Read the cells of a table, row by row; lines that are no rows are left out."""
    lines = [line.strip() for line in text.splitlines() if line.strip().startswith("|")]
    cells = (CELLS.split(line.strip().removeprefix("|").removesuffix("|")) for line in lines)
    read = ([cell.replace("\\|", "|").strip() for cell in row] for row in cells)
    return [row for line, row in zip(lines, read, strict=True) if not RULE.match(line)]


def height_of(read: list[list[str]]) -> float:
    return 2 * EDGE + ROW * len(read)


def board_of(read: list[list[str]]) -> Board | None:
    """Put a table on a board; None where it has more rows or columns than a board takes."""
    wanted = {
        "x": EDGE,
        "y": EDGE,
        "width": WIDTH - 2 * EDGE,
        "height": ROW * len(read),
        "data": read,
    }
    try:
        drawn = msgspec.convert({"name": "wb_draw_table", **wanted}, DrawTable)
    except msgspec.ValidationError:
        return None
    return after(EMPTY, drawn)

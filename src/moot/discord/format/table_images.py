"""Markdown tables, which Discord cannot show, as a board that can be painted."""

import re

import msgspec

from moot.types.drawing import DrawTable
from moot.whiteboard.geometry import CANVAS_WIDTH
from moot.whiteboard.state import EMPTY_BOARD, Board, apply_action

MARGIN = 20
ROW_HEIGHT = 40
SEPARATOR_ROW = re.compile(r"^[\s|:-]+$")
CELL_SEPARATOR = re.compile(r"(?<!\\)\|")


def parse_table_rows(text: str) -> list[list[str]]:
    """Read the cells of a table, row by row; lines that are no rows are left out."""
    lines = [line.strip() for line in text.splitlines() if line.strip().startswith("|")]
    cells = (CELL_SEPARATOR.split(line.strip().removeprefix("|").removesuffix("|")) for line in lines)
    read = ([cell.replace("\\|", "|").strip() for cell in row] for row in cells)
    return [row for line, row in zip(lines, read, strict=True) if not SEPARATOR_ROW.match(line)]


def table_image_height(table_rows: list[list[str]]) -> float:
    return 2 * MARGIN + ROW_HEIGHT * len(table_rows)


def build_table_board(table_rows: list[list[str]]) -> Board | None:
    """Put a table on a board; None where it has more rows or columns than a board takes."""
    wanted = {
        "x": MARGIN,
        "y": MARGIN,
        "width": CANVAS_WIDTH - 2 * MARGIN,
        "height": ROW_HEIGHT * len(table_rows),
        "data": table_rows,
    }
    try:
        drawn = msgspec.convert({"name": "wb_draw_table", **wanted}, DrawTable)
    except msgspec.ValidationError:
        return None
    return apply_action(EMPTY_BOARD, drawn)

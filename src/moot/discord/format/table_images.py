"""Image layout for Markdown tables, which Discord cannot render."""

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
    """Parse the cells. Skips the separator row and lines that are not rows."""
    lines = [line.strip() for line in text.splitlines() if line.strip().startswith("|")]
    cells = (CELL_SEPARATOR.split(line.strip().removeprefix("|").removesuffix("|")) for line in lines)
    parsed = ([cell.replace("\\|", "|").strip() for cell in row] for row in cells)
    return [row for line, row in zip(lines, parsed, strict=True) if not SEPARATOR_ROW.match(line)]


def table_image_height(table_rows: list[list[str]]) -> float:
    return 2 * MARGIN + ROW_HEIGHT * len(table_rows)


def build_table_board(table_rows: list[list[str]]) -> Board | None:
    """Return None if the table has more rows or columns than the whiteboard schema allows."""
    fields = {
        "x": MARGIN,
        "y": MARGIN,
        "width": CANVAS_WIDTH - 2 * MARGIN,
        "height": ROW_HEIGHT * len(table_rows),
        "data": table_rows,
    }
    try:
        action = msgspec.convert({"name": "wb_draw_table", **fields}, DrawTable)
    except msgspec.ValidationError:
        return None
    return apply_action(EMPTY_BOARD, action)

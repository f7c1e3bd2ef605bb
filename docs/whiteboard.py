"""Makes docs/whiteboard.png: a whiteboard as agents of a lesson may well draw it.

Run it with: uv run python docs/whiteboard.py
"""

from pathlib import Path

from moot.types.actions import parse_action
from moot.whiteboard.render.png import render_png
from moot.whiteboard.state import EMPTY_BOARD, Board, apply_action, assign_element_id

GROW = "def grow(n):\n    total = 1\n    for _ in range(n):\n        total += total\n    return total"
YEARS = {
    "labels": [2023, 2024, 2025, 2026],
    "legends": ["Linear", "Doubling"],
    "series": [[2, 4, 6, 8], [1, 2, 4, 8]],
}
POWER = {"labels": ["Sun", "Wind", "Water"], "series": [45, 35, 20]}
INVERSE = (
    r"\begin{pmatrix} a & b \\ c & d \end{pmatrix}^{-1} = \frac{1}{ad-bc} "
    r"\begin{pmatrix} d & -b \\ -c & a \end{pmatrix}"
)


def box(x: float, y: float, width: float, height: float) -> dict[str, object]:
    return {"x": x, "y": y, "width": width, "height": height}


def line(*ends: float) -> dict[str, object]:
    places = dict(zip(("startX", "startY", "endX", "endY"), ends, strict=True))
    return {**places, "points": ["", "arrow"]}


DONE: list[tuple[str, dict[str, object]]] = [
    ("wb_draw_text", {"content": "How things grow", "fontSize": 30, **box(40, 24, 560, 44)}),
    ("wb_draw_chart", {"chartType": "column", "data": YEARS, **box(40, 90, 290, 200)}),
    ("wb_draw_chart", {"chartType": "pie", "data": POWER, **box(350, 90, 210, 200)}),
    ("wb_draw_latex", {"latex": r"\sum_{i=0}^{n-1} 2^i = 2^n - 1", **box(610, 96, 340, 90)}),
    ("wb_draw_latex", {"latex": INVERSE, "color": "#1f4e9e", **box(610, 210, 350, 70)}),
    (
        "wb_draw_table",
        {"data": [["n", "n²", "2ⁿ"], [1, 1, 2], [4, 16, 16], [10, 100, 1024]], **box(40, 330, 290, 150)},
    ),
    ("wb_draw_code", {"fileName": "grow.py", "code": GROW, **box(610, 330, 350, 180)}),
    (
        "wb_edit_code",
        {
            "elementId": "code-1",
            "operation": "replace_lines",
            "lineId": "L4",
            "content": "        total *= 2",
        },
    ),
    ("wb_draw_shape", {"shape": "rectangle", "fillColor": "#e3ecfd", **box(370, 340, 150, 60)}),
    ("wb_draw_text", {"content": "doubling", **box(405, 358, 100, 30)}),
    ("wb_draw_line", line(524, 370, 604, 370)),
    ("wb_draw_shape", {"shape": "circle", "fillColor": "#fde7d3", **box(405, 430, 80, 80)}),
    ("wb_draw_line", {**line(445, 404, 445, 428), "style": "dashed"}),
]


def drawn() -> Board:
    board = EMPTY_BOARD
    for name, params in DONE:
        board = apply_action(board, assign_element_id(parse_action(name, params, "teacher"), board))
    return board


if __name__ == "__main__":
    Path(__file__).with_name("whiteboard.png").write_bytes(render_png(drawn(), zoom=1))

"""A lesson that puts one of each kind on the board."""

from moot.types.actions import Action, parse_action
from moot.whiteboard.state import (
    EMPTY_BOARD,
    Board,
    RecordedAction,
    apply_action,
    assign_element_id,
    replay_actions,
)

GROWTH_CODE = "def grow(n):\n    total = 1\n    for _ in range(n):\n        total += total\n    return total"

ACTION_CALLS: list[tuple[str, dict[str, object]]] = [
    ("wb_open", {}),
    (
        "wb_draw_text",
        {"content": "How things grow", "x": 40, "y": 24, "width": 560, "height": 44, "fontSize": 30},
    ),
    (
        "wb_draw_chart",
        {
            "chartType": "column",
            "x": 40,
            "y": 84,
            "width": 300,
            "height": 210,
            "data": {"labels": [2025, 2026], "legends": ["Linear", "Doubling"], "series": [[2, 4], [1, 2]]},
        },
    ),
    (
        "wb_draw_chart",
        {
            "chartType": "pie",
            "x": 360,
            "y": 84,
            "width": 220,
            "height": 210,
            "data": {"labels": ["Sun", "Wind"], "series": [65, 35]},
        },
    ),
    (
        "wb_draw_latex",
        {"latex": r"\sum_{i=1}^{n} i = \frac{n(n+1)}{2}", "x": 610, "y": 84, "width": 350, "height": 90},
    ),
    (
        "wb_draw_table",
        {"data": [["n", "n²"], [1, 1], [2, 4]], "x": 40, "y": 320, "width": 300, "height": 150},
    ),
    (
        "wb_draw_code",
        {"language": "python", "code": GROWTH_CODE, "x": 560, "y": 320, "width": 400, "height": 200},
    ),
    (
        "wb_edit_code",
        {
            "elementId": "code-1",
            "operation": "replace_lines",
            "lineIds": ["L4"],
            "content": "        total *= 2",
        },
    ),
    (
        "wb_draw_shape",
        {"shape": "circle", "x": 400, "y": 330, "width": 100, "height": 100, "elementId": "sun"},
    ),
    ("wb_draw_line", {"startX": 500, "startY": 380, "endX": 570, "endY": 380, "points": ["", "arrow"]}),
]


def record_calls(calls: list[tuple[str, dict[str, object]]]) -> list[RecordedAction]:
    board, recorded = EMPTY_BOARD, []
    for name, params in calls:
        action = assign_element_id(parse_action(name, params, "teacher"), board)
        board = apply_action(board, action)
        recorded.append(RecordedAction(participant="ada", action=action))
    return recorded


LESSON_ACTIONS = record_calls(ACTION_CALLS)


def make_board(*actions: Action) -> Board:
    return replay_actions(RecordedAction(action=action) for action in actions)

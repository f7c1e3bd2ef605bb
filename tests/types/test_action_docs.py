import json
from typing import Any

import msgspec
from hypothesis import given
from inline_snapshot import snapshot
from jsonschema import Draft202012Validator

from moot.types.action_docs import action_schema, describe_actions
from moot.types.actions import ACTION_TYPES, WHITEBOARD_ACTIONS, Action, get_action_name, get_action_params
from tests.support.whiteboard_strategies import ACTIONS


def test_describe_actions_has_one_line_per_action() -> None:
    assert describe_actions("teacher") == snapshot("""\
wb_open {}: Show the whiteboard.
wb_close {}: Hide the whiteboard; what is on it stays.
wb_clear {}: Wipe the whiteboard.
wb_delete {elementId}: Take one element off the whiteboard.
wb_draw_text {content, x, y, width = 400, height = 100, fontSize = 18, color = #2f3437, elementId?}: Write plain text; it wraps at its width.
wb_draw_shape {shape: circle|rectangle|triangle, x, y, width = 200, height = 100, fillColor = #5b8def, elementId?}: Draw a filled shape.
wb_draw_chart {chartType: area|bar|column|line|pie|radar|ring|scatter, x, y, data: {labels?: [text, …], legends?: [text, …], series: [[number, …], …]}, width = 400, height = 280, themeColors?: [text, …], elementId?}: Draw a chart of numbers, one for each label in each series; bars lie, columns stand, a scatter begins with its x.
wb_draw_latex {latex, x, y, width = 400, height = 80, color = #2f3437, elementId?}: Write a formula in LaTeX, without dollar signs; it is fitted into its box.
wb_draw_table {x, y, data: [[text, …], …], width = 400, height = 160, themeColor = #5b8def, elementId?}: Draw a table; the first row is its head.
wb_draw_line {startX, startY, endX, endY, color = #2f3437, width = 2, style: dashed|solid = solid, points: [""|arrow|dot, ""|arrow|dot] = ["",""], elementId?}: Draw a straight line; points are the heads at its start and its end.
wb_draw_code {code, x, y, language?, width = 480, height = 280, fileName?, elementId?}: Show code; its lines are called L1, L2 and so on, and keep their names when others come or go.
wb_edit_code {operation: delete_lines|insert_after|insert_before|replace_lines, elementId, lineId?, lineIds?: [text, …], content?}: Change lines of code by their names: insert at lineId, or delete or replace lineIds.
spotlight {elementId, dimOpacity = 0.5}: Dim the slide but for one element.
laser {elementId, color = #ff3b30}: Point at an element of the slide.
play_video {elementId}: Play a video that is on the slide.\
""")


def test_describe_actions_lists_only_whiteboard_for_non_teachers() -> None:
    assert [line.split(" ")[0] for line in describe_actions("student").splitlines()] == list(WHITEBOARD_ACTIONS)
    assert describe_actions(None) == describe_actions("student") == describe_actions("assistant")


def test_action_schema_has_every_action_of_role() -> None:
    def names(schema: dict[str, Any]) -> list[str]:
        return [one["properties"]["name"]["const"] for one in schema["anyOf"]]

    assert names(action_schema("teacher")) == list(ACTION_TYPES)
    assert names(action_schema("student")) == list(WHITEBOARD_ACTIONS)


def test_action_schema_matches_snapshot() -> None:
    written: Any = action_schema(None)["anyOf"]
    assert written[3] == snapshot(
        {
            "type": "object",
            "description": "Take one element off the whiteboard.",
            "properties": {
                "type": {"const": "action"},
                "name": {"const": "wb_delete"},
                "params": {
                    "type": "object",
                    "properties": {
                        "elementId": {"type": "string", "maxLength": 40, "pattern": "^\\w[\\w.:-]*(?!\\n)$"}
                    },
                    "required": ["elementId"],
                },
            },
            "required": ["type", "name", "params"],
        }
    )


@given(ACTIONS)
def test_action_schema_accepts_any_valid_action(action: Action) -> None:
    schema = json.loads(msgspec.json.encode(action_schema("teacher")))
    written = {"type": "action", "name": get_action_name(action), "params": get_action_params(action)}
    Draft202012Validator(schema).validate(json.loads(json.dumps(written)))

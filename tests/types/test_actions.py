import pytest
from hypothesis import given

from moot.types.actions import (
    ACTION_TYPES,
    WHITEBOARD_ACTIONS,
    Action,
    PlayVideo,
    actions_for_role,
    get_action_name,
    get_action_params,
    parse_action,
)
from moot.types.drawing import (
    ChartData,
    DeleteElement,
    DrawChart,
    DrawLine,
    DrawShape,
    DrawTable,
    DrawText,
    OpenWhiteboard,
)
from moot.types.errors import InvalidAction
from moot.types.participants import LessonRole
from tests.support.whiteboard_strategies import ACTIONS

POSITION = {"x": 10, "y": 20}
ALL_ACTIONS = {
    *("wb_open", "wb_close", "wb_clear", "wb_delete", "wb_edit_code"),
    *(f"wb_draw_{kind}" for kind in ("text", "shape", "chart", "latex", "table", "line", "code")),
    *("spotlight", "laser", "play_video"),
}


def rejection_message(name: str, params: object, role: LessonRole | None = "teacher") -> str:
    with pytest.raises(InvalidAction) as refused:
        parse_action(name, params, role)
    return str(refused.value)


def test_action_types_are_complete() -> None:
    assert set(ACTION_TYPES) == ALL_ACTIONS


def test_actions_for_role_allow_everything_only_to_teachers() -> None:
    assert set(actions_for_role("teacher")) == ALL_ACTIONS
    assert actions_for_role("student") == actions_for_role("assistant") == actions_for_role(None) == WHITEBOARD_ACTIONS
    assert ALL_ACTIONS - set(WHITEBOARD_ACTIONS) == {"spotlight", "laser", "play_video"}


def test_parse_action_reads_name_and_params() -> None:
    assert parse_action("wb_draw_text", {"content": "Hi", **POSITION}, None) == DrawText(content="Hi", x=10, y=20)
    assert parse_action("play_video", {"elementId": "v1"}, "teacher") == PlayVideo(element_id="v1")


def test_parse_action_accepts_missing_params() -> None:
    assert parse_action("wb_open", None, "student") == OpenWhiteboard()
    assert parse_action("wb_open", {}, "student") == OpenWhiteboard()


def test_parse_action_converts_between_numbers_and_text() -> None:
    read = parse_action("wb_draw_text", {"content": 42, "x": "10", "y": "20.5"}, None)
    assert read == DrawText(content="42", x=10, y=20.5)


def test_parse_action_ignores_unknown_and_null_params() -> None:
    params = {"shape": "circle", "fillColor": None, "elementId": None, "opacity": 0.5, **POSITION}
    assert parse_action("wb_draw_shape", params, None) == DrawShape(shape="circle", x=10, y=20)


def test_parse_action_accepts_flat_chart_series() -> None:
    params = {"chartType": "bar", "data": {"labels": [2025, 2026], "series": [1, "2"]}, **POSITION}
    data = ChartData(labels=("2025", "2026"), series=((1, 2),))
    assert parse_action("wb_draw_chart", params, None) == DrawChart(chart_type="bar", x=10, y=20, data=data)


def test_parse_action_accepts_numbers_and_null_in_table_cells() -> None:
    read = parse_action("wb_draw_table", {"data": [["n", "n²"], [2, 4], [3, None]], **POSITION}, None)
    assert read == DrawTable(x=10, y=20, data=(("n", "n²"), ("2", "4"), ("3", "")))


def test_parse_action_reads_line_heads_from_points() -> None:
    params = {"startX": 0, "startY": 0, "endX": 9, "endY": 9, "points": ["", "arrow"]}
    read = parse_action("wb_draw_line", params, None)
    assert read == DrawLine(start_x=0, start_y=0, end_x=9, end_y=9, points=("", "arrow"))


def test_parse_action_rejects_unknown_action_and_lists_known_ones() -> None:
    assert rejection_message("wb_paint", {}, "student") == (
        "There is no action 'wb_paint'. There are wb_open, wb_close, wb_clear, wb_delete, wb_draw_text, wb_draw_shape, "
        "wb_draw_chart, wb_draw_latex, wb_draw_table, wb_draw_line, wb_draw_code, wb_edit_code."
    )


def test_parse_action_rejects_teacher_action_for_other_roles() -> None:
    assert rejection_message("laser", {"elementId": "a"}, "student").startswith(
        "laser is for teachers. A student has wb_open,"
    )
    assert rejection_message("laser", {"elementId": "a"}, None).startswith(
        "laser is for teachers. A participant has wb_open,"
    )


@pytest.mark.parametrize(
    ("name", "params", "why"),
    [
        ("wb_draw_text", {"content": "a", "x": 1}, "wb_draw_text: Object missing required field `y`."),
        (
            "wb_draw_text",
            {"content": "a", "x": "left", "y": 1},
            "wb_draw_text: x: Expected `float`, got `str`.",
        ),
        ("wb_draw_text", {"content": "a", "x": 9000, "y": 1}, "wb_draw_text: x: Expected `float` <= 3000.0."),
        (
            "wb_draw_shape",
            {"shape": "star", **POSITION},
            "wb_draw_shape: shape: Invalid enum value 'star'; there are circle, rectangle, triangle.",
        ),
        (
            "wb_draw_line",
            {"startX": 0, "startY": 0, "endX": 1, "endY": 1, "points": ["", "tail"]},
            "wb_draw_line: points[1]: Invalid enum value 'tail'; there are \"\", arrow, dot.",
        ),
        (
            "wb_draw_text",
            {"content": "a", "color": "url(http://a)", **POSITION},
            "wb_draw_text: color: write a colour as #rrggbb, such as #4a7c59, or by a plain name, such as red.",
        ),
        (
            "wb_delete",
            {"elementId": "the box"},
            "wb_delete: elementId: an id is letters, digits, dots, colons, hyphens and underscores.",
        ),
        (
            "wb_edit_code",
            {"elementId": "c", "operation": "delete_lines", "lineIds": ["3"]},
            "wb_edit_code: lineIds[0]: a line is called L1, L2 and so on.",
        ),
        (
            "wb_edit_code",
            {"elementId": "c", "operation": "replace_lines", "content": "x"},
            "wb_edit_code: replace_lines needs lineIds.",
        ),
        ("wb_clear", ["now"], "wb_clear: params must be an object. Send the fields that the action needs."),
        (
            "wb_draw_table",
            {"data": [["a"] * 13], **POSITION},
            "wb_draw_table: data[0]: Expected `array` of length <= 12.",
        ),
    ],
)
def test_parse_action_rejects_invalid_params_with_field_and_reason(name: str, params: object, why: str) -> None:
    assert rejection_message(name, params) == why


def test_invalid_action_message_has_bounded_length() -> None:
    assert len(rejection_message("x" * 100_000, {})) < 500
    assert len(rejection_message("wb_draw_shape", {"shape": "x" * 100_000, **POSITION})) < 500


def test_get_action_params_omits_unset_params() -> None:
    assert get_action_params(DeleteElement(element_id="a")) == {"elementId": "a"}
    assert get_action_params(DrawShape(shape="circle", x=1, y=2)) == {
        "shape": "circle",
        "x": 1,
        "y": 2,
        "width": 200,
        "height": 100,
        "fillColor": "#5b8def",
    }


@given(ACTIONS)
def test_actions_round_trip_through_name_and_params(action: Action) -> None:
    assert parse_action(get_action_name(action), get_action_params(action), "teacher") == action

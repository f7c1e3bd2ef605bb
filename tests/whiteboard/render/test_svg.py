import re

import pytest
from hypothesis import HealthCheck, given, settings

from moot.types.drawing import CloseWhiteboard, DrawLatex, DrawShape, DrawText
from moot.whiteboard.render.svg import (
    DARK_EDGE,
    DARK_FILTER_ID,
    DARK_PAPER,
    apply_dark_filter,
    render_dark_filter,
    render_svg,
)
from moot.whiteboard.state import EMPTY_BOARD, Board, RecordedAction, apply_action, replay_actions
from tests.support.whiteboard_lesson import LESSON_ACTIONS, make_board
from tests.support.whiteboard_strategies import ACTION_HISTORIES
from tests.whiteboard.markup_parsing import Node, parse_markup

SVG_GROUP = "{http://www.w3.org/2000/svg}g"


def apply_filter(*colour: float) -> list[float]:
    """Apply the filter to a colour."""
    found = re.search(r'values="([^"]+)"', render_dark_filter())
    assert found is not None
    values = [float(value) for value in found[1].split()]
    rows = [values[at : at + 5] for at in range(0, 15, 5)]
    return [min(max(sum(share * part for share, part in zip(row, (*colour, 1, 1), strict=True)), 0), 1) for row in rows]


def test_dark_filter_inverts_black_and_white() -> None:
    assert max(apply_filter(1, 1, 1)) < 0.13
    assert min(apply_filter(0, 0, 0)) > 0.9


def test_dark_filter_keeps_hue() -> None:
    red, green, blue = apply_filter(0.7, 0.1, 0.1)
    assert red > max(green, blue)
    red, green, blue = apply_filter(0.1, 0.2, 0.7)
    assert blue > max(red, green)


def test_dark_filter_applies_to_everything_but_code() -> None:
    root = parse_markup(render_svg(replay_actions(LESSON_ACTIONS), dark=True))[0]
    paper = root.find("{*}rect")
    assert paper is not None
    assert (paper.get("fill"), paper.get("stroke")) == (DARK_PAPER, DARK_EDGE)
    for group in root.findall(SVG_GROUP):
        is_code = group.get("data-kind") == "code"
        assert [one.get("filter") for one in group].count(f"url(#{DARK_FILTER_ID})") == (0 if is_code else 1)


def test_empty_dark_board_has_no_filter_reference() -> None:
    assert DARK_FILTER_ID not in render_svg(EMPTY_BOARD, dark=True).replace(render_dark_filter(), "")
    assert f'filter="url(#{DARK_FILTER_ID})"' in apply_dark_filter("<rect/>")


NAMESPACE = "{http://www.w3.org/2000/svg}"
TAGS = {"svg", "g", "rect", "line", "polygon", "polyline", "circle", "ellipse", "path", "text"}


def svg_nodes(board: Board) -> list[Node]:
    return list(parse_markup(render_svg(board))[0].iter())


def tag_names(board: Board) -> set[str]:
    return {node.tag.removeprefix(NAMESPACE) for node in svg_nodes(board)}


def test_empty_board_is_blank_canvas() -> None:
    assert render_svg(EMPTY_BOARD) == (
        '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 1000 563" width="1000" height="563" '
        'font-family="DejaVu Sans, Verdana, sans-serif" role="img">'
        '<rect x="0.5" y="0.5" width="999" height="562" rx="8" fill="#ffffff" stroke="#d8dce2"/></svg>'
    )


def test_closed_board_is_blank_canvas() -> None:
    assert render_svg(apply_action(replay_actions(LESSON_ACTIONS), CloseWhiteboard())) == render_svg(EMPTY_BOARD)


def test_each_element_is_group_with_id_and_kind() -> None:
    groups = [
        (node.get("id"), node.get("data-kind"))
        for node in svg_nodes(replay_actions(LESSON_ACTIONS))
        if node.get("data-kind")
    ]
    assert groups == [
        ("text-1", "text"),
        ("chart-1", "chart"),
        ("chart-2", "chart"),
        ("latex-1", "latex"),
        ("table-1", "table"),
        ("code-1", "code"),
        ("sun", "shape"),
        ("line-1", "line"),
    ]


def test_text_is_escaped() -> None:
    board = make_board(DrawText(content="<script>alert('a & b')</script>", x=0, y=0))
    assert "<script" not in render_svg(board)
    assert "".join(svg_nodes(board)[0].itertext()) == "<script>alert('a & b')</script>"


def test_shape_name_selects_svg_element() -> None:
    shapes = {"rectangle": "rect", "circle": "ellipse", "triangle": "polygon"}
    for shape, tag in shapes.items():
        board = make_board(DrawShape(shape=shape, x=0, y=0, fill_color="red"))  # type: ignore[arg-type]
        assert svg_nodes(board)[-1].tag == NAMESPACE + tag
        assert svg_nodes(board)[-1].get("fill") == "red"


@pytest.mark.parametrize(
    ("shape", "place"),
    [
        ("rectangle", {"x": "10", "y": "20", "width": "200", "height": "100"}),
        ("circle", {"cx": "110", "cy": "70", "rx": "100", "ry": "50"}),
        ("triangle", {"points": "110,20 210,120 10,120"}),
    ],
)
def test_shapes_fill_their_box(shape: str, place: dict[str, str]) -> None:
    board = make_board(DrawShape(shape=shape, x=10, y=20, width=200, height=100))  # type: ignore[arg-type]
    drawn = svg_nodes(board)[-1]
    assert {name: drawn.get(name) for name in place} == place


def test_transparent_shape_has_outline() -> None:
    board = make_board(DrawShape(shape="circle", x=0, y=0, fill_color="transparent"))
    assert (svg_nodes(board)[-1].get("fill"), svg_nodes(board)[-1].get("stroke")) == ("none", "#5f6b7a")


def test_lesson_uses_only_expected_tags() -> None:
    assert tag_names(replay_actions(LESSON_ACTIONS)) == TAGS - {"polyline", "circle"}


def test_invalid_formula_does_not_affect_other_elements() -> None:
    board = make_board(DrawLatex(latex="}{", x=0, y=0), DrawText(content="Hello", x=0, y=200))
    assert "Hello" in render_svg(board)


@given(ACTION_HISTORIES)
@settings(suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
def test_any_actions_render_deterministic_safe_svg(ledger: list[RecordedAction]) -> None:
    board = replay_actions(ledger)
    assert render_svg(board) == render_svg(replay_actions(ledger))
    for node in svg_nodes(board):
        assert node.tag.removeprefix(NAMESPACE) in TAGS
        for name, value in node.attrib.items():
            assert not name.startswith("on")
            assert "href" not in name
            assert "url(" not in value
            assert "nan" not in value.split()
            assert "inf" not in value.split()

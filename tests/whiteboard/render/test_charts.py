from typing import get_args, get_type_hints

import pytest

from moot.types.drawing import ChartData, DrawChart
from moot.whiteboard.geometry import Box
from moot.whiteboard.render.charts import PALETTE, render_chart, render_legend
from tests.whiteboard.markup_parsing import Node, parse_markup

CHART_TYPES = get_args(get_type_hints(DrawChart)["chart_type"])
BOX = Box(0, 0, 400, 280)


def draw_chart(type_: str, data: ChartData, *colours: str) -> Node:
    drawing = DrawChart(chart_type=type_, x=0, y=0, data=data, theme_colors=colours)  # type: ignore[arg-type]
    return parse_markup(render_chart(drawing, BOX))


def node_texts(tree: Node) -> list[str]:
    return [node.text or "" for node in tree.iter("text")]


def test_chart_has_eight_types() -> None:
    assert len(CHART_TYPES) == 8


@pytest.mark.parametrize("type_", CHART_TYPES)
def test_every_chart_type_shows_labels(type_: str) -> None:
    data = ChartData(labels=("Jan", "Feb", "Mar"), legends=("x", "y"), series=((1, 2, 3), (3, 2, 1)))
    wanted = {"scatter": ["y"], "pie": ["Jan", "Feb", "Mar"], "ring": ["Jan", "Feb", "Mar"]}
    assert set(wanted.get(type_, ["Jan", "Feb", "Mar", "x", "y"])) <= set(node_texts(draw_chart(type_, data)))


@pytest.mark.parametrize("type_", CHART_TYPES)
@pytest.mark.parametrize(
    "series", [((),), ((), (1.0,)), ((1.0,), (1.0, 2.0, 3.0, 4.0)), ((0.0, 0.0, 0.0),), ((-1.0, 1.0),)]
)
def test_any_series_is_rendered_or_explained(type_: str, series: tuple[tuple[float, ...], ...]) -> None:
    assert len(draw_chart(type_, ChartData(labels=("a", "b"), series=series))) > 0


@pytest.mark.parametrize(
    ("type_", "series", "why"),
    [
        ("bar", ((),), "This chart has no numbers."),
        ("pie", ((3.0, -1.0),), "The numbers of a pie are parts of a whole: none below 0, not"),
        ("ring", ((0.0,),), "The numbers of a ring are parts of a whole: none below 0, not"),
        ("radar", ((1.0, 2.0),), "A radar needs three labels or more."),
    ],
)
def test_invalid_chart_is_rendered_with_reason(type_: str, series: tuple[tuple[float, ...], ...], why: str) -> None:
    assert node_texts(draw_chart(type_, ChartData(series=series)))[0].startswith(why[:40])


def test_requested_colours_come_before_palette() -> None:
    tree = draw_chart("pie", ChartData(series=((1, 1),)), "#abcdef")
    assert [node.get("fill") for node in tree.iter("path")] == ["#abcdef", PALETTE[0]]


def test_unnamed_single_series_has_no_legend() -> None:
    assert "Series 1" not in node_texts(draw_chart("bar", ChartData(series=((1, 2),))))
    assert "Series 2" in node_texts(draw_chart("bar", ChartData(series=((1, 2), (3, 4)))))


def test_legend_takes_at_most_third_of_height() -> None:
    _, taken = render_legend(["A rather long name"] * 40, PALETTE * 4, BOX, 12)
    assert 0 < taken <= BOX.height / 3 + 12


@pytest.mark.parametrize("kind", ["pie", "ring"])
def test_pie_omits_labels_without_value(kind: str) -> None:
    shown = node_texts(draw_chart(kind, ChartData(labels=("a", "b", "c"), series=((1.0,),))))
    assert "a" in shown
    assert not {"b", "c"} & set(shown)

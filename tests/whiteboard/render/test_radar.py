from moot.types.drawing import ChartData
from moot.whiteboard.geometry import Box
from moot.whiteboard.render.polar import render_radar
from tests.whiteboard.markup_parsing import Node, parse_markup


def draw_radar(data: ChartData) -> Node:
    return parse_markup(render_radar(data, Box(0, 0, 300, 300), 12, ("#111", "#222")))


def test_radar_has_outline_per_series_and_label_per_axis() -> None:
    tree = draw_radar(ChartData(labels=("a", "b", "c"), series=((1, 2, 3), (3, 2, 1))))
    assert [node.get("stroke") for node in tree.iter("polygon") if node.get("fill") != "none"] == [
        "#111",
        "#222",
    ]
    assert [node.text for node in tree.iter("text")] == ["a", "b", "c"]


def test_radar_puts_greatest_value_outermost() -> None:
    tree = draw_radar(ChartData(series=((4, 0, 0),)))
    (outline,) = (node for node in tree.iter("polygon") if node.get("fill") != "none")
    first, *others = (outline.get("points") or "").split()
    assert others == ["150,150", "150,150"]
    assert float(first.split(",")[1]) < 100

from moot.whiteboard.geometry import Box
from moot.whiteboard.render.polar import render_pie
from tests.whiteboard.markup_parsing import Node, parse_markup

COLOURS = ("#111", "#222", "#333")


def draw_pie(*values: float, hollow: bool = False) -> Node:
    return parse_markup(render_pie(values, Box(0, 0, 200, 200), 12, COLOURS, hollow=hollow))


def test_pie_slices_show_percentages() -> None:
    tree = draw_pie(1, 1, 2)
    assert [node.get("fill") for node in tree.iter("path")] == list(COLOURS)
    assert [node.text for node in tree.iter("text")] == ["25%", "25%", "50%"]


def test_small_slice_has_no_label_and_zero_slice_is_omitted() -> None:
    tree = draw_pie(99, 1, 0)
    assert len(list(tree.iter("path"))) == 2
    assert [node.text for node in tree.iter("text")] == ["99%"]


def test_full_slice_is_circle_of_two_arcs() -> None:
    (path,) = draw_pie(5).iter("path")
    assert (path.get("d") or "").count("A") == 2


def test_ring_has_hole() -> None:
    (path,) = draw_pie(5, hollow=True).iter("path")
    assert (path.get("d") or "").count("A") == 4

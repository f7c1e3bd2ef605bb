from moot.types.drawing import DrawTable
from moot.whiteboard.geometry import Box
from moot.whiteboard.render.table import column_widths, render_table
from tests.whiteboard.markup_parsing import Node, parse_markup

BOX = Box(0, 0, 400, 160)


def cell_nodes(*rows: tuple[str, ...]) -> list[Node]:
    drawn = render_table(DrawTable(x=0, y=0, data=rows), BOX)
    return list(parse_markup(drawn).iter("text"))


def test_cells_are_aligned_in_rows_and_columns() -> None:
    n, square, two, four = cell_nodes(("n", "n²"), ("2", "4"))
    assert n.get("y") == square.get("y") != two.get("y") == four.get("y")
    assert n.get("x") == two.get("x") != square.get("x") == four.get("x")


def test_short_rows_are_padded() -> None:
    assert [text.text for text in cell_nodes(("a", "b"), ("c",))] == ["a", "b", "c"]


def test_column_widths_follow_content() -> None:
    narrow, wide = column_widths([("n", "what it is called")], 400, 15)
    assert narrow < wide
    assert narrow + wide == 400
    assert narrow >= 400 / 2 / 2


def test_long_cell_text_is_wrapped() -> None:
    assert len(cell_nodes(("n", "so many words that they cannot stand in one line of this table"))) > 2

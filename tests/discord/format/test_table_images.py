from moot.discord.format.table_images import build_table_board, parse_table_rows, table_image_height
from moot.whiteboard.render.png import render_png

TABLE = "| wood | legs |\n| :--- | ---: |\n| oak | 4 |\n| a \\| b |  |\n"


def test_parse_table_rows_returns_cells() -> None:
    assert parse_table_rows(TABLE) == [["wood", "legs"], ["oak", "4"], ["a | b", ""]]


def test_table_image_has_height_of_its_rows() -> None:
    read = parse_table_rows(TABLE)
    board = build_table_board(read)
    assert board is not None
    small = render_png(board, height=table_image_height(read))
    assert small.startswith(b"\x89PNG")
    assert int.from_bytes(small[20:24], "big") == 1.5 * table_image_height(read)


def test_build_table_board_returns_none_for_oversized_table() -> None:
    assert build_table_board([["x"] * 13]) is None
    assert build_table_board([["x"]] * 31) is None
    assert build_table_board([["x" * 301]]) is None

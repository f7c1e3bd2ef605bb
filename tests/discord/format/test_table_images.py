from moot.discord.format.table_images import board_of, height_of, rows
from moot.whiteboard.render.png import png

TABLE = "| wood | legs |\n| :--- | ---: |\n| oak | 4 |\n| a \\| b |  |\n"


def test_a_table_is_read_row_by_row() -> None:
    assert rows(TABLE) == [["wood", "legs"], ["oak", "4"], ["a | b", ""]]


def test_a_table_can_be_painted_as_high_as_it_is() -> None:
    read = rows(TABLE)
    board = board_of(read)
    assert board is not None
    small = png(board, height=height_of(read))
    assert small.startswith(b"\x89PNG")
    assert int.from_bytes(small[20:24], "big") == 1.5 * height_of(read)


def test_what_is_too_large_for_a_board_is_not_painted() -> None:
    assert board_of([["x"] * 13]) is None
    assert board_of([["x"]] * 31) is None
    assert board_of([["x" * 301]]) is None

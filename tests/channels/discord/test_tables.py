import pytest

from moot.channels.discord.pieces import Piece, Prose, Table
from tests.channels.discord.streaming import pieces

TABLE = "| a | b |\n| :-- | --- |\n| 1 | (2 |\n"


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        (f"{TABLE}after", [Table(TABLE), Prose("after")]),
        (f"{TABLE}\nafter", [Table(TABLE), Prose("\nafter")]),
        (f"before\n{TABLE}  after", [Prose("before\n"), Table(TABLE), Prose("  after")]),
        ("before\n  | a |\n  |---|", [Prose("before\n"), Table("  | a |\n  |---|")]),
        ("|x| is a size\nTwo", [Prose("|x| is a size\n"), Prose("Two")]),
        ("> | a |\n> |---|\n", [Prose("> | a |\n"), Prose("> |---|\n")]),
    ],
)
def test_lines_with_a_pipe_stay_together(text: str, wanted: list[Piece]) -> None:
    assert pieces(text) == wanted

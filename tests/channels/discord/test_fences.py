"""Blocks of code: text before them goes, and the block goes whole."""

import pytest

from moot.channels.discord.fences import LONGEST_CODE
from moot.channels.discord.pieces import Code, Piece, Prose
from tests.channels.discord.streaming import pieces


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("See:\n```py\na\n\n(b\n```\nOk", [Prose("See:\n"), Code("py", "a\n\n(b"), Prose("\nOk")]),
        ("```\na\n```", [Code("", "a")]),
        ("(a\n```\nb\n```", [Prose("(a\n"), Code("", "b")]),  # no mark keeps a block waiting
        ("See ```py\na\n``` ok", [Prose("See "), Code("py", "a"), Prose(" ok")]),  # within a line
        ("```a``` b", [Code("", "a"), Prose(" b")]),
        ("```\na```\nb", [Code("", "a"), Prose("\nb")]),
        ("```\nx = '```'\n```", [Code("", "x = '```'")]),
        ("````\n```\na\n```\n````", [Code("", "```\na\n```")]),
        ("~~~js\na\n~~~\nb", [Code("js", "a"), Prose("\nb")]),
        ("> ```\n> a\n>  b\n> ```\nc", [Code("", "a\n b"), Prose("\nc")]),
        ("  ```\n  a\n    b\n  ```", [Code("", "a\n  b")]),
        ("```not a language\na\n```", [Code("", "not a language\na")]),
        ("```py\nnever closed", [Code("py", "never closed")]),
        ("```py\n```\na", [Prose("\na")]),
        ("a\n```", [Prose("a\n")]),
        ("I could use ``` here.\nSo.", [Prose("I could use ``` here.\n"), Prose("So.")]),
    ],
)
def test_blocks(text: str, wanted: list[Piece]) -> None:
    assert pieces(text) == wanted


def test_a_block_goes_whole_up_to_15000_characters_and_is_cut_after_a_line() -> None:
    line = "x" * 99 + "\n"
    assert pieces(f"```py\n{line * 149}```") == [Code("py", (line * 149).rstrip())]
    cut = pieces(f"```py\n{line * 200}```\nOk")
    assert cut == [
        Code("py", (line * (LONGEST_CODE // 100)).rstrip()),
        Code("py", (line * 50).rstrip()),
        Prose("\nOk"),
    ]


def test_a_block_without_lines_is_cut_wherever_it_must_be() -> None:
    code = [piece.text for piece in pieces("```\n" + "x" * 40_000)]
    assert [len(text) for text in code] == [LONGEST_CODE, LONGEST_CODE, 10_000]

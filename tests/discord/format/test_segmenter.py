"""How text is read as lines, sentences and code blocks, in any chunks."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from moot.discord.format.pieces import CodeBlock, MarkdownPiece, MarkdownTable, Prose
from moot.discord.format.segmenter import MAX_CODE_CHARS, MAX_PROSE_CHARS, Segmenter
from tests.discord.answer_strategies import chunked_answers, segment_text


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("See:\n```py\na\n\n(b\n```\nOk", [Prose("See:\n"), CodeBlock("py", "a\n\n(b"), Prose("\nOk")]),
        ("```\na\n```", [CodeBlock("", "a")]),
        ("(a\n```\nb\n```", [Prose("(a\n"), CodeBlock("", "b")]),  # an open bracket does not delay a block
        ("See ```py\na\n``` ok", [Prose("See "), CodeBlock("py", "a"), Prose(" ok")]),  # within a line
        ("```a``` b", [CodeBlock("", "a"), Prose(" b")]),
        ("```\na```\nb", [CodeBlock("", "a"), Prose("\nb")]),
        ("```\nx = '```'\n```", [CodeBlock("", "x = '```'")]),
        ("````\n```\na\n```\n````", [CodeBlock("", "```\na\n```")]),
        ("~~~js\na\n~~~\nb", [CodeBlock("js", "a"), Prose("\nb")]),
        ("> ```\n> a\n>  b\n> ```\nc", [CodeBlock("", "a\n b"), Prose("\nc")]),
        ("  ```\n  a\n    b\n  ```", [CodeBlock("", "a\n  b")]),
        ("```not a language\na\n```", [CodeBlock("", "not a language\na")]),
        ("```py\nnever closed", [CodeBlock("py", "never closed")]),
        ("```py\n```\na", [Prose("\na")]),
        ("a\n```", [Prose("a\n")]),
        ("I could use ``` here.\nSo.", [Prose("I could use ``` here.\n"), Prose("So.")]),
    ],
)
def test_segmenter_separates_code_blocks(text: str, wanted: list[MarkdownPiece]) -> None:
    assert segment_text(text) == wanted


def test_code_block_over_15000_characters_is_cut_after_line() -> None:
    line = "x" * 99 + "\n"
    assert segment_text(f"```py\n{line * 149}```") == [CodeBlock("py", (line * 149).rstrip())]
    cut = segment_text(f"```py\n{line * 200}```\nOk")
    assert cut == [
        CodeBlock("py", (line * (MAX_CODE_CHARS // 100)).rstrip()),
        CodeBlock("py", (line * 50).rstrip()),
        Prose("\nOk"),
    ]


def test_code_block_without_line_breaks_is_cut_at_limit() -> None:
    code = [piece.text for piece in segment_text("```\n" + "x" * 40_000)]
    assert [len(text) for text in code] == [MAX_CODE_CHARS, MAX_CODE_CHARS, 10_000]


def piece_texts(text: str, *, sentences: bool = False) -> list[str]:
    return [piece.text for piece in segment_text(text, sentences=sentences)]


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("One\nTwo", ["One\n", "Two"]),
        ("One\n\n\nTwo\n", ["One\n", "\n\nTwo\n"]),
        ("One\n", ["One\n"]),  # the text ends with the line break
        ("\n\n", []),
        ("One (a\nb) c\nTwo", ["One (a\nb) c\n", "Two"]),
        ('He said "a\nb" c\nTwo', ['He said "a\nb" c\n', "Two"]),
        ("「一\n二」\n三", ["「一\n二」\n", "三"]),
        ("[a\nb](https://a.b)\nTwo", ["[a\nb](https://a.b)\n", "Two"]),
        ("<b\nc> d\nTwo", ["<b\nc> d\n", "Two"]),
        ("1 < 2\nTwo", ["1 < 2\n", "Two"]),
        ("||a|| b\nTwo", ["||a|| b\n", "Two"]),
        ("`(`\nTwo", ["`(`\n", "Two"]),
        ("use ```x``` here\nTwo", ["use ```x``` here\n", "Two"]),
        ("One. Two.", ["One. Two."]),
    ],
)
def test_prose_is_split_at_lines_outside_open_marks(text: str, wanted: list[str]) -> None:
    assert piece_texts(text) == wanted


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("One. Two? Three! Four", ["One.", " Two?", " Three!", " Four"]),
        ("Ask Dr. Who, e.g. at 3.5 o'clock... So. Two", ["Ask Dr. Who, e.g. at 3.5 o'clock... So.", " Two"]),
        ("In the U.S. it is so. Two", ["In the U.S. it is so.", " Two"]),
        ("He said (one. Two) so. Three", ["He said (one. Two) so.", " Three"]),
        ('He said "One. Two." Then', ['He said "One. Two."', " Then"]),
        ("一。二「三。四」五。", ["一。", "二「三。四」五。"]),
        ("一。」二", ["一。」", "二"]),
        ("see https://a.jp/b。c and", ["see https://a.jp/b。c and"]),
        ("see https://a.b/c. Two", ["see https://a.b/c.", " Two"]),
        ("run `a. b` now. Two", ["run `a. b` now.", " Two"]),
        ("1. One\n2. Two", ["1. One\n", "2. Two"]),
        ("What?! No", ["What?!", " No"]),
        ("One.", ["One."]),
    ],
)
def test_prose_is_split_at_sentences_when_requested(text: str, wanted: list[str]) -> None:
    assert piece_texts(text, sentences=True) == wanted


def test_unclosed_mark_holds_at_most_max_prose_chars() -> None:
    lines = "a line of words\n" * 100
    found = piece_texts(f"({lines}")
    assert "".join(found) == f"({lines}"
    assert len(found[0]) == MAX_PROSE_CHARS
    assert found[-1] == "a line of words\n"


def test_long_paragraph_is_cut_after_sentence() -> None:
    text = "This is a sentence of words. " * 100
    found = piece_texts(text)
    assert "".join(found) == text
    assert all(piece.endswith(".") for piece in found[:-1])
    assert all(700 <= len(piece) <= 1200 for piece in found[:-1])


def test_table_is_never_cut_and_ends_previous_piece() -> None:
    table = "| a | b |\n|---|---|\n" + "| some words. | more (words |\n" * 100
    assert segment_text(f"Look (here:\n{table}\nTwo") == [
        Prose("Look (here:\n"),
        MarkdownTable(table),
        Prose("\nTwo"),
    ]


TABLE = "| a | b |\n| :-- | --- |\n| 1 | (2 |\n"


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        (f"{TABLE}after", [MarkdownTable(TABLE), Prose("after")]),
        (f"{TABLE}\nafter", [MarkdownTable(TABLE), Prose("\nafter")]),
        (f"before\n{TABLE}  after", [Prose("before\n"), MarkdownTable(TABLE), Prose("  after")]),
        ("before\n  | a |\n  |---|", [Prose("before\n"), MarkdownTable("  | a |\n  |---|")]),
        ("|x| is a size\nTwo", [Prose("|x| is a size\n"), Prose("Two")]),
        ("> | a |\n> |---|\n", [Prose("> | a |\n"), Prose("> |---|\n")]),
    ],
)
def test_table_lines_form_one_piece(text: str, wanted: list[MarkdownPiece]) -> None:
    assert segment_text(text) == wanted


@given(cut=chunked_answers(), sentences=st.booleans())
def test_pieces_do_not_depend_on_chunks(cut: tuple[str, list[str]], *, sentences: bool) -> None:
    text, chunks = cut
    segmenter = Segmenter(sentences=sentences)
    found = [piece for chunk in chunks for piece in segmenter.feed(chunk)]
    assert found + segmenter.finish_text() == segment_text(text, sentences=sentences)


def test_finish_text_resets_segmenter() -> None:
    segmenter = Segmenter(sentences=False)
    for opened, wanted in (
        ("```py\na", CodeBlock("py", "a")),
        ('say "(a', Prose('say "(a')),
        ("`a", Prose("`a")),
    ):
        assert segmenter.feed(opened) == []
        assert segmenter.finish_text() == [wanted]
        assert segmenter.feed("One\nTwo") == [Prose("One\n")]
        assert segmenter.finish_text() == [Prose("Two")]
    assert segmenter.finish_text() == []


def test_endless_marks_are_cut() -> None:
    for endless in ("(", "`", "|", "~", '"a\n', "<a ", "x", "\n", "a`b``"):
        text = endless * (5000 // len(endless))
        assert sum(len(piece.text) for piece in segment_text(text)) <= len(text)


def test_long_code_block_in_one_chunk_is_cut_like_streamed_one() -> None:
    for block in ("some code\n" * 4000, "x" * 40_000, "a = '``' + b\n" * 3000):
        text = f"See:\n```py\n{block}```\nSo."
        assert [
            *(segmenter := Segmenter(sentences=False)).feed(text),
            *segmenter.finish_text(),
        ] == segment_text(text)

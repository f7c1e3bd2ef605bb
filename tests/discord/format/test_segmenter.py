"""Pieces depend on the text alone, and on nothing that was said before the last end."""

from hypothesis import given
from hypothesis import strategies as st

from moot.discord.format.pieces import CodeBlock, Prose
from moot.discord.format.segmenter import Segmenter
from tests.discord.streaming import chunked_answers, segment_text


@given(cut=chunked_answers(), sentences=st.booleans())
def test_any_cut_gives_the_same_pieces(cut: tuple[str, list[str]], *, sentences: bool) -> None:
    text, chunks = cut
    segmenter = Segmenter(sentences=sentences)
    found = [piece for chunk in chunks for piece in segmenter.feed(chunk)]
    assert found + segmenter.finish_text() == segment_text(text, sentences=sentences)


def test_nothing_is_left_open_after_the_end() -> None:
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


def test_text_that_cannot_end_is_still_cut() -> None:
    for endless in ("(", "`", "|", "~", '"a\n', "<a ", "x", "\n", "a`b``"):
        text = endless * (5000 // len(endless))
        assert sum(len(piece.text) for piece in segment_text(text)) <= len(text)


def test_long_blocks_that_come_at_once_are_cut_where_others_are() -> None:
    for block in ("some code\n" * 4000, "x" * 40_000, "a = '``' + b\n" * 3000):
        text = f"See:\n```py\n{block}```\nSo."
        assert [
            *(segmenter := Segmenter(sentences=False)).feed(text),
            *segmenter.finish_text(),
        ] == segment_text(text)

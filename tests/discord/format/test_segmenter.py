"""Pieces depend on the current text only, not on text before `finish_text`."""

from hypothesis import given
from hypothesis import strategies as st

from moot.discord.format.pieces import CodeBlock, Prose
from moot.discord.format.segmenter import Segmenter
from tests.discord.answer_strategies import chunked_answers, segment_text


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

import pytest
from hypothesis import given
from hypothesis import strategies as st

from moot.prompts.tokens import (
    TOKENS_PER_FILE,
    estimate_part_tokens,
    estimate_tokens,
    fit_texts,
    join_names,
    one_line,
    truncate_text,
)
from moot.types.chunks import Text, ToolCall
from moot.types.requests import File, ToolResult


def test_truncate_text_adds_ellipsis() -> None:
    assert truncate_text("a table", 7) == "a table"
    assert truncate_text("a table", 6) == "a tab…"
    assert truncate_text("one two", 5) == "one…"


def test_one_line_joins_lines_and_truncates() -> None:
    assert one_line(" a\n\n## heading\t b ", 100) == "a ## heading b"
    assert len(one_line("word " * 100, 50)) <= 50


texts = st.lists(st.text(st.sampled_from("ab \n"), max_size=60), max_size=8)


class TestFitTexts:
    @given(texts, st.integers(0, 300))
    def test_fit_texts_fits_limit_of_one_character_each(self, some: list[str], max_chars: int) -> None:
        fit = fit_texts(some, max_chars)
        assert len(fit) == len(some)
        if max_chars >= len(some):
            assert sum(map(len, fit)) <= max_chars

    @given(texts)
    def test_fit_texts_keeps_all_texts_when_they_fit(self, some: list[str]) -> None:
        assert fit_texts(some, sum(map(len, some))) == some

    @given(texts, st.integers(8, 300))
    def test_fit_texts_keeps_short_texts_whole(self, some: list[str], max_chars: int) -> None:
        for text, fit in zip(some, fit_texts(some, max_chars), strict=True):
            if len(text) <= max_chars // len(some):
                assert fit == text
            if fit != text:
                assert text.startswith(fit.removesuffix("…"))
                assert len(fit) <= len(text)

    @given(texts, st.integers(8, 300))
    def test_fit_texts_truncates_long_texts_to_equal_length(self, some: list[str], max_chars: int) -> None:
        solid = [text.replace(" ", "a").replace("\n", "b") for text in some]
        fit = fit_texts(solid, max_chars)
        lengths = {len(short) for text, short in zip(solid, fit, strict=True) if short != text}
        assert len(lengths) <= 1
        assert all(len(text) <= max(lengths, default=60) for text in fit)

    def test_fit_texts_gives_unused_space_to_long_texts(self) -> None:
        assert fit_texts(["a" * 100, "bb", "c" * 100], 42) == ["a" * 19 + "…", "bb", "c" * 19 + "…"]

    def test_fit_texts_handles_many_texts(self) -> None:
        fit = fit_texts(["a" * 50] * 20_000, 100_000)
        assert set(fit) == {"aaaa…"}


@pytest.mark.parametrize(
    ("names", "words"),
    [((), ""), (("Ann",), "Ann"), (("Ann", "Bob"), "Ann and Bob"), (("Ann", "Bob", "Cy"), "Ann, Bob and Cy")],
)
def test_join_names_uses_commas_and_and(names: tuple[str, ...], words: str) -> None:
    assert join_names(names) == words


def test_estimate_tokens_rounds_up() -> None:
    assert [estimate_tokens("x" * length) for length in (0, 1, 4, 5)] == [0, 1, 1, 2]


def test_estimate_tokens_uses_rate_of_model() -> None:
    assert estimate_tokens("x" * 9, 1.5) == 6


def test_estimate_part_tokens_counts_every_part_and_files_at_fixed_rate() -> None:
    parts = (Text("12345678"), ToolCall("1", "f", "1234"), ToolResult("1", "f", "1"))
    assert estimate_part_tokens(parts) == 2 + 1 + 1
    assert estimate_part_tokens([File("a", "image/png", b"x" * 9999)], 1.0) == TOKENS_PER_FILE

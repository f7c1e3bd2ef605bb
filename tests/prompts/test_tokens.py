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


def test_what_is_too_long_is_cut_and_shows_it() -> None:
    assert truncate_text("a table", 7) == "a table"
    assert truncate_text("a table", 6) == "a tab…"
    assert truncate_text("one two", 5) == "one…"


def test_lines_become_one() -> None:
    assert one_line(" a\n\n## heading\t b ", 100) == "a ## heading b"
    assert len(one_line("word " * 100, 50)) <= 50


texts = st.lists(st.text(st.sampled_from("ab \n"), max_size=60), max_size=8)


class TestFitTexts:
    @given(texts, st.integers(0, 300))
    def test_all_of_them_fit_if_there_is_room_for_a_character_each(self, some: list[str], room: int) -> None:
        fit = fit_texts(some, room)
        assert len(fit) == len(some)
        if room >= len(some):
            assert sum(map(len, fit)) <= room

    @given(texts)
    def test_nothing_is_cut_where_all_fit(self, some: list[str]) -> None:
        assert fit_texts(some, sum(map(len, some))) == some

    @given(texts, st.integers(8, 300))
    def test_short_ones_stay_whole_and_none_is_cut_below_its_share(self, some: list[str], room: int) -> None:
        for text, fit in zip(some, fit_texts(some, room), strict=True):
            if len(text) <= room // len(some):
                assert fit == text
            if fit != text:
                assert text.startswith(fit.removesuffix("…"))
                assert len(fit) <= len(text)

    @given(texts, st.integers(8, 300))
    def test_those_that_are_cut_are_cut_at_the_same_length(self, some: list[str], room: int) -> None:
        solid = [text.replace(" ", "a").replace("\n", "b") for text in some]
        fit = fit_texts(solid, room)
        lengths = {len(short) for text, short in zip(solid, fit, strict=True) if short != text}
        assert len(lengths) <= 1
        assert all(len(text) <= max(lengths, default=60) for text in fit)

    def test_what_the_short_ones_leave_the_long_ones_take(self) -> None:
        assert fit_texts(["a" * 100, "bb", "c" * 100], 42) == ["a" * 19 + "…", "bb", "c" * 19 + "…"]

    def test_very_many_are_fitted_too(self) -> None:
        fit = fit_texts(["a" * 50] * 20_000, 100_000)
        assert set(fit) == {"aaaa…"}


@pytest.mark.parametrize(
    ("names", "words"),
    [((), ""), (("Ann",), "Ann"), (("Ann", "Bob"), "Ann and Bob"), (("Ann", "Bob", "Cy"), "Ann, Bob and Cy")],
)
def test_names_are_listed_as_one_says_them(names: tuple[str, ...], words: str) -> None:
    assert join_names(names) == words


def test_a_token_that_is_begun_is_one() -> None:
    assert [estimate_tokens("x" * length) for length in (0, 1, 4, 5)] == [0, 1, 1, 2]


def test_a_model_may_count_in_its_own_way() -> None:
    assert estimate_tokens("x" * 9, 1.5) == 6


def test_every_part_counts_and_a_file_as_much_as_a_file_does() -> None:
    parts = (Text("12345678"), ToolCall("1", "f", "1234"), ToolResult("1", "f", "1"))
    assert estimate_part_tokens(parts) == 2 + 1 + 1
    assert estimate_part_tokens([File("a", "image/png", b"x" * 9999)], 1.0) == TOKENS_PER_FILE

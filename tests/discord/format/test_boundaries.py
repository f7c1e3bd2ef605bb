import pytest

from moot.discord.format.boundaries import (
    MARK_CHARACTERS,
    MAX_TAG_CHARS,
    MarkTracker,
    edit_outside_code,
    ends_sentence,
    find_split,
)


@pytest.mark.parametrize(
    "text",
    [
        "It is so.",
        "Is it?",
        "It is!",
        "What?!",
        "In the year 2024.",
        "So do I.",
        "(It is so.",
        "He works for the UN.",
        "Wait...!",
    ],
)
def test_ends_sentence_accepts_sentence_ends(text: str) -> None:
    assert ends_sentence(text)


@pytest.mark.parametrize(
    "text",
    [
        "Ask Dr.",
        "Fruit, e.g.",
        "fruit (i.e.",
        "Cats, dogs, etc.",
        "In the U.S.",
        "J.",
        "Well...",
        "1.",
        "First\n 12.",
        "so .",
        "no stop",
        "",
    ],
)
def test_ends_sentence_ignores_abbreviations_ellipses_and_list_numbers(text: str) -> None:
    assert not ends_sentence(text)


@pytest.mark.parametrize(
    ("text", "limit", "ahead", "first"),
    [
        ("One two. Three four. Five", 10, 15, "One two. Three four."),  # the sentence ends within `ahead`
        ("One two. Three four. Five", 10, 10, "One two. Three four."),  # the sentence ends exactly at `ahead`
        ("One two. Three four. Five", 10, 9, "One two."),
        ("One two. Three four. Five", 10, 0, "One two."),
        ("「一。」二三四五六七八九", 8, 0, "「一。」"),
        ("Ask Dr. Who or somebody else", 12, 0, "Ask Dr. Who "),
        ("one two three", 7, 0, "one two"),
        ("one two three", 8, 0, "one two "),
        ("one two three", 10, 0, "one two "),
        ("onetwothree", 5, 0, "onetw"),
        ("hello<@123456>", 8, 0, "hello"),
        ("<@123456><@123456>", 12, 0, "<@123456>"),
    ],
)
def test_find_split_prefers_sentence_end_then_white_space(text: str, limit: int, ahead: int, first: str) -> None:
    assert text[: find_split(text, limit, ahead)] == first


def test_find_split_searches_at_most_300_characters_back() -> None:
    near, far = "a" * 710 + ". " + "b " * 500, "a" * 690 + ". " + "b " * 500
    assert find_split(near, 1000) == 711
    assert find_split(far, 1000) == 1000


def test_find_split_looks_at_most_200_characters_ahead() -> None:
    assert find_split("b " * 595 + "end. " + "b" * 100, 1000, 200) == 1194
    assert find_split("b " * 598 + "c end. " + "b" * 100, 1000, 200) == 1000


def is_open_after(text: str) -> bool:
    marks = MarkTracker()
    for place, char in enumerate(text):
        if char in MARK_CHARACTERS:
            marks.track_mark(char, text[place - 1] if place else "", place)
    return marks.is_open_at(len(text))


@pytest.mark.parametrize(
    "text",
    ["(a", "[a](http", 'he said "a', "“a", "「a", "『a", "(a [b]", "<b", "see (a) and (b", "{a", "（a"],
)
def test_mark_tracker_detects_open_mark(text: str) -> None:
    assert is_open_after(text)


@pytest.mark.parametrize(
    "text",
    [
        "a",
        "(a)",
        "[a](b)",
        '"a"',
        "「a」",
        "[0, 1)",
        "1) a",
        'a 5" pipe',
        "sad :(",
        "sad ;(",
        "<b>",
        "(a [b)",
        "don’t",
    ],
)
def test_mark_tracker_reports_closed_marks(text: str) -> None:
    assert not is_open_after(text)


def test_mark_tracker_discards_unclosed_tag() -> None:
    assert is_open_after("<" + "a" * (MAX_TAG_CHARS - 1))
    assert not is_open_after("<" + "a" * MAX_TAG_CHARS)
    marks = MarkTracker()
    marks.track_mark("<", " ", 0)
    marks.discard_tag()
    assert not marks.is_open_at(1)


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("a", "A"),
        ("a `b` c", "A `b` C"),
        ("a ``b ` c`` d", "A ``b ` c`` D"),
        ("a `b\nc` d", "A `B\nC` D"),  # a span ends on its line
        ("a `b", "A `B"),
        ("`b` `c`", "`b` `c`"),
    ],
)
def test_edit_outside_code_keeps_code_spans(text: str, wanted: str) -> None:
    assert edit_outside_code(str.upper, text) == wanted


def test_edit_outside_code_applies_inside_function_to_code_spans() -> None:
    assert edit_outside_code(str.upper, "a `b` c", edit_code=lambda span: f"[{span}]") == "A [`b`] C"

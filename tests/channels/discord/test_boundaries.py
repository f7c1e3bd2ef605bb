import pytest

from moot.channels.discord.boundaries import cut, ends_sentence


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
def test_a_sentence_ends(text: str) -> None:
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
def test_abbreviations_acronyms_ellipses_and_numbers_of_a_list_end_none(text: str) -> None:
    assert not ends_sentence(text)


@pytest.mark.parametrize(
    ("text", "limit", "ahead", "kept"),
    [
        ("One two. Three four. Five", 10, 15, "One two. Three four."),  # late, where that is allowed
        ("One two. Three four. Five", 10, 10, "One two. Three four."),  # as late as is allowed
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
def test_long_text_is_cut_after_a_sentence_else_at_white_space_else_anywhere(
    text: str, limit: int, ahead: int, kept: str
) -> None:
    assert text[: cut(text, limit, ahead)] == kept


def test_a_sentence_is_looked_for_300_characters_back_and_no_further() -> None:
    near, far = "a" * 710 + ". " + "b " * 500, "a" * 690 + ". " + "b " * 500
    assert cut(near, 1000) == 711
    assert cut(far, 1000) == 1000


def test_a_sentence_may_end_200_characters_ahead_and_no_later() -> None:
    assert cut("b " * 595 + "end. " + "b" * 100, 1000, 200) == 1194
    assert cut("b " * 598 + "c end. " + "b" * 100, 1000, 200) == 1000

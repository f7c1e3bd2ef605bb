import pytest

from moot.channels.discord.marks import CHARACTERS, LONGEST_TAG, Marks


def is_open_after(text: str) -> bool:
    marks = Marks()
    for place, char in enumerate(text):
        if char in CHARACTERS:
            marks.see(char, text[place - 1] if place else "", place)
    return marks.open_at(len(text))


@pytest.mark.parametrize(
    "text",
    ["(a", "[a](http", 'he said "a', "“a", "「a", "『a", "(a [b]", "<b", "see (a) and (b", "{a", "（a"],
)
def test_an_open_mark(text: str) -> None:
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
def test_no_open_mark(text: str) -> None:
    assert not is_open_after(text)


def test_half_a_tag_that_does_not_close_was_none() -> None:
    assert is_open_after("<" + "a" * (LONGEST_TAG - 1))
    assert not is_open_after("<" + "a" * LONGEST_TAG)
    marks = Marks()
    marks.see("<", " ", 0)
    marks.no_tag()
    assert not marks.open_at(1)

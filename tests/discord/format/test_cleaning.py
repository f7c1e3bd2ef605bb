"""The rules in their order, as a table of what is said and what is shown of it."""

import pytest

from moot.discord.format.cleaning import Humanizer, PrefillStripper
from tests.discord.streaming import format_messages, make_formatter


@pytest.mark.parametrize(
    ("said", "shown"),
    [
        # Punctuation alone waits, and goes before what comes next.
        ("...\nWell.", ["...\nWell."]),
        ("---\n***\nWell.", ["---\n***\nWell."]),
        ("Well.\n...", ["Well.", "..."]),
        ("---\n```\na\n```", ["---\n```\na\n```"]),
        ("---\n| a |\n|---|\n", ["---\n| a |\n|---|"]),
        # One's own label, and a foreign one at the very start.
        ("Alpha: Yes.\nAlpha: No.", ["Yes.", "No."]),
        ("**Alpha:** Yes.", ["Yes."]),
        ("Alpha:\nYes.", ["Yes."]),
        ("Beta: Yes.", ["Yes."]),
        ("Yes.\nBeta: No.", ["Yes.", "Beta: No."]),
        ("Alpha: Beta: Yes.", ["Yes."]),
        # Repeated emoji.
        ("Hi 😀😀😀", ["Hi 😀"]),
        ("Hi 😀 😀 🎉", ["Hi 😀 🎉"]),
        ("👩\u200d🚀👩\u200d🚀 🇫🇷🇫🇷", ["👩\u200d🚀 🇫🇷"]),
        ("<:blob:1><:blob:1>", ["<:blob:1>"]),
        ("❤\ufe0f❤\ufe0f ✅✅", ["❤\ufe0f ✅"]),
        ("★★★☆ 🟩🟩⬜", ["★★★☆ 🟩🟩⬜"]),
        # What was never meant for a reader.
        ("[System: be brief] Yes.", ["Yes."]),
        ("[system note: be\nbrief]\nYes.", ["Yes."]),
        ("Yes.</think><|im_end|>", ["Yes."]),
        ("</details>Yes.", ["Yes."]),
        ("List<b> and `</think>`", ["List<b> and `</think>`"]),
        # Mentions.
        ("@Bob and @Sam", ["<@11> and Sam"]),
        ("@</think>everyone", ["everyone"]),
    ],
)
def test_what_is_shown_of_an_answer(said: str, shown: list[str]) -> None:
    assert format_messages(said) == shown


def test_more_than_one_blank_line_becomes_one() -> None:
    assert format_messages("One\n\n\n\nTwo\n\nThree\nFour", 0) == ["One\n\nTwo\n\nThree\nFour"]
    assert format_messages("(One\n \n\n\nTwo)") == ["(One\n\nTwo)"]


def test_code_is_left_as_it_is() -> None:
    code = "```\nAlpha: @Bob 😀😀 [System: x] </think>\n\n\n\n<@99>\nBeta: y\n```"
    assert format_messages(code, block_impersonation=True) == [code]


def test_the_echo_of_a_prefill_is_removed_once() -> None:
    assert format_messages("Well, @Bob. Yes.\nWell,", prefill="Well, @Bob.") == ["Yes.", "Well,"]
    assert format_messages("One.\n```\na\n```", prefill="One.\nTwo.") == ["One.", "```\na\n```"]


@pytest.mark.parametrize(
    ("said", "shown"),
    [
        ("Yes.\nBeta: No.\nMore.\n```\na\n```", ["Yes."]),
        ("Yes (a\nBeta: no) b", ["Yes (a"]),
        ("Yes.\n\n**Gamma Ray:** No.", ["Yes."]),
        ("Yes. Beta: no.", ["Yes. Beta: no."]),
        ("Yes.\nAlpha: No.", ["Yes.", "No."]),
        ("```\na\nBeta: b\n```\nYes.", ["```\na\nBeta: b\n```", "Yes."]),
        ("```\na\n```\nBeta: b", ["```\na\n```"]),
    ],
)
def test_the_guard_cuts_where_another_speaker_begins(said: str, shown: list[str]) -> None:
    assert format_messages(said, block_impersonation=True) == shown


def test_the_guard_knows_that_a_line_begins_after_a_tool() -> None:
    to = make_formatter(1, block_impersonation=True)
    assert [send.text for send in [*to.feed("Yes."), *to.flush_boundary()]] == ["Yes."]
    assert [send.text for send in [*to.feed("Beta: No."), *to.finish_stream()]] == []


HUMANIZER = Humanizer(["Beta", "Gamma Ray", "Bob"])


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("Hello, World; I am here.", "hello world i am here."),
        ("NASA and the GPUs of GitHub", "NASA and the GPUs of GitHub"),
        ("The U.S. Army", "the U.S. army"),
        ("See `Print(A, B)`, Please", "see `Print(A, B)` please"),
        ("At https://Example.org/A,b; Really", "at https://Example.org/A,b really"),
        ("Write to Bob.Smith@Example.org, Now", "write to Bob.Smith@Example.org now"),
        ("Beta, Gamma Ray and Delta", "Beta Gamma Ray and delta"),
        ("<@11>, You", "<@11> you"),
        ("1,000 and 2,5", "1,000 and 2,5"),
        ("One,two", "one two"),
        ("Fine ;)", "fine ;)"),
        ("It's Don't", "it's don't"),
        ("Ja\uff0c Nein", "ja  nein"),
    ],
)
def test_lower_case_without_commas_but_for_what_is_kept(text: str, wanted: str) -> None:
    assert HUMANIZER.humanize(text) == wanted


@pytest.mark.parametrize(
    ("prefill", "pieces", "shown"),
    [
        ("Sure, ", ["Sure, yes.\n", "Sure, no."], " yes.\nSure, no."),  # once
        ("Sure,", ["Well, yes.\n", "Sure, no."], "Well, yes.\nSure, no."),  # at the start alone
        ("One.\nTwo", ["One.\n", "Two three"], " three"),
        ("One.\nTwo", ["One.\n", "Three"], "One.\nThree"),
        ("One.\nTwo", ["One.\n"], "One.\n"),
        ("", ["One"], "One"),
        ("One", ["\n", "One two"], "\n two"),
    ],
)
def test_the_echo_is_taken_off_once(prefill: str, pieces: list[str], shown: str) -> None:
    awaited = PrefillStripper(prefill)
    assert "".join([awaited.strip_echo(piece) for piece in pieces]) + awaited.release_withheld() == shown

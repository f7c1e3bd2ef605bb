"""The cleaning rules in their order: an answer, and the messages it becomes."""

import pytest

from moot.discord.format.cleaning import Humanizer, PrefillStripper
from tests.discord.answer_strategies import format_messages, make_formatter


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        # Punctuation alone waits for the next text.
        ("...\nWell.", ["...\nWell."]),
        ("---\n***\nWell.", ["---\n***\nWell."]),
        ("Well.\n...", ["Well.", "..."]),
        ("---\n```\na\n```", ["---\n```\na\n```"]),
        ("---\n| a |\n|---|\n", ["---\n| a |\n|---|"]),
        # The own label, and another label at the very start.
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
        # Internal text that a reader must not see.
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
def test_cleaning_rules_change_answer(text: str, shown: list[str]) -> None:
    assert format_messages(text) == shown


def test_repeated_blank_lines_are_collapsed() -> None:
    assert format_messages("One\n\n\n\nTwo\n\nThree\nFour", "whole") == ["One\n\nTwo\n\nThree\nFour"]
    assert format_messages("(One\n \n\n\nTwo)") == ["(One\n\nTwo)"]


def test_code_block_is_not_cleaned() -> None:
    code = "```\nAlpha: @Bob 😀😀 [System: x] </think>\n\n\n\n<@99>\nBeta: y\n```"
    assert format_messages(code, block_impersonation=True) == [code]


def test_messages_omit_prefill_echo_once() -> None:
    assert format_messages("Well, @Bob. Yes.\nWell,", prefill="Well, @Bob.") == ["Yes.", "Well,"]
    assert format_messages("One.\n```\na\n```", prefill="One.\nTwo.") == ["One.", "```\na\n```"]


@pytest.mark.parametrize(
    ("text", "shown"),
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
def test_block_impersonation_cuts_text_at_other_speaker_label(text: str, shown: list[str]) -> None:
    assert format_messages(text, block_impersonation=True) == shown


def test_block_impersonation_applies_at_line_start_after_tool_call() -> None:
    formatter = make_formatter("paragraphs", block_impersonation=True)
    assert [send.text for send in [*formatter.feed("Yes."), *formatter.flush()]] == ["Yes."]
    assert [send.text for send in [*formatter.feed("Beta: No."), *formatter.flush()]] == []


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
def test_humanize_lowercases_and_removes_commas_outside_verbatim_text(text: str, wanted: str) -> None:
    assert HUMANIZER.humanize(text) == wanted


@pytest.mark.parametrize(
    ("prefill", "pieces", "shown"),
    [
        ("Sure, ", ["Sure, yes.\n", "Sure, no."], " yes.\nSure, no."),  # once
        ("Sure,", ["Well, yes.\n", "Sure, no."], "Well, yes.\nSure, no."),  # only at the start
        ("One.\nTwo", ["One.\n", "Two three"], " three"),
        ("One.\nTwo", ["One.\n", "Three"], "One.\nThree"),
        ("One.\nTwo", ["One.\n"], "One.\n"),
        ("", ["One"], "One"),
        ("One", ["\n", "One two"], "\n two"),
    ],
)
def test_prefill_stripper_removes_echo_once_at_start(prefill: str, pieces: list[str], shown: str) -> None:
    awaited = PrefillStripper(prefill)
    assert "".join([awaited.strip_echo(piece) for piece in pieces]) + awaited.release_withheld() == shown

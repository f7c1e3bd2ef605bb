import pytest

from moot.channels.discord.prefill import Prefill


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
    awaited = Prefill(prefill)
    assert "".join([awaited.without(piece) for piece in pieces]) + awaited.rest() == shown

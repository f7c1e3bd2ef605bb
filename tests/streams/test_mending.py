import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from moot.streams.mending import Scalar, escape, scalar, without_surrogates


@given(st.characters())
def test_every_escape_of_json_is_read(character: str) -> None:
    written = json.dumps(character)[1:-1]
    if written.startswith("\\"):
        assert escape(written + "x", 0, last=False) == (character, len(written))


@pytest.mark.parametrize(
    "half", ["\\", "\\u", "\\u00e", "\\ud83d", "\\ud83d\\", "\\ud83d\\ud", "\\ud83d\\ude0"]
)
def test_half_an_escape_waits_for_the_rest(half: str) -> None:
    assert escape(half, 0, last=False) is None


@pytest.mark.parametrize(
    ("written", "character", "length"),
    [
        ("\\alpha", "\\", 1),
        ("\\u12x4", "\\", 1),
        ("\\'", "'", 2),
        ("\\ud83dx", "\ufffd", 6),
        ("\\ud83d\\n", "\ufffd", 6),
        ("\\ud83d\\ud83d", "\ufffd", 6),
        ("\\ude00", "\ufffd", 6),
    ],
)
def test_what_is_no_escape_keeps_its_backslash_and_half_a_pair_is_lost(
    written: str, character: str, length: int
) -> None:
    assert escape(written, 0, last=False) == (character, length)


def test_an_escape_that_was_cut_off_for_good_is_left_out() -> None:
    assert escape("\\", 0, last=True) == ("", 1)
    assert escape("\\u00", 0, last=True) == ("", 4)
    assert escape("\\ud83d", 0, last=True) == ("\ufffd", 6)


@pytest.mark.parametrize(
    ("word", "value"),
    [
        ("true", True),
        ("False", False),
        ("None", None),
        ("null", None),
        ("NaN", None),
        ("-Infinity", None),
        ("12", 12),
        ("-0", 0),
        ("007", 7),
        ("1e3", 1000.0),
        ("+.5", 0.5),
        ("inf", "inf"),
        ("1_000", "1_000"),
        ("\u0661", "\u0661"),
        ("soon", "soon"),
        ("-", "-"),
    ],
)
def test_bare_words_are_literals_numbers_or_strings(word: str, value: Scalar) -> None:
    assert scalar(word) == value
    assert type(scalar(word)) is type(value)


def test_a_number_with_too_many_digits_is_read_roughly() -> None:
    assert scalar("1" * 5000) == math.inf


def test_surrogates_are_lost_and_all_else_is_kept() -> None:
    assert without_surrogates("a\ud83db é \U0001f600 \udcff") == "a\ufffdb é \U0001f600 \ufffd"

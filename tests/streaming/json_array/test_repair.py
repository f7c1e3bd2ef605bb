import json
import math

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from moot.streaming.json_array.repair import (
    LOOKAHEAD_CHARS,
    Scalar,
    find_next_token,
    is_member_start,
    is_object_start,
    opens_quote_pair,
    parse_escape,
    parse_scalar,
    quote_ends_string,
    replace_surrogates,
)

JSON_FRAGMENTS = st.lists(
    st.sampled_from([*"{}[]\"',:/* \n\\ax1", "true", '"key":', "//", "null"]), max_size=12
).map("".join)


def decide_quote(rest: str, path: str = "{", *, doubt: bool = False) -> bool | None:
    return quote_ends_string(rest, path, has_unpaired_quote=doubt, has_unquoted_keys=False, is_final=False)


def test_white_space_and_comments_do_not_count() -> None:
    assert find_next_token(" \n /* a */ // b\n x", 0) == 17
    assert find_next_token("/x", 0) == 0
    for half in ("", "  ", "/", "// a", "/* a *"):
        assert find_next_token(half, 0) is None


@pytest.mark.parametrize("rest", ["}", "]", ', "key":', ",}", ', /* then */ "a\\"b" :', ' "key":', ', {"'])
def test_a_quote_ends_a_value_where_a_member_or_the_end_follows(rest: str) -> None:
    assert decide_quote(rest) is True


@pytest.mark.parametrize(
    "rest", [" and", ".", ", and", ', "b",', ', "b" x', ": c", '" x', '"},{"type"', ', "a\n']
)
def test_a_quote_is_stray_where_none_can_follow(rest: str) -> None:
    assert decide_quote(rest) is False


@pytest.mark.parametrize("rest", ["", " ", ",", ', "', ', "key', ', "key"', ', "a\\', ', "key" /', ' "ke'])
def test_it_stays_open_while_a_member_may_still_come(rest: str) -> None:
    assert decide_quote(rest) is None


def test_in_doubt_a_bracket_must_lead_on() -> None:
    assert decide_quote("} here") is True
    assert decide_quote("} here", doubt=True) is False
    assert decide_quote("}, then on", doubt=True) is False
    assert decide_quote('}, {"', doubt=True) is True
    assert decide_quote("}\n]\nx", doubt=True) is True
    assert decide_quote("}] x", doubt=True) is False
    assert decide_quote("}}", doubt=True) is False
    assert decide_quote("]}", doubt=True) is False
    assert decide_quote(', "x":', doubt=True) is False
    assert decide_quote('}, "x"', "{{", doubt=True) is None
    assert decide_quote('}, "x":', "{{", doubt=True) is True


def test_in_an_array_another_value_may_follow() -> None:
    for rest in (', "', ", 1", ", null]", "]", ' "b"', ' {"'):
        assert decide_quote(rest, "[{") is True
    for rest in (", nobody", " and", ".", '"'):
        assert decide_quote(rest, "[{") is False


def test_what_stays_open_at_the_end_is_an_end_unless_a_quote_comes_first() -> None:
    for rest in ("", ",", ', "ke', ", "):
        assert (
            quote_ends_string(rest, "{", has_unpaired_quote=False, has_unquoted_keys=False, is_final=True)
            is True
        )
    for rest in ('"}]', ' "ke', ',"}]'):
        assert (
            quote_ends_string(rest, "{", has_unpaired_quote=False, has_unquoted_keys=False, is_final=True)
            is False
        )


@pytest.mark.parametrize(("before", "rest"), [("", "Yes"), (" ", "Yes"), ("{", "a"), ("(", "$5")])
def test_a_quote_before_a_word_begins_a_pair(before: str, rest: str) -> None:
    assert opens_quote_pair(before, rest)


@pytest.mark.parametrize(("before", "rest"), [("t", "s"), ("5", " x"), (" ", " "), (".", ", he"), ("", '"')])
def test_a_quote_after_a_word_or_before_a_stop_does_not(before: str, rest: str) -> None:
    assert not opens_quote_pair(before, rest)


def test_keys_without_quotes_follow_only_where_keys_are_written_so() -> None:
    assert (
        quote_ends_string(", note: x", "{", has_unpaired_quote=False, has_unquoted_keys=False, is_final=False)
        is False
    )
    assert (
        quote_ends_string(", note: x", "{", has_unpaired_quote=False, has_unquoted_keys=True, is_final=False)
        is True
    )


def test_an_object_begins_with_a_key_or_ends_at_once() -> None:
    assert is_object_start('{ "', 0)
    assert is_object_start("{}", 0)
    assert is_object_start("{key :", 0)
    assert is_object_start("{key}", 0) is False
    assert is_object_start("{ke", 0) is None


def test_a_member_may_be_missing_before_a_bracket() -> None:
    assert is_member_start(" }", 0, has_unquoted_keys=False) is True
    assert is_member_start(' {"', 0, has_unquoted_keys=False) is True
    assert is_member_start(" x:", 0, has_unquoted_keys=False) is False


@given(st.text(), st.text())
@example("}" * LOOKAHEAD_CHARS, "")
def test_a_clean_member_is_always_seen(key: str, value: str) -> None:
    written = json.dumps({"a": value, key: value})
    after = len(json.dumps({"a": value})) - 1
    if key != "a":
        rest = written[after : after + LOOKAHEAD_CHARS]
        assert (
            quote_ends_string(rest, "{", has_unpaired_quote=False, has_unquoted_keys=False, is_final=True)
            is True
        )


@given(JSON_FRAGMENTS, st.sampled_from(["", "{", "[", "{{", "[{", "{[{"]), st.booleans())
def test_an_answer_never_changes_with_what_comes_later(rest: str, path: str, doubt: bool) -> None:
    answers = [decide_quote(rest[:length], path, doubt=doubt) for length in range(len(rest) + 1)]
    given = [answer for answer in answers if answer is not None]
    assert len(set(given)) <= 1
    assert given == answers[len(answers) - len(given) :]


@given(st.characters())
def test_every_escape_of_json_is_read(character: str) -> None:
    written = json.dumps(character)[1:-1]
    if written.startswith("\\"):
        assert parse_escape(written + "x", 0, is_final=False) == (character, len(written))


@pytest.mark.parametrize(
    "half", ["\\", "\\u", "\\u00e", "\\ud83d", "\\ud83d\\", "\\ud83d\\ud", "\\ud83d\\ude0"]
)
def test_half_an_escape_waits_for_the_rest(half: str) -> None:
    assert parse_escape(half, 0, is_final=False) is None


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
    assert parse_escape(written, 0, is_final=False) == (character, length)


def test_an_escape_that_was_cut_off_for_good_is_left_out() -> None:
    assert parse_escape("\\", 0, is_final=True) == ("", 1)
    assert parse_escape("\\u00", 0, is_final=True) == ("", 4)
    assert parse_escape("\\ud83d", 0, is_final=True) == ("\ufffd", 6)


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
    assert parse_scalar(word) == value
    assert type(parse_scalar(word)) is type(value)


def test_a_number_with_too_many_digits_is_read_roughly() -> None:
    assert parse_scalar("1" * 5000) == math.inf


def test_surrogates_are_lost_and_all_else_is_kept() -> None:
    assert replace_surrogates("a\ud83db é \U0001f600 \udcff") == "a\ufffdb é \U0001f600 \ufffd"

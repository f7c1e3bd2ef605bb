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

JSON_FRAGMENTS = st.lists(st.sampled_from([*"{}[]\"',:/* \n\\ax1", "true", '"key":', "//", "null"]), max_size=12).map(
    "".join
)


def decide_quote(rest: str, path: str = "{", *, doubt: bool = False) -> bool | None:
    return quote_ends_string(rest, path, has_unpaired_quote=doubt, has_unquoted_keys=False, is_final=False)


def test_find_next_token_skips_whitespace_and_comments() -> None:
    assert find_next_token(" \n /* a */ // b\n x", 0) == 17
    assert find_next_token("/x", 0) == 0
    for half in ("", "  ", "/", "// a", "/* a *"):
        assert find_next_token(half, 0) is None


@pytest.mark.parametrize("rest", ["}", "]", ', "key":', ",}", ', /* then */ "a\\"b" :', ' "key":', ', {"'])
def test_quote_ends_string_before_member_or_end(rest: str) -> None:
    assert decide_quote(rest) is True


@pytest.mark.parametrize("rest", [" and", ".", ", and", ', "b",', ', "b" x', ": c", '" x', '"},{"type"', ', "a\n'])
def test_quote_does_not_end_string_before_other_text(rest: str) -> None:
    assert decide_quote(rest) is False


@pytest.mark.parametrize("rest", ["", " ", ",", ', "', ', "key', ', "key"', ', "a\\', ', "key" /', ' "ke'])
def test_quote_is_undecided_while_member_may_follow(rest: str) -> None:
    assert decide_quote(rest) is None


def test_doubtful_quote_ends_string_only_before_valid_continuation() -> None:
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


def test_quote_ends_array_string_before_another_value() -> None:
    for rest in (', "', ", 1", ", null]", "]", ' "b"', ' {"'):
        assert decide_quote(rest, "[{") is True
    for rest in (", nobody", " and", ".", '"'):
        assert decide_quote(rest, "[{") is False


def test_undecided_quote_ends_string_at_end_of_input_unless_quote_follows() -> None:
    for rest in ("", ",", ', "ke', ", "):
        assert quote_ends_string(rest, "{", has_unpaired_quote=False, has_unquoted_keys=False, is_final=True) is True
    for rest in ('"}]', ' "ke', ',"}]'):
        assert quote_ends_string(rest, "{", has_unpaired_quote=False, has_unquoted_keys=False, is_final=True) is False


@pytest.mark.parametrize(("before", "rest"), [("", "Yes"), (" ", "Yes"), ("{", "a"), ("(", "$5")])
def test_quote_before_word_opens_quote_pair(before: str, rest: str) -> None:
    assert opens_quote_pair(before, rest)


@pytest.mark.parametrize(("before", "rest"), [("t", "s"), ("5", " x"), (" ", " "), (".", ", he"), ("", '"')])
def test_quote_after_word_or_before_punctuation_opens_no_pair(before: str, rest: str) -> None:
    assert not opens_quote_pair(before, rest)


def test_unquoted_key_counts_only_where_keys_are_unquoted() -> None:
    assert (
        quote_ends_string(", note: x", "{", has_unpaired_quote=False, has_unquoted_keys=False, is_final=False) is False
    )
    assert quote_ends_string(", note: x", "{", has_unpaired_quote=False, has_unquoted_keys=True, is_final=False) is True


def test_is_object_start_requires_key_or_closing_brace() -> None:
    assert is_object_start('{ "', 0)
    assert is_object_start("{}", 0)
    assert is_object_start("{key :", 0)
    assert is_object_start("{key}", 0) is False
    assert is_object_start("{ke", 0) is None


def test_is_member_start_accepts_bracket_after_missing_member() -> None:
    assert is_member_start(" }", 0, has_unquoted_keys=False) is True
    assert is_member_start(' {"', 0, has_unquoted_keys=False) is True
    assert is_member_start(" x:", 0, has_unquoted_keys=False) is False


@given(st.text(), st.text())
@example("}" * LOOKAHEAD_CHARS, "")
def test_quote_ends_string_before_any_valid_member(key: str, value: str) -> None:
    written = json.dumps({"a": value, key: value})
    after = len(json.dumps({"a": value})) - 1
    if key != "a":
        rest = written[after : after + LOOKAHEAD_CHARS]
        assert quote_ends_string(rest, "{", has_unpaired_quote=False, has_unquoted_keys=False, is_final=True) is True


@given(JSON_FRAGMENTS, st.sampled_from(["", "{", "[", "{{", "[{", "{[{"]), st.booleans())
def test_quote_decision_never_changes_with_later_text(rest: str, path: str, doubt: bool) -> None:
    answers = [decide_quote(rest[:length], path, doubt=doubt) for length in range(len(rest) + 1)]
    given = [answer for answer in answers if answer is not None]
    assert len(set(given)) <= 1
    assert given == answers[len(answers) - len(given) :]


@given(st.characters())
def test_parse_escape_reads_every_json_escape(character: str) -> None:
    written = json.dumps(character)[1:-1]
    if written.startswith("\\"):
        assert parse_escape(written + "x", 0, is_final=False) == (character, len(written))


@pytest.mark.parametrize("half", ["\\", "\\u", "\\u00e", "\\ud83d", "\\ud83d\\", "\\ud83d\\ud", "\\ud83d\\ude0"])
def test_parse_escape_waits_for_incomplete_escape(half: str) -> None:
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
def test_parse_escape_keeps_backslash_of_invalid_escape_and_replaces_surrogate(
    written: str, character: str, length: int
) -> None:
    assert parse_escape(written, 0, is_final=False) == (character, length)


def test_parse_escape_drops_incomplete_escape_at_end() -> None:
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
def test_parse_scalar_reads_literals_numbers_and_strings(word: str, value: Scalar) -> None:
    assert parse_scalar(word) == value
    assert type(parse_scalar(word)) is type(value)


def test_parse_scalar_reads_huge_integer_as_infinity() -> None:
    assert parse_scalar("1" * 5000) == math.inf


def test_replace_surrogates_keeps_other_characters() -> None:
    assert replace_surrogates("a\ud83db é \U0001f600 \udcff") == "a\ufffdb é \U0001f600 \ufffd"

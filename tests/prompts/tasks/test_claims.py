"""Claims and position changes: which parts of a model's answer are accepted."""

from itertools import permutations
from typing import Any

import msgspec
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from inline_snapshot import snapshot

from moot.prompts.tasks.claims import claims_task, find_quote
from moot.types.debate import DebateClaims
from moot.types.discussions import Message
from moot.types.events import ClaimsExtracted
from tests.prompts.debate_discussions import (
    MAX_CHARS,
    MESSAGES_WITH_CLAIMS,
    make_answer,
    make_user_message,
    task_material,
)


def make_claim(text: str, supporters: dict[str, str], opponents: dict[str, str] | None = None) -> dict[str, Any]:
    sides = (supporters, opponents or {})
    voices = [[{"who": who, "quote": quote} for who, quote in side.items()] for side in sides]
    return {"claim": text, "supporters": voices[0], "opponents": voices[1]}


def make_position_change(participant_label: str, quote: str, because_of: str | None = None) -> dict[str, Any]:
    return {"who": participant_label, "before": "x", "after": "y", "because_of": because_of, "quote": quote}


def extract_claims(
    claims: list[Any],
    position_changes: list[Any] | None = None,
    messages: list[Message] = MESSAGES_WITH_CLAIMS,
) -> DebateClaims:
    task = claims_task(messages, "run_1", MAX_CHARS)
    found = task.to_result(
        msgspec.convert({"claims": claims, "position_changes": position_changes or []}, type=task.answer_type)
    )
    assert isinstance(found, ClaimsExtracted)
    return found.claims


class TestClaimsTask:
    def test_claims_task_material_matches_snapshot(self) -> None:
        assert task_material(claims_task(MESSAGES_WITH_CLAIMS, "run_1", MAX_CHARS)) == snapshot("""\
The question:
Shall we split it?

### p1: Alpha, first answer
Split it now. The teams block each other.

### p2: Beta, first answer
Keep it whole, whatever Alpha says: nobody knows the cost.

### p2: Beta, after reading the others
I keep my position: nobody knows the cost.

### p3: Gamma, first answer
Wait a quarter; then the numbers are known.

### p3: Gamma, after reading the others
I change my position: split it now.\
""")

    def test_claims_task_rejects_unknown_participant_label(self) -> None:
        for who in ("p4", "p0", "alpha", "Alpha"):
            with pytest.raises(msgspec.ValidationError, match="Invalid enum value"):
                extract_claims([make_claim("x", {who: "nobody knows the cost"})])

    def test_claims_task_rejects_answer_without_claims(self) -> None:
        task = claims_task(MESSAGES_WITH_CLAIMS, "run_1", MAX_CHARS)
        assert task.check(msgspec.convert({"claims": [], "position_changes": []}, type=task.answer_type)) is not None

    @pytest.mark.parametrize(
        "quote",
        [
            "nobody knows the cost",
            "nobody  knows\nthe\tcost",
            '"nobody knows the cost"',
            "“nobody knows the cost”",
            "…nobody knows the cost…",
            "... nobody knows the cost ...",
            "… “nobody knows the cost” …",
            " \u2018nobody knows the cost\u2019 ",
            "«nobody knows the cost»",
        ],
    )
    def test_claim_quote_matches_despite_surrounding_marks_and_whitespace(self, quote: str) -> None:
        (found,) = extract_claims([make_claim("The cost is unknown.", {"p2": quote})]).claims
        (voice,) = found.supporters
        assert (voice.participant, voice.quote) == ("beta", "nobody knows the cost")
        assert voice.message == "msg_beta_debate", "the last answer counts before the first"

    def test_claim_quote_points_to_first_answer_when_missing_from_last(self) -> None:
        (found,) = extract_claims([make_claim("x", {"p2": "Keep it whole, whatever"})]).claims
        assert found.supporters[0].message == "msg_beta_initial"

    @pytest.mark.parametrize(
        ("who", "quote"),
        [
            ("p1", "nobody knows the cost"),
            ("p2", "nobody knows the price"),
            ("p2", "cost_usd"),
            ("p2", ""),
            ("p2", "“…”"),
            ("p2", ".*"),
            ("p2", "n.body knows the cost"),
            ("p2", "Nobody Knows The Cost"),
        ],
        ids=["another's", "invented", "too short", "empty", "marks", "pattern", "a dot", "in capitals"],
    )
    def test_claims_task_drops_and_counts_quotes_not_in_answer(self, who: str, quote: str) -> None:
        found = extract_claims(
            [make_claim("x", {"p3": "I change my position"}, {who: quote}), make_claim("y", {who: quote})]
        )
        (left,) = found.claims
        assert (left.claim, left.opponents, found.dropped_quotes) == ("x", (), 2)

    def test_claim_is_minority_when_fewer_than_half_support_it(self) -> None:
        quotes = {"p1": "Split it now", "p2": "nobody knows the cost", "p3": "I change my position"}
        for holders in (some for size in (1, 2, 3) for some in permutations(quotes, size)):
            (found,) = extract_claims([make_claim("x", {who: quotes[who] for who in holders})]).claims
            assert found.minority == (len(holders) == 1)

    def test_claim_without_supporters_is_not_minority(self) -> None:
        (found,) = extract_claims(
            [make_claim("x", {"p1": "never said at all"}, {"p2": "nobody knows the cost"})]
        ).claims
        assert (found.supporters, found.minority) == ((), False)

    def test_claim_is_not_minority_when_half_of_two_support_it(self) -> None:
        log = [
            make_user_message(),
            make_answer("alpha", "Split it right now."),
            make_answer("beta", "Keep it as it is."),
        ]
        (found,) = extract_claims([make_claim("x", {"p1": "Split it right now"})], messages=log).claims
        assert not found.minority

    def test_position_change_requires_quote_from_second_answer(self) -> None:
        found = extract_claims(
            [make_claim("x", {"p1": "Split it now."})],
            [
                make_position_change("p3", "I change my position", "p1"),
                make_position_change("p3", "then the numbers are known"),
                make_position_change("p1", "Split it now."),
                make_position_change("p2", "I have never thought so"),
            ],
        )
        (change,) = found.position_changes
        assert (change.participant, change.because_of, change.message) == (
            "gamma",
            "alpha",
            "msg_gamma_debate",
        )
        assert found.dropped_quotes == 3

    def test_position_change_ignores_participant_as_its_own_cause(self) -> None:
        (found,) = extract_claims(
            [make_claim("x", {"p1": "Split it now."})],
            [make_position_change("p3", "I change my position", "p3")],
        ).position_changes
        assert found.because_of is None


word_lists = st.lists(
    st.text(st.characters(codec="utf-8", categories=["L", "N", "P", "S"]), min_size=1, max_size=7),
    min_size=1,
    max_size=14,
)
whitespace = st.sampled_from([" ", "  ", "\n", "\n\n", "\t", "\u00a0 "])
QUOTE_MARKS = "\"'“”„»«\u2018\u2019…."


class TestFindQuote:
    @given(word_lists, st.data())
    def test_find_quote_finds_any_word_range_as_written(self, some: list[str], data: st.DataObject) -> None:
        text = "".join(word + data.draw(whitespace) for word in some)
        first = data.draw(st.integers(0, len(some) - 1))
        last = data.draw(st.integers(first + 1, len(some)))
        cut = " ".join(some[first:last])
        assume(len(cut.strip(QUOTE_MARKS + " ")) >= 12)
        found = find_quote(cut, text)
        assert found is not None
        assert found in text
        assert found.split() != []
        assert "".join(found.split()) in "".join(cut.split())

    @given(word_lists, word_lists)
    def test_find_quote_returns_only_text_from_answer(self, some: list[str], quote: list[str]) -> None:
        text = " ".join(some)
        found = find_quote(" ".join(quote), text)
        assert found is None or found in text

    @pytest.mark.parametrize("words", ["a.b*c+ (d|e) [f]", "\\d\\w\\s and more", "^start of it$", "{1,2} times {x}"])
    def test_find_quote_treats_regex_characters_literally(self, words: str) -> None:
        assert find_quote(words, f"So: {words} is it.") == words
        assert find_quote(words, "axbxc d f 1 start of it and so on") is None

    @pytest.mark.parametrize(("quote", "found"), [("Yes.", "Yes."), ("Ye", None), ("No.", None)])
    def test_find_quote_accepts_short_quote_only_when_answer_is_as_short(self, quote: str, found: str | None) -> None:
        assert find_quote(quote, " Yes. ") == found

    def test_find_quote_returns_none_for_empty_answer(self) -> None:
        assert find_quote("", "") is None
        assert find_quote("something that was said", "") is None

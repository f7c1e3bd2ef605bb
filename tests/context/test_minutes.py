"""The minutes: what is asked about a debate, in which form, and how much of what comes back is believed."""

import re
from itertools import permutations
from typing import Any

import msgspec
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from inline_snapshot import snapshot
from msgspec.structs import replace

from moot.context.inquiry import Inquiry
from moot.context.minutes import agreement, ballot, find_quote, ledger, ranking, summary
from moot.model.chunks import Text
from moot.model.debates import Ledger
from moot.model.discussions import Message
from moot.model.events import Agreed, BallotCast, LedgerMade, SummaryMade
from moot.model.participants import Participant, seat
from tests.context.test_debate import DEBATE, ROOM, asked, said

TABLE = seat(("a/one",) * 4)  # Delta never answers

POINTS = [
    asked(),
    said("alpha", "Split it now. The teams block each other."),
    said("beta", "Keep it whole, whatever Alpha says: nobody knows the cost."),
    said("gamma", "Wait a quarter; then the numbers are known."),
    said("delta", "", status="failed"),
    said("beta", "I keep my position: nobody knows the cost.", "debate"),
    said("gamma", "I change my position: split it now.", "debate"),
]


def material(inquiry: Inquiry) -> str:
    (message,) = inquiry.request.messages
    (part,) = message.parts
    assert isinstance(part, Text)
    return part.text


def filled_in(inquiry: Inquiry, **fields: Any) -> Any:
    """Fill in the form of an inquiry as a model would, in JSON."""
    told = msgspec.json.decode(msgspec.json.encode(fields), type=inquiry.answer)
    assert inquiry.check(told) is None
    return inquiry.found(told)


class TestAgreement:
    def test_only_the_first_answers_are_shown(self) -> None:
        inquiry = agreement(POINTS, "run_1", ROOM)
        assert inquiry.purpose == "gate"
        assert material(inquiry) == snapshot("""\
The question:
Shall we split it?

### p1: Alpha, first answer
Split it now. The teams block each other.

### p2: Beta, first answer
Keep it whole, whatever Alpha says: nobody knows the cost.

### p3: Gamma, first answer
Wait a quarter; then the numbers are known.\
""")

    def test_what_it_would_have_cost_is_what_the_first_answers_did(self) -> None:
        costs = [0.25, 0.5]
        log = [
            asked(),
            *(said(who, "So.", cost=cost) for who, cost in zip(("alpha", "beta"), costs, strict=True)),
        ]
        found = filled_in(agreement(log, "run_1", ROOM), agree=True, reason="Both say so.")
        assert isinstance(found, Agreed)
        assert (found.agree, found.reason, found.saved) == (True, "Both say so.", 0.75)

    def test_where_a_price_is_not_known_nobody_can_say_what_was_saved(self) -> None:
        log = [asked(), said("alpha", "So.", cost=0.25), said("beta", "So.", cost=None)]
        assert filled_in(agreement(log, "run_1", ROOM), agree=True, reason="So.").saved is None

    def test_a_verdict_needs_a_reason(self) -> None:
        inquiry = agreement(POINTS, "run_1", ROOM)
        assert inquiry.check(inquiry.answer(agree=True, reason=" ")) == "`reason` is empty"


ROW = {"initialSummary": "a", "refinedSummary": "b", "changedPosition": False, "keyPoints": ["c"]}
HEADS = {"overview": "All.", "agreements": ["x"], "disagreements": [], "convergence": "None."}


class TestSummary:
    def test_all_answers_are_shown_and_none_of_them_twice(self) -> None:
        assert material(summary(POINTS, "run_1", ROOM, participants=TABLE)) == snapshot("""\
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

    def test_the_form_has_one_entry_for_each_who_answered(self) -> None:
        form = summary(POINTS, "run_1", ROOM, participants=TABLE).answer
        assert form.__struct_fields__ == (*HEADS, "p1", "p2", "p3")

    @pytest.mark.parametrize("rows", [["p1", "p2"], []])
    def test_a_form_that_is_not_filled_in_for_everybody_is_refused(self, rows: list[str]) -> None:
        form = summary(POINTS, "run_1", ROOM, participants=TABLE).answer
        with pytest.raises(msgspec.ValidationError, match="missing required field"):
            msgspec.convert(HEADS | dict.fromkeys(rows, ROW), type=form)

    def test_everybody_at_the_table_has_one_row_and_whoever_did_not_answer_an_empty_one(self) -> None:
        inquiry = summary(POINTS, "run_1", ROOM, participants=TABLE)
        rows = {"p1": ROW, "p2": ROW | {"keyPoints": []}, "p3": ROW | {"changedPosition": True}}
        found = filled_in(inquiry, **HEADS, **rows)
        assert isinstance(found, SummaryMade)
        assert msgspec.to_builtins(found.summary) == snapshot(
            {
                "originalPrompt": "Shall we split it?",
                "overview": "All.",
                "crossModel": {"agreements": ("x",), "disagreements": (), "convergenceSummary": "None."},
                "perModel": (
                    {
                        "participant": "alpha",
                        "initialSummary": "a",
                        "refinedSummary": "b",
                        "changedPosition": False,
                        "keyPoints": ("c",),
                    },
                    {
                        "participant": "beta",
                        "initialSummary": "a",
                        "refinedSummary": "b",
                        "changedPosition": False,
                        "keyPoints": (),
                    },
                    {
                        "participant": "gamma",
                        "initialSummary": "a",
                        "refinedSummary": "b",
                        "changedPosition": True,
                        "keyPoints": ("c",),
                    },
                    {
                        "participant": "delta",
                        "initialSummary": "",
                        "refinedSummary": "",
                        "changedPosition": False,
                        "keyPoints": (),
                    },
                ),
            }
        )

    @given(st.sets(st.sampled_from(TABLE)), st.sets(st.sampled_from(TABLE), min_size=1))
    def test_rows_are_those_of_the_participants_whoever_answered(
        self, answered: set[Participant], taking_part: set[Participant]
    ) -> None:
        log = [asked(), *(said(who.id, f"I am {who.id}.") for who in answered)]
        inquiry = summary(log, "run_1", ROOM, participants=tuple(taking_part))
        labels = [name for name in inquiry.answer.__struct_fields__ if name not in HEADS]
        assert len(labels) == len(answered)
        found = filled_in(inquiry, **HEADS, **dict.fromkeys(labels, ROW))
        rows = {row.participant: row.initial_summary for row in found.summary.per_model}
        assert rows == {who.id: "a" if who in answered else "" for who in taking_part}
        assert len(found.summary.per_model) == len(taking_part)

    def test_an_overview_is_needed(self) -> None:
        inquiry = summary([asked()], "run_1", ROOM, participants=TABLE)
        empty = msgspec.convert(HEADS | {"overview": "\n"}, type=inquiry.answer)
        assert inquiry.check(empty) == "`overview` is empty"

    def test_it_rests_on_what_was_said_and_on_nothing_else(self) -> None:
        once = summary(POINTS, "run_1", ROOM, participants=TABLE).basis
        assert summary([*POINTS[::-1][:-1], POINTS[0]], "run_1", ROOM, participants=TABLE).basis == once
        more = [*POINTS, said("alpha", "I keep it.", "debate")]
        assert summary(more, "run_1", ROOM, participants=TABLE).basis != once


class TestBallot:
    def test_the_whole_material(self) -> None:
        assert material(ballot(POINTS, "run_1", ROOM, voter="alpha")) == snapshot("""\
The question:
Shall we split it?

### Answer A
I keep my position: nobody knows the cost.

### Answer B
I change my position: split it now.\
""")

    @pytest.mark.parametrize("voter", ["alpha", "beta", "gamma"])
    def test_one_s_own_answer_is_not_in_it_and_nobody_s_name(self, voter: str) -> None:
        shown = material(ballot(POINTS, "run_1", ROOM, voter=voter))
        for message in POINTS[1:]:
            if message.participant == voter:
                assert not message.content or message.content not in shown
        assert not re.search("alpha|beta|gamma", shown, re.IGNORECASE)

    @pytest.mark.parametrize("name", ["C++", "Dr. No.", "(x)", "Ada", "Ada Lovelace", "Ünal", "4.1"])
    def test_names_are_taken_out_whatever_they_are_made_of(self, name: str) -> None:
        log = [
            asked(),
            replace(said("alpha", f"As {name} has it, {name}'s way."), name="Ada"),
            replace(said("beta", f"{name}: yes; {name}, no"), name="Ada Lovelace"),
            replace(said("gamma", f"Nothing of {name}"), name=name),
            said("delta", "So."),
        ]
        shown = material(ballot(log, "run_1", ROOM, voter="delta"))
        assert name not in shown

    def test_a_word_that_only_begins_like_a_name_stays(self) -> None:
        log = [asked(), said("alpha", "Alphabetical order, Betamax."), said("beta", "So.")]
        assert "Alphabetical order, Betamax." in material(ballot(log, "run_1", ROOM, voter="beta"))

    def test_the_order_is_another_for_others_and_the_same_again_for_the_same(self) -> None:
        many = [asked(), *(said(who, f"I am number {n}.") for n, who in enumerate("abcdefghijkl"))]

        def order(run: str, voter: str) -> list[str]:
            log = [replace(message, run=run) for message in many]
            return re.findall(r"number (\d+)", material(ballot(log, run, ROOM, voter=voter)))

        assert order("run_1", "a") == order("run_1", "a")
        assert sorted(order("run_1", "a"), key=int) == [str(n) for n in range(1, 12)]
        orders = {tuple(order(run, voter)) for run in ("run_1", "run_2") for voter in "yz"}
        assert len(orders) == 4

    def test_scores_become_an_order_with_ties_together(self) -> None:
        log = [asked(), *(said(who, f"I am {who}.") for who in ("one", "two", "three", "four"))]
        inquiry = ballot(log, "run_1", ROOM, voter="four")
        shown = re.findall(r"### Answer (\w)\nI am (\w+)", material(inquiry).replace("[one of them]", "x"))
        scores = {label: {"A": 40, "B": 90, "C": 40}[label] for label, _ in shown}
        found = filled_in(inquiry, **scores)
        assert isinstance(found, BallotCast)
        assert found.participant == "four"
        assert [len(level) for level in found.order] == [1, 2]
        assert sorted(who for level in found.order for who in level) == ["one", "three", "two"]

    @pytest.mark.parametrize(
        ("score", "words"), [(0, None), (100, None), (101, "0 to 100"), (-1, "0 to 100")]
    )
    def test_scores_have_their_bounds(self, score: int, words: str | None) -> None:
        inquiry = ballot(POINTS, "run_1", ROOM, voter="alpha")
        wrong = inquiry.check(inquiry.answer(A=score, B=50))
        assert (wrong is None) == (words is None)
        assert words is None or words in (wrong or "")


def cast(voter: str, *order: tuple[str, ...]) -> BallotCast:
    return BallotCast(basis=f"by {voter}", participant=voter, order=order)


@st.composite
def ballots(draw: st.DrawFn) -> list[BallotCast]:
    """Draw what some of those at the table think of the others, with ties, and some of them left out."""
    cast_by = draw(st.lists(st.sampled_from("abcde"), unique=True, max_size=5))
    return [draw(orders(voter)) for voter in cast_by]


@st.composite
def orders(draw: st.DrawFn, voter: str) -> BallotCast:
    others = [who for who in "abcde" if who != voter]
    scores = draw(st.dictionaries(st.sampled_from(others), st.integers(0, 3)))
    levels = sorted(set(scores.values()), reverse=True)
    return cast(voter, *(tuple(who for who, score in scores.items() if score == level) for level in levels))


class TestRanking:
    def test_a_point_for_each_below_and_half_a_one_for_each_beside(self) -> None:
        found = ranking([cast("a", ("b",), ("c", "d")), cast("b", ("c",), ("d",), ("a",))]).ranking
        assert [(place.participant, place.points, place.votes) for place in found.places] == [
            ("b", 2.0, 1),
            ("c", 2.5, 2),
            ("d", 1.5, 2),
            ("a", 0.0, 1),
        ]
        assert found.ballots == {"a": (("b",), ("c", "d")), "b": (("c",), ("d",), ("a",))}

    def test_without_ballots_there_are_no_places(self) -> None:
        assert ranking([]).ranking.places == ()

    @given(ballots())
    def test_no_point_is_lost_or_made_up(self, some: list[BallotCast]) -> None:
        ranked = [sum(map(len, one.order)) for one in some]
        places = ranking(some).ranking.places
        assert sum(place.points for place in places) == sum(n * (n - 1) / 2 for n in ranked)
        assert sum(place.votes for place in places) == sum(ranked)

    @given(ballots(), st.randoms())
    def test_the_order_of_the_ballots_changes_nothing(self, some: list[BallotCast], chance: Any) -> None:
        shuffled = list(some)
        chance.shuffle(shuffled)
        assert ranking(shuffled) == ranking(some)

    @given(ballots())
    def test_nobody_stands_before_one_who_did_better_on_average(self, some: list[BallotCast]) -> None:
        averages = [place.points / place.votes for place in ranking(some).ranking.places]
        assert averages == sorted(averages, reverse=True)

    def test_it_rests_on_its_ballots(self) -> None:
        one, other = cast("a", ("b",)), cast("b", ("a",))
        assert ranking([one]).name != ranking([one, other]).name
        assert ranking([one]).name.startswith("ranking/")


def claim(text: str, supporters: dict[str, str], opponents: dict[str, str] | None = None) -> dict[str, Any]:
    sides = (supporters, opponents or {})
    voices = [[{"who": who, "quote": quote} for who, quote in side.items()] for side in sides]
    return {"claim": text, "supporters": voices[0], "opponents": voices[1]}


def flip(who: str, quote: str, because_of: str | None = None) -> dict[str, Any]:
    return {"who": who, "before": "x", "after": "y", "becauseOf": because_of, "quote": quote}


def kept(claims: list[Any], flips: list[Any] | None = None, log: list[Message] = POINTS) -> Ledger:
    inquiry = ledger(log, "run_1", ROOM)
    found = inquiry.found(msgspec.convert({"claims": claims, "flips": flips or []}, type=inquiry.answer))
    assert isinstance(found, LedgerMade)
    return found.ledger


class TestLedger:
    def test_the_whole_material(self) -> None:
        assert material(ledger(POINTS, "run_1", ROOM)) == snapshot("""\
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

    def test_nobody_can_be_named_who_did_not_answer(self) -> None:
        for who in ("p4", "p0", "alpha", "Alpha"):
            with pytest.raises(msgspec.ValidationError, match="Invalid enum value"):
                kept([claim("x", {who: "nobody knows the cost"})])

    def test_a_ledger_without_claims_is_refused(self) -> None:
        inquiry = ledger(POINTS, "run_1", ROOM)
        assert inquiry.check(msgspec.convert({"claims": [], "flips": []}, type=inquiry.answer)) is not None

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
    def test_a_quote_is_found_whatever_stands_around_and_between_its_words(self, quote: str) -> None:
        (found,) = kept([claim("The cost is unknown.", {"p2": quote})]).claims
        (voice,) = found.supporters
        assert (voice.participant, voice.quote) == ("beta", "nobody knows the cost")
        assert voice.message == "msg_beta_debate", "the last answer counts before the first"

    def test_what_was_only_said_at_first_is_found_there(self) -> None:
        (found,) = kept([claim("x", {"p2": "Keep it whole, whatever"})]).claims
        assert found.supporters[0].message == "msg_beta_initial"

    @pytest.mark.parametrize(
        ("who", "quote"),
        [
            ("p1", "nobody knows the cost"),
            ("p2", "nobody knows the price"),
            ("p2", "cost"),
            ("p2", ""),
            ("p2", "“…”"),
            ("p2", ".*"),
            ("p2", "n.body knows the cost"),
            ("p2", "Nobody Knows The Cost"),
        ],
        ids=["another's", "invented", "too short", "empty", "marks", "pattern", "a dot", "in capitals"],
    )
    def test_what_is_not_in_the_answer_is_dropped_and_counted(self, who: str, quote: str) -> None:
        found = kept([claim("x", {"p3": "I change my position"}, {who: quote}), claim("y", {who: quote})])
        (left,) = found.claims
        assert (left.claim, left.opponents, found.unproven) == ("x", (), 2)

    def test_a_claim_that_fewer_than_half_hold_is_a_minority_s(self) -> None:
        quotes = {"p1": "Split it now", "p2": "nobody knows the cost", "p3": "I change my position"}
        for holders in (some for size in (1, 2, 3) for some in permutations(quotes, size)):
            (found,) = kept([claim("x", {who: quotes[who] for who in holders})]).claims
            assert found.minority == (len(holders) == 1)

    def test_a_claim_that_is_only_disputed_is_nobody_s_view(self) -> None:
        (found,) = kept([claim("x", {"p1": "never said at all"}, {"p2": "nobody knows the cost"})]).claims
        assert (found.supporters, found.minority) == ((), False)

    def test_half_of_an_even_table_is_no_minority(self) -> None:
        log = [asked(), said("alpha", "Split it right now."), said("beta", "Keep it as it is.")]
        (found,) = kept([claim("x", {"p1": "Split it right now"})], log=log).claims
        assert not found.minority

    def test_a_change_of_mind_shows_in_the_second_answer(self) -> None:
        found = kept(
            [claim("x", {"p1": "Split it now."})],
            [
                flip("p3", "I change my position", "p1"),
                flip("p3", "then the numbers are known"),
                flip("p1", "Split it now."),
                flip("p2", "I have never thought so"),
            ],
        )
        (kept_one,) = found.flips
        assert (kept_one.participant, kept_one.because_of, kept_one.message) == (
            "gamma",
            "alpha",
            "msg_gamma_debate",
        )
        assert found.unproven == 3

    def test_nobody_is_convinced_by_oneself(self) -> None:
        (found,) = kept(
            [claim("x", {"p1": "Split it now."})], [flip("p3", "I change my position", "p3")]
        ).flips
        assert found.because_of is None


words = st.lists(
    st.text(st.characters(codec="utf-8", categories=["L", "N", "P", "S"]), min_size=1, max_size=7),
    min_size=1,
    max_size=14,
)
spaces = st.sampled_from([" ", "  ", "\n", "\n\n", "\t", "\u00a0 "])
MARKS = "\"'“”„»«\u2018\u2019…."


class TestFindQuote:
    @given(words, st.data())
    def test_any_cut_at_words_is_found_as_it_stands_there(self, some: list[str], data: st.DataObject) -> None:
        text = "".join(word + data.draw(spaces) for word in some)
        first = data.draw(st.integers(0, len(some) - 1))
        last = data.draw(st.integers(first + 1, len(some)))
        cut = " ".join(some[first:last])
        assume(len(cut.strip(MARKS + " ")) >= 12)
        found = find_quote(cut, text)
        assert found is not None
        assert found in text
        assert found.split() != []
        assert "".join(found.split()) in "".join(cut.split())

    @given(words, words)
    def test_what_is_found_is_in_the_text(self, some: list[str], quote: list[str]) -> None:
        text = " ".join(some)
        found = find_quote(" ".join(quote), text)
        assert found is None or found in text

    @pytest.mark.parametrize(
        "words", ["a.b*c+ (d|e) [f]", "\\d\\w\\s and more", "^start of it$", "{1,2} times {x}"]
    )
    def test_it_is_text_and_no_pattern(self, words: str) -> None:
        assert find_quote(words, f"So: {words} is it.") == words
        assert find_quote(words, "axbxc d f 1 start of it and so on") is None

    @pytest.mark.parametrize(("quote", "found"), [("Yes.", "Yes."), ("Ye", None), ("No.", None)])
    def test_an_answer_that_is_short_itself_is_quoted_whole(self, quote: str, found: str | None) -> None:
        assert find_quote(quote, " Yes. ") == found

    def test_nothing_is_found_in_nothing(self) -> None:
        assert find_quote("", "") is None
        assert find_quote("something that was said", "") is None


def test_what_is_cut_for_want_of_room_is_cut_in_the_material_too() -> None:
    shown = material(summary(DEBATE, "run_1", 40, participants=TABLE))
    assert "…" in shown
    assert "### p1: Alpha, first answer" in shown

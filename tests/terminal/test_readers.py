import unicodedata
from collections.abc import Sequence
from io import StringIO
from itertools import pairwise, permutations

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from inline_snapshot import snapshot

from moot.terminal.readers import (
    JsonLinesReader,
    PlainReader,
    RunReader,
    SingleReader,
    ending_line,
    ending_text,
    strip_control_chars,
)
from moot.types.events import Event, RunEnded, TurnEnded, TurnStarted
from moot.types.faults import make_fault
from tests.support.debate_samples import ANALYSIS_EVENTS, HOSTILE_SUMMARY, debate_events, stage_started
from tests.support.run_events import (
    CONNECTION_BROKE,
    HOSTILE_TEXT,
    KEY_REJECTED,
    STRIPPED_TEXT,
    FakeTerminal,
    notice_event,
    round_started,
    run_started,
    text_delta,
    text_retracted,
    thought_delta,
    turn_ended,
    turn_started,
)


def feed_events(reader: RunReader, *events: Event) -> None:
    """Feed events one at a time."""
    for event in events:
        reader([event])
    reader.close()


def print_single(*events: Event, out: StringIO | None = None, err: StringIO | None = None) -> tuple[str, str]:
    out, err = out or StringIO(), err or StringIO()
    feed_events(SingleReader(out, err), run_started("a/one"), turn_started("alpha"), *events)
    return out.getvalue(), err.getvalue()


class TestSingleReader:
    def test_stdout_has_only_answer(self) -> None:
        out, err = print_single(
            thought_delta("alpha", "Square?"),
            notice_event("Trying again.", "alpha"),
            text_delta("alpha", "A table "),
            text_delta("alpha", "is round."),
            turn_ended("alpha", "A table is round."),
            RunEnded(status="completed"),
        )
        assert out == "A table is round.\n"
        assert err == "moot: Trying again.\n"

    def test_text_is_printed_before_turn_ends(self) -> None:
        out = StringIO()
        SingleReader(out, StringIO())([text_delta("alpha", "A table ")])
        assert out.getvalue() == "A table "

    def test_details_are_printed_after_answer(self) -> None:
        out, _ = print_single(text_delta("alpha", "Round."), turn_ended("alpha", "Round.", details="Because."))
        assert out == "Round.\n\nBecause.\n"

    def test_failed_turn_prints_nothing_to_stdout(self) -> None:
        out, err = print_single(turn_ended("alpha", status="failed", finish=None, error=KEY_REJECTED))
        assert out == ""
        assert err == "moot: Key rejected for openai (HTTP 401).\n"

    def test_partial_answer_is_kept_and_error_goes_to_stderr(self) -> None:
        out, err = print_single(
            text_delta("alpha", "A tab"),
            turn_ended("alpha", "A tab", status="partial", finish=None, error=CONNECTION_BROKE),
        )
        assert out == "A tab\n"
        assert err == "moot: The connection broke. The partial answer is above.\n"

    def test_reasoning_is_printed_dim_to_terminal_stderr(self) -> None:
        out, err = print_single(
            thought_delta("alpha", "Squ\x1bare?"),
            text_delta("alpha", "Round."),
            turn_ended("alpha", "Round."),
            err=FakeTerminal(),
        )
        assert out == "Round.\n"
        assert err == "\x1b[2mSquare?\x1b[0m\n\n"

    def test_retracted_text_is_reported_as_reasoning(self) -> None:
        out, err = print_single(
            text_delta("alpha", "Square?"),
            text_retracted("alpha"),
            text_delta("alpha", "Round."),
            turn_ended("alpha", "Round."),
        )
        assert out == "Square?\nRound.\n"
        assert "the text above turned out to be the model's thinking" in err

    def test_control_characters_are_removed_on_terminal(self) -> None:
        events = (text_delta("alpha", HOSTILE_TEXT), turn_ended("alpha", HOSTILE_TEXT, details=HOSTILE_TEXT))
        assert print_single(*events, out=FakeTerminal())[0] == f"{STRIPPED_TEXT}\n\n{STRIPPED_TEXT}\n"

    def test_control_characters_are_kept_in_pipe(self) -> None:
        assert (
            print_single(text_delta("alpha", HOSTILE_TEXT), turn_ended("alpha", HOSTILE_TEXT))[0] == f"{HOSTILE_TEXT}\n"
        )

    def test_next_turn_starts_new_paragraph(self) -> None:
        first = (round_started(0), text_delta("alpha", "Round."), turn_ended("alpha", "Round."))
        second = (
            round_started(1),
            turn_started("alpha"),
            text_delta("alpha", "Or oval."),
            turn_ended("alpha", "Or oval."),
        )
        assert print_single(*first, *second)[0] == "Round.\n\nOr oval.\n"

    @given(st.lists(st.text(st.characters(categories=["Cc", "L"]))))
    def test_control_characters_are_removed_on_terminal_for_any_chunks(self, pieces: list[str]) -> None:
        out, _ = print_single(*(text_delta("alpha", piece) for piece in pieces), out=FakeTerminal())
        assert {c for c in out if unicodedata.category(c) == "Cc"} <= {"\t", "\n"}


@given(st.text())
def test_strip_control_chars_removes_only_control_characters(text: str) -> None:
    expected = [c for c in text if c in "\t\n" or unicodedata.category(c) != "Cc"]
    assert strip_control_chars(text) == "".join(expected)


def print_plain(*events: Event, in_lanes: bool = False) -> tuple[str, str]:
    out, err = StringIO(), StringIO()
    feed_events(PlainReader(out, err, in_lanes=in_lanes), run_started("a/one", "b/two", "c/three"), *events)
    return out.getvalue(), err.getvalue()


class TestPlainReader:
    ENDINGS: Sequence[TurnEnded] = (
        turn_ended("alpha", "Round.\n\n", model="a/one"),
        turn_ended("beta", model="b/two", status="failed", finish=None, error=KEY_REJECTED),
        turn_ended("gamma", "Squ", details="Why.", model="c/three", status="partial", error=CONNECTION_BROKE),
    )

    def test_failed_turn_is_printed_in_its_position(self) -> None:
        assert print_plain(*self.ENDINGS)[0] == snapshot("""\
=== Alpha · a/one ===
Round.

=== Beta · b/two ===
[failed: Key rejected for openai (HTTP 401).]

=== Gamma · c/three ===
Squ
Why.
[partial: The connection broke. The partial answer is above.]

""")

    def test_answers_are_printed_in_request_order(self) -> None:
        printed = {print_plain(*order) for order in permutations(self.ENDINGS)}
        assert len(printed) == 1

    def test_answer_is_printed_after_earlier_ones(self) -> None:
        out = StringIO()
        reader = PlainReader(out, StringIO())
        reader([run_started("a/one", "b/two")])
        reader([turn_ended("beta", "Second.", model="b/two")])
        assert out.getvalue() == ""
        reader([turn_ended("alpha", "First.")])
        assert out.getvalue() == "=== Alpha · a/one ===\nFirst.\n\n=== Beta · b/two ===\nSecond.\n\n"

    def test_heading_names_model_that_answered(self) -> None:
        out, _ = print_plain(turn_ended("alpha", "Round.", model="z/fallback"))
        assert out == "=== Alpha · z/fallback ===\nRound.\n\n"

    def test_deltas_are_not_printed(self) -> None:
        assert print_plain(turn_started("alpha"), text_delta("alpha", "Rou"), thought_delta("beta", "Hm."))[0] == ""

    def test_notice_names_participant(self) -> None:
        assert print_plain(notice_event("Trying again.", "beta"))[1] == "moot: Beta: Trying again.\n"


class TestPlainReaderRounds:
    ROUNDS = (
        round_started(0),
        turn_started("alpha"),
        turn_ended("alpha", "Round."),
        turn_ended("beta", model="b/two", status="failed", finish=None, error=KEY_REJECTED),
        turn_ended("gamma", "Square.", model="c/three"),
        round_started(1),
        turn_started("alpha"),
        turn_ended("alpha", "Still round.", model="z/fallback"),
        turn_ended("beta", "Oval.", model="b/two"),
        turn_ended("gamma", "Squ", model="c/three", status="stopped", finish=None),
    )

    def test_turns_are_printed_in_speaking_order(self) -> None:
        assert print_plain(*self.ROUNDS)[0] == snapshot("""\
--- Round 1 ---

=== Alpha · a/one ===
Round.

=== Beta · b/two ===
[failed: Key rejected for openai (HTTP 401).]

=== Gamma · c/three ===
Square.

--- Round 2 ---

=== Alpha · z/fallback ===
Still round.

=== Beta · b/two ===
Oval.

=== Gamma · c/three ===
Squ
[Stopped.]

""")

    def test_turn_is_printed_when_it_ends(self) -> None:
        out = StringIO()
        reader = PlainReader(out, StringIO())
        lengths = []
        for event in (run_started("a/one", "b/two", "c/three"), *self.ROUNDS):
            reader([event])
            lengths.append(len(out.getvalue()))
        grown = [after > before for before, after in pairwise(lengths)]
        assert grown == [not isinstance(event, TurnStarted) for event in self.ROUNDS]

    def test_unfinished_turn_does_not_block_next_round(self) -> None:
        out, _ = print_plain(
            round_started(0),
            turn_ended("beta", "Second.", model="b/two"),
            round_started(1),
            turn_ended("alpha", "First."),
        )
        assert out == (
            "--- Round 1 ---\n\n=== Beta · b/two ===\nSecond.\n\n--- Round 2 ---\n\n=== Alpha · a/one ===\nFirst.\n\n"
        )

    def test_notice_names_participant_in_later_rounds(self) -> None:
        events = (round_started(0), turn_ended("alpha", "Round."), notice_event("Trying again.", "alpha"))
        assert print_plain(*events)[1] == "moot: Alpha: Trying again.\n"


class TestPlainReaderDebate:
    def test_stages_have_titles_and_report_is_last(self) -> None:
        out, err = print_plain(*debate_events(*ANALYSIS_EVENTS)[1:], in_lanes=True)
        answers, _, report = out.partition("--- Report ---\n\n")
        assert err == ""
        assert answers == snapshot("""\
--- First answers ---

=== Alpha · a/one ===
alpha, first.

=== Beta · b/two ===

=== Gamma · a/one ===
gamma, first.

--- Debate ---

=== Alpha · a/one ===
alpha, second.

=== Gamma · a/one ===
gamma, second.

--- Synthesis ---

=== Alpha · a/one ===
alpha, together.

""")
        assert report.startswith("Overview: Two want to split, one does not.\n")
        assert report.endswith("\nCost: $0.95\n\n")

    def test_report_is_not_printed_before_run_ends(self) -> None:
        out = StringIO()
        reader = PlainReader(out, StringIO(), in_lanes=True)
        reader(debate_events(*ANALYSIS_EVENTS)[:-1])
        assert "Overview" not in out.getvalue()
        assert out.getvalue().endswith("alpha, together.\n\n")

    def test_report_is_omitted_without_answers(self) -> None:
        refused = [turn_ended(who, status="failed", error=KEY_REJECTED) for who in ("alpha", "beta", "gamma")]
        out, _ = print_plain(stage_started("initial"), *refused, RunEnded(status="failed"), in_lanes=True)
        assert out.count(f"[failed: {KEY_REJECTED.message}]") == 3
        assert out.startswith("--- First answers ---\n")
        assert "Cost" not in out

    def test_stopped_slow_turn_prints_reason(self) -> None:
        late = turn_ended("beta", "Squ", status="stopped", finish=None, error=make_fault("timeout", "It was too slow."))
        out, _ = print_plain(stage_started("initial"), late)
        assert "Squ\n[stopped: It was too slow.]\n" in out

    def test_control_characters_in_results_are_removed(self) -> None:
        out = FakeTerminal()
        feed_events(PlainReader(out, StringIO(), in_lanes=True), *debate_events(HOSTILE_SUMMARY))
        assert "\x1b" not in out.getvalue()
        assert "title" in out.getvalue()


class TestJsonLinesReader:
    EVENTS = (
        run_started("a/one", "b/two"),
        turn_started("alpha"),
        round_started(1),
        thought_delta("alpha", "Hm."),
        text_delta("alpha", "two\nlines\u2028three\x1b"),
        notice_event("Trying again.", "beta"),
        turn_ended("alpha", "two\nlines", status="partial", error=CONNECTION_BROKE),
        *ANALYSIS_EVENTS,
        RunEnded(status="completed"),
    )

    def test_lines_decode_to_same_events(self) -> None:
        out = StringIO()
        feed_events(JsonLinesReader(out), *self.EVENTS)
        decode = msgspec.json.Decoder(Event).decode
        assert tuple(decode(line) for line in out.getvalue().rstrip("\n").split("\n")) == self.EVENTS

    @given(st.lists(st.text()))
    def test_event_is_one_line_for_any_text(self, words: list[str]) -> None:
        out = StringIO()
        JsonLinesReader(out)([text_delta("alpha", text) for text in words])
        *lines, rest = out.getvalue().split("\n")
        assert rest == ""
        assert [msgspec.json.decode(line)["text"] for line in lines] == words


@pytest.mark.parametrize(
    ("turn", "words", "in_brackets"),
    [
        (turn_ended("alpha", "Round."), "", ""),
        (turn_ended("alpha", "Rou", status="stopped", finish=None), "Stopped.", "[Stopped.]"),
        (
            turn_ended("alpha", "Rou", finish="length"),
            "Cut at the token limit; --max-tokens sets it.",
            "[Cut at the token limit; --max-tokens sets it.]",
        ),
        (
            turn_ended("alpha", status="failed", error=KEY_REJECTED),
            "Key rejected for openai (HTTP 401).",
            "[failed: Key rejected for openai (HTTP 401).]",
        ),
        (
            turn_ended("alpha", "Rou", status="partial", error=CONNECTION_BROKE),
            "The connection broke. The partial answer is above.",
            "[partial: The connection broke. The partial answer is above.]",
        ),
    ],
    ids=["completed", "stopped", "length", "failed", "partial"],
)
def test_ending_text_describes_incomplete_turn(turn: TurnEnded, words: str, in_brackets: str) -> None:
    assert (ending_text(turn), ending_line(turn)) == (words, in_brackets)


def test_control_characters_in_errors_and_notices_are_removed() -> None:
    fault = make_fault("api_error", "x failed: \x1b]0;title\x07\x1b[2J.")
    out, err = FakeTerminal(), FakeTerminal()
    SingleReader(out, err)([notice_event("\x1b[2J", "alpha"), turn_ended("alpha", status="failed", error=fault)])
    PlainReader(out, err)([run_started("a/one", "b/two"), notice_event("\x1b[2J", "alpha")])
    assert "\x1b" not in out.getvalue() + err.getvalue()


def test_notice_without_participant_has_no_name() -> None:
    assert print_plain(run_started("a/one", "b/two"), notice_event("Late."))[1] == "moot: Late.\n"


def test_close_prints_complete_answers_of_unfinished_run() -> None:
    out = StringIO()
    reader = PlainReader(out, StringIO())
    reader([run_started("a/one", "b/two"), turn_ended("beta", "Done.")])
    assert out.getvalue() == ""
    reader.close()
    assert "Done." in out.getvalue()


def test_advisors_stages_have_titles() -> None:
    out, _ = print_plain(
        stage_started("answer"),
        turn_ended("beta", "No."),
        turn_ended("alpha", "Yes."),
        stage_started("cross_talk"),
        turn_ended("alpha", "No, Beta."),
        stage_started("synthesis"),
        turn_ended("alpha", "All in all."),
        RunEnded(status="completed"),
    )
    heads = [line for line in out.splitlines() if line.startswith(("---", "==="))]
    assert heads == [
        "--- Answers ---",
        "=== Alpha · a/one ===",
        "=== Beta · a/one ===",
        "--- To each other ---",
        "=== Alpha · a/one ===",
        "--- Synthesis ---",
        "=== Alpha · a/one ===",
    ]

import re
from io import StringIO

import pytest
from inline_snapshot import snapshot
from rich.console import Console

from moot.terminal.columns import Column, LiveColumns, columns_for
from moot.types.events import Event, RunEnded
from moot.types.faults import make_fault
from moot.types.participants import make_participants
from tests.support.debate_samples import ANALYSIS_EVENTS, debate_events, stage_started
from tests.support.run_events import (
    CONNECTION_BROKE,
    HOSTILE_TEXT,
    KEY_REJECTED,
    STRIPPED_TEXT,
    notice_event,
    round_started,
    run_started,
    text_delta,
    text_retracted,
    thought_delta,
    turn_ended,
    turn_started,
)

ESCAPES = re.compile(r"\x1b\[[0-9;?]*[a-zA-Z]")
STARTED_TURNS = (run_started("a/one", "b/two"), turn_started("alpha", "a/one"), turn_started("beta", "b/two"))


def render_terminal(*events: Event, width: int = 100, height: int = 20) -> str:
    """Return all terminal output: the last live view, then the whole answers."""
    file = StringIO()
    live = LiveColumns(Console(file=file, force_terminal=True, width=width, height=height, highlight=False))
    for event in events:
        live([event])
    live.close()
    return file.getvalue()


def render_text(*events: Event, width: int = 100, height: int = 20) -> str:
    return ESCAPES.sub("", render_terminal(*events, width=width, height=height))


def lines_with(text: str, *words: str) -> list[str]:
    return [line for line in text.splitlines() if all(word in line for word in words)]


SPEAKING_EVENTS = (*STARTED_TURNS, text_delta("alpha", "Round tables."), text_delta("beta", "Square tables."))


def test_wide_terminal_shows_columns() -> None:
    picture = render_text(*SPEAKING_EVENTS, width=100)
    assert lines_with(picture, "Alpha · a/one", "Beta · b/two")
    assert lines_with(picture, "Round tables.", "Square tables.")


def test_narrow_terminal_stacks_answers() -> None:
    picture = render_text(*SPEAKING_EVENTS, width=60)
    assert not lines_with(picture, "Alpha · a/one", "Beta · b/two")
    assert picture.index("Round tables.") < picture.index("Beta · b/two") < picture.index("Square tables.")


def test_columns_are_stacked_below_min_column_width() -> None:
    assert lines_with(render_text(*SPEAKING_EVENTS, width=72), "Alpha", "Beta")
    assert not lines_with(render_text(*SPEAKING_EVENTS, width=71), "Alpha", "Beta")


def test_panel_shows_participant_status() -> None:
    picture = render_text(*STARTED_TURNS, thought_delta("beta", "Hm."), text_delta("alpha", "Round."))
    assert lines_with(picture, "speaking", "thinking")
    assert "Hm." not in picture


def test_full_answers_are_printed_in_request_order_at_end() -> None:
    long = "\n\n".join(f"Line {number}." for number in range(200))
    picture = render_text(
        *STARTED_TURNS,
        turn_ended("beta", "Square.", model="b/two"),
        turn_ended("alpha", long),
        RunEnded(status="completed"),
    )
    places = [picture.rindex(words) for words in ("Alpha", "Line 0.", "Line 199.", "Beta", "Square.")]
    assert places == sorted(places)
    assert all(f"Line {number}." in picture for number in range(200))


def test_details_are_printed_after_answer() -> None:
    picture = render_text(*STARTED_TURNS, turn_ended("alpha", "Round.", details="Because everyone sees everyone."))
    assert picture.index("Round.") < picture.index("Because everyone sees everyone.")


def test_error_is_shown_in_panel_of_participant() -> None:
    picture = render_text(
        *STARTED_TURNS,
        turn_ended("alpha", status="failed", finish=None, error=KEY_REJECTED),
        turn_ended("beta", "Squ", model="b/two", status="partial", finish=None, error=CONNECTION_BROKE),
    )
    words = (
        "Alpha",
        KEY_REJECTED.message,
        "Beta",
        "Squ",
        f"{CONNECTION_BROKE.message} The partial answer is above.",
    )
    places = [picture.rindex(word) for word in words]
    assert places == sorted(places)
    assert lines_with(picture, "failed", "partial")


def test_stopped_run_prints_notice() -> None:
    picture = render_text(*STARTED_TURNS, turn_ended("alpha", "Rou", status="stopped", finish=None))
    assert picture.rindex("Rou") < picture.rindex("Stopped.") < picture.rindex("Beta")


def test_heading_names_model_that_answered() -> None:
    picture = render_text(
        *STARTED_TURNS,
        turn_started("alpha", "z/fallback", attempt=2),
        turn_ended("alpha", "Round.", model="z/fallback"),
    )
    assert "Alpha · z/fallback" in picture
    assert picture.rindex("Alpha · z/fallback") > picture.rfind("Alpha · a/one")


def test_notice_names_participant() -> None:
    assert "Beta: Trying again." in render_text(*STARTED_TURNS, notice_event("Trying again.", "beta"))


@pytest.mark.parametrize("width", [100, 40])
def test_control_characters_of_model_are_removed(width: int) -> None:
    written = render_terminal(
        *STARTED_TURNS,
        text_delta("alpha", HOSTILE_TEXT),
        thought_delta("beta", HOSTILE_TEXT),
        turn_ended("alpha", HOSTILE_TEXT),
        width=width,
    )
    assert "title" in written
    assert [mark for mark in ("\x1b[31mb", "\x1b]", "\x07", "\x9b", "\x08", "\x7f") if mark in written] == []


def test_many_participants_fit_small_terminal() -> None:
    models = tuple(f"m/{number}" for number in range(9))
    picture = render_text(run_started(*models), turn_ended("alpha", "First."), width=20, height=5)
    assert "Iota · m/8" in picture


def test_cursor_is_restored_after_close() -> None:
    written = render_terminal(*SPEAKING_EVENTS)
    assert written.rindex("\x1b[?25h") > written.rindex("\x1b[?25l")


def test_close_prints_nothing_when_run_never_started() -> None:
    assert render_terminal() == ""


@pytest.mark.parametrize(
    ("text", "expected"),
    [("use the <head> tag", "<head>"), ("List<String> x", "<String>"), ("<div>\nhello\n</div>", "hello")],
)
def test_markup_in_answer_is_printed_as_text(text: str, expected: str) -> None:
    assert expected in render_text(run_started("a/one", "b/two"), turn_ended("alpha", text))


def test_line_breaks_are_kept() -> None:
    assert "red Violets" not in render_text(
        run_started("a/one", "b/two"), turn_ended("alpha", "Roses are red\nViolets are blue")
    )


def test_close_prints_partial_text_of_unfinished_run() -> None:
    text = render_text(run_started("a/one", "b/two"), turn_started("alpha"), text_delta("alpha", "Rou"))
    assert "Rou" in text[text.rindex("Alpha") :]


def test_control_characters_in_errors_and_notices_are_removed() -> None:
    fault = make_fault("api_error", "x failed: \x1b]0;title\x07.")
    events = (run_started("a/one", "b/two"), notice_event("\x1b]0;t", "alpha"))
    assert "\x1b]" not in render_terminal(*events, turn_ended("alpha", status="failed", error=fault))


def follow_column(*events: Event) -> Column:
    live = LiveColumns(Console(file=StringIO()))
    live.apply_events([*STARTED_TURNS, *events])
    return live._columns["alpha"]


class TestColumns:
    def test_columns_have_different_colours(self) -> None:
        columns = columns_for(make_participants(("a/one",) * 8))
        assert [column.participant.name for column in columns.values()][:2] == ["Alpha", "Beta"]
        assert len({column.style for column in list(columns.values())[:6]}) == 6

    def test_column_state_follows_events(self) -> None:
        assert follow_column().status_text(0.0) == "waiting"
        assert follow_column(thought_delta("alpha", "Hm.")).status_text(0.0) == "thinking"
        assert follow_column(text_delta("alpha", "Rou")).status_text(0.0) == "speaking"
        assert follow_column(turn_ended("alpha", "Round.")).status_text(0.0) == "completed"

    def test_column_contains_only_text_of_its_participant(self) -> None:
        assert follow_column(text_delta("beta", "Square."), text_delta("alpha", "Round.")).text_tail(100) == "Round."

    def test_new_attempt_clears_column(self) -> None:
        column = follow_column(text_delta("alpha", "Squ"), turn_started("alpha", "z/fallback", attempt=2))
        assert column.turn is not None
        assert (column.text_tail(100), column.turn.status, column.turn.model) == ("", "waiting", "z/fallback")

    def test_retracted_text_is_removed(self) -> None:
        column = follow_column(text_delta("alpha", "Square?"), text_retracted("alpha"), text_delta("alpha", "Round."))
        assert column.text_tail(100) == "Round."

    def test_column_keeps_only_tail_of_long_answer(self) -> None:
        assert follow_column(*(text_delta("alpha", c) for c in "abcdef")).text_tail(3) == "def"

    def test_control_characters_are_removed(self) -> None:
        assert follow_column(text_delta("alpha", HOSTILE_TEXT)).text_tail(100) == STRIPPED_TEXT


def test_narrow_terminal_gives_space_to_active_participants() -> None:
    models = [f"a/{n}" for n in range(5)]
    long = "\n".join(f"line {n}" for n in range(30))
    events = [
        run_started(*models),
        *(turn_ended(who, "Done.") for who in ("alpha", "beta", "gamma", "delta")),
    ]
    text = render_text(*events, turn_started("epsilon", "a/4"), text_delta("epsilon", long), width=80, height=24)
    live = text[: text.index("line 29") + 40]
    assert "line 20" in live
    assert len(lines_with(live, "completed")) >= 4


def test_all_participants_are_named_when_they_do_not_fit() -> None:
    text = render_text(run_started(*(f"a/{n}" for n in range(12))), width=60, height=20)
    assert "Mu · a/11" in text


def test_status_text_counts_waiting_seconds() -> None:
    column = Column(make_participants(("a/one",))[0], "cyan", waiting_since=100.0)
    assert column.status_text(101.0) == "waiting"
    assert column.status_text(112.4) == "waiting for 12 s"


class TestRounds:
    """A discussion in rounds: one participant speaks, with the earlier answers above."""

    ALPHA_TURN = (
        round_started(0),
        turn_started("alpha"),
        text_delta("alpha", "Round tables."),
        turn_ended("alpha", "Round tables."),
    )
    BETA_TURN = (
        turn_started("beta", "b/two"),
        text_delta("beta", "Square tables."),
        turn_ended("beta", "Square.", model="b/two"),
    )
    SECOND_ROUND = (
        round_started(1),
        turn_started("alpha"),
        text_delta("alpha", "Still round."),
        turn_ended("alpha", "Still round."),
    )

    def test_rounds_are_printed_once_in_order(self) -> None:
        file = StringIO()
        live = LiveColumns(Console(file=file, force_terminal=True, width=100, height=20, highlight=False))
        live.apply_events([run_started("a/one", "b/two"), *self.ALPHA_TURN, *self.BETA_TURN, *self.SECOND_ROUND])
        live.close()
        assert ESCAPES.sub("", file.getvalue()) == snapshot("""\
╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌ Round 1 ╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌

────────────────────────────────────────── Alpha · a/one ───────────────────────────────────────────
Round tables.

─────────────────────────────────────────── Beta · b/two ───────────────────────────────────────────
Square.

╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌ Round 2 ╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌

────────────────────────────────────────── Alpha · a/one ───────────────────────────────────────────
Still round.

""")

    def test_live_view_shows_only_active_participant(self) -> None:
        picture = render_live_view(run_started("a/one", "b/two"), *self.ALPHA_TURN, *self.BETA_TURN[:2])
        assert "Square tables." in picture
        assert "Beta · b/two" in picture
        assert "Alpha" not in picture
        assert "Round tables." not in picture

    def test_live_view_is_empty_between_turns(self) -> None:
        assert render_live_view(run_started("a/one", "b/two"), *self.ALPHA_TURN).strip() == ""

    def test_live_view_is_cleared_before_turn_is_printed(self) -> None:
        file = StringIO()
        live = LiveColumns(Console(file=file, force_terminal=True, width=100, height=20, highlight=False))
        live([run_started("a/one", "b/two"), *self.ALPHA_TURN[:3]])
        live._live.refresh()
        assert "╰" in file.getvalue()  # the border of the live view
        live([self.ALPHA_TURN[3]])
        _, _, below = file.getvalue().rpartition("\nRound tables.")
        live.close()
        assert "╰" not in below

    def test_parallel_turns_are_printed_together(self) -> None:
        both = (round_started(0), turn_started("alpha"), turn_started("beta", "b/two"))
        events = (run_started("a/one", "b/two"), *both, turn_ended("beta", "Square.", model="b/two"))
        assert "Square." not in printed_before_close(*events)
        written = printed_before_close(*events, turn_ended("alpha", "Round."))
        assert written.index("Round.") < written.index("Square.")

    def test_failed_turn_is_printed_in_its_position(self) -> None:
        refused = turn_ended("alpha", status="failed", finish=None, error=KEY_REJECTED)
        written = printed_before_close(run_started("a/one", "b/two"), round_started(0), refused, *self.BETA_TURN)
        assert written.index(KEY_REJECTED.message) < written.index("Square.")

    def test_unfinished_turn_is_printed_at_close(self) -> None:
        written = render_text(run_started("a/one", "b/two"), *self.ALPHA_TURN, *self.BETA_TURN[:2])
        assert written.rindex("Round tables.") < written.rindex("Square tables.")
        assert written[written.rindex("Beta · b/two") :].count("Square tables.") == 1

    @pytest.mark.parametrize("width", [100, 50])
    def test_control_characters_of_model_are_removed_in_rounds(self, width: int) -> None:
        hostile = (
            round_started(0),
            turn_started("alpha"),
            text_delta("alpha", HOSTILE_TEXT),
            turn_ended("alpha", HOSTILE_TEXT),
        )
        written = render_terminal(run_started("a/one", "b/two"), *hostile, width=width)
        assert [mark for mark in ("\x1b[31mb", "\x1b]", "\x07", "\x9b") if mark in written] == []


class TestDebate:
    """All speak at once, then one speaks. The report is below."""

    def test_stages_are_printed_in_order_with_report_last(self) -> None:
        written = printed_before_close(*debate_events(*ANALYSIS_EVENTS), in_lanes=True)
        words = (
            "First answers",
            "alpha, first.",
            "gamma, first.",
            " Debate ",
            "alpha, second.",
            "gamma, second.",
            " Synthesis ",
            "alpha, together.",
            " Report ",
            "Two want to split,",
            "Cost: $0.95",
        )
        places = [written.index(word) for word in words]
        assert places == sorted(places)
        assert [written.count(word) for word in words] == [1] * len(words)

    def test_report_is_not_printed_before_run_ends(self) -> None:
        assert "Two want to split" not in printed_before_close(*debate_events(*ANALYSIS_EVENTS)[:-1], in_lanes=True)

    def test_live_view_announces_pending_report(self) -> None:
        *events, _ = debate_events(*ANALYSIS_EVENTS)
        assert "The report is being written" in render_live_view(*events, in_lanes=True)
        for others in (debate_events(*ANALYSIS_EVENTS), debate_events(*ANALYSIS_EVENTS)[:10]):
            assert "The report is being written" not in render_live_view(*others, in_lanes=True)

    def test_report_is_omitted_without_answers(self) -> None:
        refused = [turn_ended(who, status="failed", error=KEY_REJECTED) for who in ("alpha", "beta")]
        events = (
            run_started("a/one", "b/two"),
            stage_started("initial"),
            *refused,
            RunEnded(status="failed"),
        )
        written = printed_before_close(*events, in_lanes=True)
        assert written.count(KEY_REJECTED.message) == 2
        assert "Cost" not in written


def render_live_view(*events: Event, in_lanes: bool = False) -> str:
    """Return the live view after these events."""
    file = StringIO()
    console = Console(file=StringIO(), force_terminal=True, width=100, height=20, highlight=False)
    live = LiveColumns(console, in_lanes=in_lanes)
    live.apply_events(events)
    Console(file=file, width=100).print(live.render_view())
    return file.getvalue()


def printed_before_close(*events: Event, in_lanes: bool = False) -> str:
    """Return the permanent output, before the live view is closed."""
    file = StringIO()
    console = Console(file=file, force_terminal=True, width=100, height=20, highlight=False)
    live = LiveColumns(console, in_lanes=in_lanes)
    live.apply_events(events)
    return ESCAPES.sub("", file.getvalue())


class TestAdvisors:
    """All speak at once, and one may summarize. There is no report."""

    EVENTS = (
        stage_started("answer"),
        turn_started("alpha"),
        turn_started("beta"),
        turn_ended("beta", "No."),
        turn_ended("alpha", "Yes."),
        stage_started("cross_talk"),
        turn_started("alpha"),
        turn_ended("alpha", "But Beta!"),
        stage_started("synthesis"),
    )

    def test_stages_are_printed_in_order(self) -> None:
        events = (
            *self.EVENTS,
            turn_started("alpha"),
            turn_ended("alpha", "All in all."),
            RunEnded(status="completed"),
        )
        written = printed_before_close(run_started("a/one", "b/two"), *events)
        words = ("Answers", "Yes.", "No.", " To each other ", "But Beta!", " Synthesis ", "All in all.")
        places = [written.index(word) for word in words]
        assert places == sorted(places)

    def test_live_view_announces_no_report(self) -> None:
        assert "report" not in render_live_view(run_started("a/one", "b/two"), *self.EVENTS)

"""The report after a debate, and its tables."""

from io import StringIO

import pytest
from inline_snapshot import snapshot
from rich.console import Console

from moot.terminal.columns import render_debate_tables
from moot.terminal.readers import build_debate_report
from moot.transcript.debate_report import Paragraph, build_report
from moot.types.events import Event
from moot.types.faults import make_fault
from moot.types.run_state import fold_events
from tests.support.debate_samples import (
    ANALYSIS_EVENTS,
    DEBATE_CLAIMS,
    HOSTILE_SUMMARY,
    RANKING,
    RUN_STARTED,
    SUMMARY,
    debate_events,
    stage_started,
)
from tests.support.run_events import run_started, turn_ended

NAMES = {"alpha": "Alpha", "beta": "Beta", "gamma": "Gamma"}
STYLES = {"alpha": "cyan", "beta": "magenta", "gamma": "green"}


def total_text(*events: Event) -> str:
    report = build_debate_report(fold_events(events))
    assert report is not None
    (total,) = report.sections[-1]
    assert isinstance(total, Paragraph)
    return total.text


def test_report_has_summary_ranking_and_claims_of_run() -> None:
    report = build_report(NAMES, "Cost: $0.95", summary=SUMMARY, ranking=RANKING, claims=DEBATE_CLAIMS)
    assert build_debate_report(fold_events(debate_events(*ANALYSIS_EVENTS))) == report


def test_report_needs_answer() -> None:
    refused = turn_ended("alpha", status="failed", error=make_fault("auth", "Key rejected."))
    assert build_debate_report(fold_events([run_started("a/one"), stage_started("initial"), refused])) is None


def test_total_cost_includes_turns_and_analyses() -> None:
    turns = [turn_ended("alpha", "Yes.", cost=0.1), turn_ended("beta", cost=0.01)]
    assert total_text(RUN_STARTED, *turns, *ANALYSIS_EVENTS) == "Cost: $1.06"
    assert total_text(RUN_STARTED, turn_ended("alpha", cost=None), *ANALYSIS_EVENTS) == "Cost: unknown"


def draw_tables(*analyses: Event, width: int = 80, terminal: bool = False) -> str:
    run, file = fold_events(debate_events(*analyses)), StringIO()
    report = build_debate_report(run)
    assert report is not None
    tables = render_debate_tables(report, STYLES)
    Console(file=file, width=width, force_terminal=terminal, highlight=False).print(tables)
    return file.getvalue()


def test_debate_tables_at_80_columns() -> None:
    lines = [line.rstrip() for line in draw_tables(*ANALYSIS_EVENTS).splitlines()]
    assert "\n".join(lines) == snapshot("""\
╭────────────────────────────────── Summary ───────────────────────────────────╮
│ Overview     Two want to split, one does not.                                │
│ Agreed       The cost has to be measured.                                    │
│              It is slow.                                                     │
│ Disputed     Beta would not split before.                                    │
│ Convergence  Gamma was won over.                                             │
╰──────────────────────────────────────────────────────────────────────────────╯

        At first                        In the end                     Position
────────────────────────────────────────────────────────────────────────────────
Alpha   Split.                          Split, and measure.            kept
Beta                                                                   no answer
Gamma   Wait.                           Split.                         changed

Ranking
Rank 1  Gamma, 2 points in 2 votes
Rank 2  Alpha, 0.5 points in 1 vote
Rank 2  Beta, 1 point in 2 votes
Ranked by blind votes of the other participants.

Position changes
Gamma went from “Wait.” to “Split.” after an argument of Alpha: “I change my
position.”
Beta went from “Keep” to “Wait”: “Wait!”

Claims
Claim 1  The teams block each other.
         for  Alpha: “they block each other”
         for  Gamma: “every single week”
Claim 2  The cost is not known. (minority)
         for      Beta: “nobody has measured it”
         against  Alpha: “we measured it twice”
Left out: 2 quotes that are in no answer

Cost: $0.95
""")


@pytest.mark.parametrize("width", [40, 80, 120])
def test_debate_tables_fit_terminal_width_without_loss(width: int) -> None:
    text = draw_tables(*ANALYSIS_EVENTS, width=width)
    assert max(map(len, text.splitlines())) <= width
    words = " ".join(text.replace("│", " ").split())
    for fact in ("Two want to split,", "was won over.", "no answer", "changed", "(minority)", "$0.95"):
        assert fact in words


def test_control_characters_in_results_are_removed() -> None:
    text = draw_tables(HOSTILE_SUMMARY, terminal=True)
    assert "title" in text
    assert [mark for mark in ("\x1b[31mb", "\x1b]", "\x07", "\x9b", "\x08", "\x7f") if mark in text] == []


def test_missing_results_are_omitted() -> None:
    assert draw_tables().split() == ["Cost:", "$0"]

from moot.terminal.readers import build_debate_report
from moot.transcript.debate_report import Paragraph, build_report
from moot.types.events import Event
from moot.types.faults import make_fault
from moot.types.run_state import fold_events
from tests.support.debate_samples import (
    ANALYSIS_EVENTS,
    DEBATE_CLAIMS,
    RANKING,
    RUN_STARTED,
    SUMMARY,
    debate_events,
    stage_started,
)
from tests.support.run_events import run_started, turn_ended

NAMES = {"alpha": "Alpha", "beta": "Beta", "gamma": "Gamma"}


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

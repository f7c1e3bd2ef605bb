from moot.terminal.debate_report import build_debate_report, has_debate_report, is_debate
from moot.transcript.debate_report import Paragraph, build_report
from moot.types.events import Event, RunEnded
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
from tests.support.run_events import round_started, run_started, turn_ended

NAMES = {"alpha": "Alpha", "beta": "Beta", "gamma": "Gamma"}


def total_text(*events: Event) -> str:
    (total,) = build_debate_report(fold_events(events)).sections[-1]
    assert isinstance(total, Paragraph)
    return total.text


def test_report_has_summary_ranking_and_claims_of_run() -> None:
    report = build_report(NAMES, "Cost: $0.95", summary=SUMMARY, ranking=RANKING, claims=DEBATE_CLAIMS)
    assert build_debate_report(fold_events(debate_events(*ANALYSIS_EVENTS))) == report


def test_report_needs_debate_with_answer() -> None:
    assert has_debate_report(fold_events(debate_events()))
    rounds = (RUN_STARTED, round_started(0), turn_ended("alpha", "Yes."), RunEnded(status="completed"))
    assert not has_debate_report(fold_events(rounds))
    refused = turn_ended("alpha", status="failed", error=make_fault("auth", "Key rejected."))
    assert not has_debate_report(fold_events([run_started("a/one"), stage_started("initial"), refused]))


def test_run_is_debate_from_first_stage() -> None:
    assert not is_debate(fold_events([RUN_STARTED, round_started(0)]))
    assert is_debate(fold_events([RUN_STARTED, stage_started("initial")]))


def test_total_cost_includes_turns_and_analyses() -> None:
    turns = [turn_ended("alpha", "Yes.", cost=0.1), turn_ended("beta", cost=0.01)]
    assert total_text(RUN_STARTED, *turns, *ANALYSIS_EVENTS) == "Cost: $1.06"
    assert total_text(RUN_STARTED, turn_ended("alpha", cost=None), *ANALYSIS_EVENTS) == "Cost: unknown"

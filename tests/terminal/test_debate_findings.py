from msgspec.structs import replace

from moot.terminal.debate_findings import DebateResults
from moot.transcript.debate_report import Paragraph
from moot.types.events import Event, RunEnded, SummaryMade
from moot.types.faults import make_fault
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


def collect_results(*events: Event) -> DebateResults:
    found = DebateResults()
    for event in events:
        found.apply_event(event)
    return found


def total_text(results: DebateResults) -> str:
    (total,) = results.report.sections[-1]
    assert isinstance(total, Paragraph)
    return total.text


def test_debate_results_collect_summary_ranking_and_claims() -> None:
    found = collect_results(*debate_events(*ANALYSIS_EVENTS))
    assert (found.summary, found.ranking, found.claims) == (SUMMARY, RANKING, DEBATE_CLAIMS)
    assert found.names == NAMES
    assert found.has_answers


def test_later_summary_replaces_earlier_one() -> None:
    earlier, again = (
        SummaryMade(basis=words, summary=replace(SUMMARY, overview=words), cost=1.0)
        for words in ("They differ.", "They agree.")
    )
    assert collect_results(earlier, again).summary == again.summary
    assert collect_results(again, earlier).summary == earlier.summary


def test_total_cost_includes_turns_and_analyses() -> None:
    turns = [turn_ended("alpha", "Yes.", cost=0.1), turn_ended("beta", cost=0.01)]
    assert (
        total_text(collect_results(RUN_STARTED, stage_started("initial"), *turns, *ANALYSIS_EVENTS))
        == "Cost in all: $1.06"
    )


def test_total_cost_is_unknown_when_one_cost_is_unknown() -> None:
    assert (
        total_text(collect_results(*debate_events(*ANALYSIS_EVENTS), turn_ended("alpha", cost=None)))
        == "Cost in all: cost unknown"
    )


def test_has_answers_is_false_without_debate_or_answers() -> None:
    assert not collect_results(
        RUN_STARTED, round_started(0), turn_ended("alpha", "Yes."), RunEnded(status="completed")
    ).has_answers
    refused = turn_ended("alpha", status="failed", error=make_fault("auth", "Key rejected."))
    assert not collect_results(run_started("a/one"), stage_started("initial"), refused).has_answers


def test_is_debate_is_true_from_first_stage() -> None:
    assert not collect_results(RUN_STARTED, round_started(0)).is_debate
    findings = collect_results(RUN_STARTED, stage_started("initial"))
    assert (findings.is_debate, findings.has_answers) == (True, False)

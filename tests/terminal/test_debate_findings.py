from msgspec.structs import replace

from moot.terminal.debate_findings import DebateResults
from moot.types.events import Event, RunEnded, SummaryMade
from moot.types.faults import make_fault
from tests.terminal.dialogue import round_started, run_started, turn_ended
from tests.terminal.findings import (
    ANALYSIS_EVENTS,
    DEBATE_CLAIMS,
    RANKING,
    RUN_STARTED,
    SUMMARY,
    debate_events,
    stage_started,
)

NAMES = {"alpha": "Alpha", "beta": "Beta", "gamma": "Gamma"}


def collect_results(*events: Event) -> DebateResults:
    found = DebateResults()
    for event in events:
        found.apply_event(event)
    return found


def test_what_was_found_is_put_together() -> None:
    found = collect_results(*debate_events(*ANALYSIS_EVENTS))
    assert (found.summary, found.ranking, found.claims) == (SUMMARY, RANKING, DEBATE_CLAIMS)
    assert found.names == NAMES
    assert found.has_answers


def test_what_is_found_anew_takes_the_place_of_what_was() -> None:
    earlier, again = (
        SummaryMade(basis=words, summary=replace(SUMMARY, overview=words), cost=1.0)
        for words in ("They differ.", "They agree.")
    )
    assert collect_results(earlier, again).summary == again.summary
    assert collect_results(again, earlier).summary == earlier.summary


def test_the_cost_is_that_of_all_turns_and_of_all_that_was_found() -> None:
    turns = [turn_ended("alpha", "Yes.", cost=0.1), turn_ended("beta", cost=0.01)]
    assert (
        collect_results(RUN_STARTED, stage_started("initial"), *turns, *ANALYSIS_EVENTS).total_cost_text
        == "$1.06"
    )


def test_a_cost_that_is_not_known_makes_the_whole_unknown() -> None:
    assert (
        collect_results(*debate_events(*ANALYSIS_EVENTS), turn_ended("alpha", cost=None)).total_cost_text
        == "cost unknown"
    )


def test_there_is_nothing_to_tell_without_a_debate_or_without_an_answer() -> None:
    assert not collect_results(
        RUN_STARTED, round_started(0), turn_ended("alpha", "Yes."), RunEnded(status="completed")
    ).has_answers
    refused = turn_ended("alpha", status="failed", error=make_fault("auth", "Key rejected."))
    assert not collect_results(run_started("a/one"), stage_started("initial"), refused).has_answers


def test_minutes_are_awaited_from_the_first_stage_of_a_debate_on() -> None:
    assert not collect_results(RUN_STARTED, round_started(0)).is_debate
    findings = collect_results(RUN_STARTED, stage_started("initial"))
    assert (findings.is_debate, findings.has_answers) == (True, False)

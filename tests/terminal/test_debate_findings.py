from msgspec.structs import replace

from moot.terminal.debate_findings import DebateResults
from moot.types.events import Event, RunEnded, SummaryMade
from moot.types.faults import make_fault
from tests.terminal.dialogue import ends, opens, sits_down
from tests.terminal.findings import FOUND, LEDGER, RANKING, SITTING, SUMMARY, debated, opens_stage

NAMES = {"alpha": "Alpha", "beta": "Beta", "gamma": "Gamma"}


def heard(*events: Event) -> DebateResults:
    found = DebateResults()
    for event in events:
        found.apply_event(event)
    return found


def test_what_was_found_is_put_together() -> None:
    found = heard(*debated(*FOUND))
    assert (found.summary, found.ranking, found.claims) == (SUMMARY, RANKING, LEDGER)
    assert found.names == NAMES
    assert found.has_answers


def test_what_is_found_anew_takes_the_place_of_what_was() -> None:
    earlier, again = (
        SummaryMade(basis=words, summary=replace(SUMMARY, overview=words), cost=1.0)
        for words in ("They differ.", "They agree.")
    )
    assert heard(earlier, again).summary == again.summary
    assert heard(again, earlier).summary == earlier.summary


def test_the_cost_is_that_of_all_turns_and_of_all_that_was_found() -> None:
    turns = [ends("alpha", "Yes.", cost=0.1), ends("beta", cost=0.01)]
    assert heard(SITTING, opens_stage("initial"), *turns, *FOUND).total_cost_text == "$1.06"


def test_a_cost_that_is_not_known_makes_the_whole_unknown() -> None:
    assert heard(*debated(*FOUND), ends("alpha", cost=None)).total_cost_text == "cost unknown"


def test_there_is_nothing_to_tell_without_a_debate_or_without_an_answer() -> None:
    assert not heard(SITTING, opens(0), ends("alpha", "Yes."), RunEnded(status="completed")).has_answers
    refused = ends("alpha", status="failed", trouble=make_fault("auth", "Key rejected."))
    assert not heard(sits_down("a/one"), opens_stage("initial"), refused).has_answers


def test_minutes_are_awaited_from_the_first_stage_of_a_debate_on() -> None:
    assert not heard(SITTING, opens(0)).is_debate
    findings = heard(SITTING, opens_stage("initial"))
    assert (findings.is_debate, findings.has_answers) == (True, False)

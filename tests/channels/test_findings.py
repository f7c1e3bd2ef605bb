from msgspec.structs import replace

from moot.channels.findings import Findings, changed, flip_words, placed, points, unproven
from moot.model.debates import Ledger, Place, Ranking
from moot.model.events import Event, RunEnded, SummaryMade
from moot.model.faults import fault
from tests.channels.dialogue import ends, opens, sits_down
from tests.channels.findings import (
    FOUND,
    LEDGER,
    RANKING,
    SITTING,
    SUMMARY,
    debated,
    opens_stage,
    row,
)

NAMES = {"alpha": "Alpha", "beta": "Beta", "gamma": "Gamma"}


def heard(*events: Event) -> Findings:
    found = Findings()
    for event in events:
        found.hear(event)
    return found


def test_what_was_found_is_put_together() -> None:
    found = heard(*debated(*FOUND))
    assert (found.summary, found.ranking, found.ledger) == (SUMMARY, RANKING, LEDGER)
    assert found.names == NAMES
    assert found.there


def test_what_is_found_anew_takes_the_place_of_what_was() -> None:
    earlier, again = (
        SummaryMade(basis=words, summary=replace(SUMMARY, overview=words), cost=1.0)
        for words in ("They differ.", "They agree.")
    )
    assert heard(earlier, again).summary == again.summary
    assert heard(again, earlier).summary == earlier.summary


def test_the_cost_is_that_of_all_turns_and_of_all_that_was_found() -> None:
    turns = [ends("alpha", "Yes.", cost=0.1), ends("beta", cost=0.01)]
    assert heard(SITTING, opens_stage("initial"), *turns, *FOUND).cost == "$1.06"


def test_a_cost_that_is_not_known_makes_the_whole_unknown() -> None:
    assert heard(*debated(*FOUND), ends("alpha", cost=None)).cost == "cost unknown"


def test_there_is_nothing_to_tell_without_a_debate_or_without_an_answer() -> None:
    assert not heard(SITTING, opens(0), ends("alpha", "Yes."), RunEnded(status="completed")).there
    refused = ends("alpha", status="failed", trouble=fault("auth", "Key rejected."))
    assert not heard(sits_down("a/one"), opens_stage("initial"), refused).there


def test_whoever_said_nothing_has_neither_kept_nor_changed() -> None:
    rows = (row("alpha", "A.", "A."), row("beta", "A.", "B.", changed=True), row("gamma", "", ""))
    assert [changed(one) for one in rows] == ["kept", "changed", "no answer"]


def test_those_who_are_level_share_a_place() -> None:
    assert [(number, place.participant) for number, place in placed(RANKING)] == [
        (1, "gamma"),
        (2, "alpha"),
        (2, "beta"),
    ]
    last = Place(participant="delta", points=0.0, votes=2)
    more = Ranking(places=(*RANKING.places, last), ballots={})
    assert [number for number, _ in placed(more)] == [1, 2, 2, 4]


def test_one_is_not_many() -> None:
    assert points(Place(participant="alpha", points=1.0, votes=1)) == "1 point in 1 vote"
    assert points(Place(participant="alpha", points=1.5, votes=3)) == "1.5 points in 3 votes"
    assert unproven(Ledger(claims=(), flips=(), unproven=1)) == "Left out: 1 quote that is in no answer"
    assert unproven(LEDGER) == "Left out: 2 quotes that are in no answer"


def test_a_change_of_mind_names_whose_argument_it_was_if_anybody_s() -> None:
    assert [flip_words(flip, NAMES) for flip in LEDGER.flips] == [
        "Gamma: Wait -> Split, after Alpha's argument",
        "Beta: Keep -> Wait",
    ]

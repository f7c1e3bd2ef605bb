from moot.transcript.debate_report import (
    describe_dropped_quotes,
    number_ranks,
    points_text,
    position_change_text,
    position_status,
)
from moot.types.debate import DebateClaims, RankedAnswer, Ranking
from tests.support.debate_samples import DEBATE_CLAIMS, RANKING, participant_summary

NAMES = {"alpha": "Alpha", "beta": "Beta", "gamma": "Gamma"}


def test_position_status_is_no_answer_for_silent_participant() -> None:
    rows = (
        participant_summary("alpha", "A.", "A."),
        participant_summary("beta", "A.", "B.", changed=True),
        participant_summary("gamma", "", ""),
    )
    assert [position_status(one) for one in rows] == ["kept", "changed", "no answer"]


def test_number_ranks_gives_equal_scores_same_rank() -> None:
    assert [(number, place.participant) for number, place in number_ranks(RANKING)] == [
        (1, "gamma"),
        (2, "alpha"),
        (2, "beta"),
    ]
    last = RankedAnswer(participant="delta", points=0.0, votes=2)
    more = Ranking(places=(*RANKING.places, last), ballots={})
    assert [number for number, _ in number_ranks(more)] == [1, 2, 2, 4]


def test_texts_use_singular_and_plural() -> None:
    assert points_text(RankedAnswer(participant="alpha", points=1.0, votes=1)) == "1 point in 1 vote"
    assert points_text(RankedAnswer(participant="alpha", points=1.5, votes=3)) == "1.5 points in 3 votes"
    assert (
        describe_dropped_quotes(DebateClaims(claims=(), flips=(), unproven=1))
        == "Left out: 1 quote that is in no answer"
    )
    assert describe_dropped_quotes(DEBATE_CLAIMS) == "Left out: 2 quotes that are in no answer"


def test_position_change_text_names_source_of_argument() -> None:
    assert [position_change_text(flip, NAMES) for flip in DEBATE_CLAIMS.flips] == [
        "Gamma: Wait -> Split, after Alpha's argument",
        "Beta: Keep -> Wait",
    ]

"""Text for the results of a debate: positions, ranking and position changes."""

from collections.abc import Iterator, Mapping

from moot.types.debate import DebateClaims, ParticipantSummary, PositionChange, RankedAnswer, Ranking


def position_status(row: ParticipantSummary) -> str:
    if not (row.initial_summary or row.refined_summary):
        return "no answer"
    return "changed" if row.changed_position else "kept"


def number_ranks(ranking: Ranking) -> Iterator[tuple[int, RankedAnswer]]:
    """Yield ranks from 1. Answers with the same points per vote share a rank."""
    rank, previous = 0, None
    for count, place in enumerate(ranking.places, start=1):
        average = place.points / place.votes
        rank, previous = (rank, previous) if average == previous else (count, average)
        yield rank, place


def points_text(ranked_answer: RankedAnswer) -> str:
    votes = "1 vote" if ranked_answer.votes == 1 else f"{ranked_answer.votes} votes"
    return f"{ranked_answer.points:g} {'point' if ranked_answer.points == 1 else 'points'} in {votes}"


def position_change_text(change: PositionChange, names: Mapping[str, str]) -> str:
    after = f", after {names[change.because_of]}'s argument" if change.because_of else ""
    return f"{names[change.participant]}: {_strip_position(change.before)} -> {_strip_position(change.after)}{after}"


def describe_dropped_quotes(claims: DebateClaims) -> str:
    what = "1 quote that is" if claims.unproven == 1 else f"{claims.unproven} quotes that are"
    return f"Left out: {what} in no answer"


def _strip_position(position: str) -> str:
    return " ".join(position.split()).removesuffix(".")

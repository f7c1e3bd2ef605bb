"""How a debate stands, in words: who kept a position, who is ahead, and whose argument changed a mind."""

from collections.abc import Iterator, Mapping

from moot.types.debate import DebateClaims, ParticipantSummary, PositionChange, RankedAnswer, Ranking


def position_status(row: ParticipantSummary) -> str:
    """Say in a word whether somebody changed position."""
    if not (row.initial_summary or row.refined_summary):
        return "no answer"
    return "changed" if row.changed_position else "kept"


def number_ranks(ranking: Ranking) -> Iterator[tuple[int, RankedAnswer]]:
    """Number the places; those who are level share one."""
    number, level = 0, None
    for count, place in enumerate(ranking.places, start=1):
        each = place.points / place.votes
        number, level = (number, level) if each == level else (count, each)
        yield number, place


def points_text(ranked_answer: RankedAnswer) -> str:
    votes = "1 vote" if ranked_answer.votes == 1 else f"{ranked_answer.votes} votes"
    return f"{ranked_answer.points:g} {'point' if ranked_answer.points == 1 else 'points'} in {votes}"


def position_change_text(change: PositionChange, names: Mapping[str, str]) -> str:
    """Say who went from what to what, and whose argument did it."""
    after = f", after {names[change.because_of]}'s argument" if change.because_of else ""
    return f"{names[change.participant]}: {_strip_position(change.before)} -> {_strip_position(change.after)}{after}"


def describe_dropped_quotes(claims: DebateClaims) -> str:
    """Say how many quotes were dropped."""
    what = "1 quote that is" if claims.unproven == 1 else f"{claims.unproven} quotes that are"
    return f"Left out: {what} in no answer"


def _strip_position(position: str) -> str:
    return " ".join(position.split()).removesuffix(".")

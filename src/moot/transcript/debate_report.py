"""How a debate stands, in words: who kept a position, who is ahead, and whose argument changed a mind."""

from collections.abc import Iterator, Mapping

from moot.types.debate import Flip, Ledger, PerModel, Place, Ranking


def changed(row: PerModel) -> str:
    """Say in a word whether somebody changed position."""
    if not (row.initial_summary or row.refined_summary):
        return "no answer"
    return "changed" if row.changed_position else "kept"


def placed(ranking: Ranking) -> Iterator[tuple[int, Place]]:
    """Number the places; those who are level share one."""
    number, level = 0, None
    for count, place in enumerate(ranking.places, start=1):
        each = place.points / place.votes
        number, level = (number, level) if each == level else (count, each)
        yield number, place


def points(place: Place) -> str:
    votes = "1 vote" if place.votes == 1 else f"{place.votes} votes"
    return f"{place.points:g} {'point' if place.points == 1 else 'points'} in {votes}"


def flip_words(flip: Flip, names: Mapping[str, str]) -> str:
    """Say who went from what to what, and whose argument did it."""
    after = f", after {names[flip.because_of]}'s argument" if flip.because_of else ""
    return f"{names[flip.participant]}: {_bare(flip.before)} -> {_bare(flip.after)}{after}"


def unproven(ledger: Ledger) -> str:
    """Say how many quotes were dropped."""
    what = "1 quote that is" if ledger.unproven == 1 else f"{ledger.unproven} quotes that are"
    return f"Left out: {what} in no answer"


def _bare(position: str) -> str:
    return " ".join(position.split()).removesuffix(".")

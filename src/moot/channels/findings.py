"""What was found out in a debate, put together from the events of its run."""

from collections.abc import Iterator, Mapping

from moot.channels.usage import cost_words, paid
from moot.model.debates import Flip, Ledger, PerModel, Place, Ranking, Summary
from moot.model.events import (
    ANSWERED,
    Event,
    Finding,
    LedgerMade,
    RankingMade,
    RunStarted,
    StageStarted,
    SummaryMade,
    TurnEnded,
)
from moot.model.money import Charge


class Findings:
    """Follows a run. What was found anew stands in the place of what was found before."""

    def __init__(self) -> None:
        self.names: Mapping[str, str] = {}
        self.summary: Summary | None = None
        self.ranking: Ranking | None = None
        self.ledger: Ledger | None = None
        self._debated = False
        self._turns: list[TurnEnded] = []
        self._paid: list[Finding | Charge] = []

    def hear(self, event: Event) -> None:
        match event:
            case RunStarted(participants=participants):
                self.names = {who.id: who.name for who in participants}
            case StageStarted(stage="initial"):
                self._debated = True
            case SummaryMade(summary=summary):
                self.summary = summary
            case RankingMade(ranking=ranking):
                self.ranking = ranking
            case LedgerMade(ledger=ledger):
                self.ledger = ledger
            case TurnEnded():
                self._turns.append(event)
        if (call := paid(event)) is not None:
            self._paid.append(call)

    @property
    def awaited(self) -> bool:
        """Whether this is a debate, of which minutes are made."""
        return self._debated

    @property
    def there(self) -> bool:
        """Whether there was a debate in which anybody answered."""
        return self._debated and any(turn.status in ANSWERED for turn in self._turns)

    @property
    def cost(self) -> str:
        """What all of it cost: answers, synthesis and minutes."""
        return cost_words([*self._turns, *self._paid])


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

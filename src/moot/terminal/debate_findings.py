"""What was found out in a debate, put together from the events of its run."""

from collections.abc import Mapping

from moot.terminal.usage import cost_words, paid
from moot.types.billing import Charge
from moot.types.debate import Ledger, Ranking, Summary
from moot.types.events import (
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

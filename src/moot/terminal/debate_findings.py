"""Debate results, collected from the events of a run."""

from collections.abc import Mapping

from moot.terminal.usage import call_outside_turns, cost_text
from moot.transcript.debate_report import NO_CLAIMS, Report, build_report
from moot.types.billing import Charge
from moot.types.debate import DebateSummary, Ranking
from moot.types.events import (
    ANSWERED_STATUSES,
    AnalysisResult,
    Event,
    LedgerMade,
    RankingMade,
    RunStarted,
    StageStarted,
    SummaryMade,
    TurnEnded,
)


class DebateResults:
    """Collector of results. A later result of the same type replaces an earlier one."""

    def __init__(self) -> None:
        self.names: Mapping[str, str] = {}
        self.summary: DebateSummary | None = None
        self.ranking: Ranking | None = None
        self.claims = NO_CLAIMS
        self._is_debate = False
        self._turns: list[TurnEnded] = []
        self._extra_calls: list[AnalysisResult | Charge] = []

    def apply_event(self, event: Event) -> None:
        match event:
            case RunStarted(participants=participants):
                self.names = {who.id: who.name for who in participants}
            case StageStarted(stage="initial"):
                self._is_debate = True
            case SummaryMade(summary=summary):
                self.summary = summary
            case RankingMade(ranking=ranking):
                self.ranking = ranking
            case LedgerMade(ledger=ledger):
                self.claims = ledger
            case TurnEnded():
                self._turns.append(event)
        if (call := call_outside_turns(event)) is not None:
            self._extra_calls.append(call)

    @property
    def is_debate(self) -> bool:
        return self._is_debate

    @property
    def has_answers(self) -> bool:
        """False before the first answer, and outside a debate."""
        return self._is_debate and any(turn.status in ANSWERED_STATUSES for turn in self._turns)

    @property
    def report(self) -> Report:
        """The cost is that of all calls: answers, synthesis and analyses."""
        total = f"Cost in all: {cost_text([*self._turns, *self._extra_calls])}"
        return build_report(self.names, total, summary=self.summary, ranking=self.ranking, claims=self.claims)

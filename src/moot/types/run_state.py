"""The state of a run, reduced from its events: the Python twin of `web/src/state/run.ts`.

`tests/web/test_run_state.py` feeds the same logs to both. This one keeps what Python code reads. Only the page
merges stored messages into a run, so only the page knows versions of an answer.

The state is mutable, and text is a list of parts that a reader joins when it needs it. So a token costs 0.9 µs, however
long its answer is. Frozen values copy the run, its turns and the text for each token: 1.6 µs in a short answer, 3.3 µs
on average in one of 100,000 characters. Each reader has its own state.

A reader that only passes text on keeps no state: `SingleReader`, `LessonReader`, the stateless endpoint, Discord. Their
output depends on the order of events, and a state would store each text a second time.
"""

from collections.abc import Iterable, Iterator
from itertools import chain
from typing import Literal

from msgspec import Struct, field

from moot.types.billing import Charge, sum_costs
from moot.types.chunks import Usage
from moot.types.debate import DebateClaims, DebateSummary, Ranking
from moot.types.events import (
    ANALYSIS_RESULTS,
    ActionTaken,
    AgreementChecked,
    AnalysisResult,
    ClaimsExtracted,
    Event,
    Notice,
    RankingMade,
    RunEnded,
    RunStarted,
    RunStatus,
    StageStarted,
    SummaryMade,
    TextDelta,
    TextRetracted,
    ThoughtDelta,
    ToolCalled,
    ToolReturned,
    TurnEnded,
    TurnKey,
    TurnStarted,
    TurnStatus,
)
from moot.types.faults import Fault
from moot.types.participants import Participant

PaidCall = TurnEnded | AnalysisResult | Charge


class ToolCallState(Struct):
    call: ToolCalled
    text_offset: int  # length of the turn's text when the model made the call
    result: ToolReturned | None = None


class TurnState(Struct):
    """One turn. A new attempt starts with an empty one."""

    key: TurnKey
    model: str = ""
    attempt: int = 0  # 0: no request to a model has started
    status: Literal["waiting", "thinking", "speaking"] | TurnStatus = "waiting"
    parts: list[str | ActionTaken] = field(default_factory=list)  # of a live turn; after its end, only the actions
    thought_parts: list[str] = field(default_factory=list)
    calls: dict[str, ToolCallState] = field(default_factory=dict)  # by call id
    end: TurnEnded | None = None  # None while the turn is live

    @property
    def text(self) -> str:
        return self.end.message.text if self.end else "".join(part for part in self.parts if isinstance(part, str))

    @property
    def thoughts(self) -> str:
        return self.end.message.thoughts if self.end else "".join(self.thought_parts)

    @property
    def actions(self) -> Iterator[ActionTaken]:
        return (part for part in self.parts if isinstance(part, ActionTaken))


class RunState(Struct):
    status: RunStatus | None = None  # None until the run ends, and again while failed participants are retried
    participants: tuple[Participant, ...] = ()
    stages: list[StageStarted] = field(default_factory=list)
    turns: dict[TurnKey, TurnState] = field(default_factory=dict)  # in the order of their first events
    ended_turns: list[TurnEnded] = field(default_factory=list)  # in order; a retried turn has two
    notices: list[Notice] = field(default_factory=list)
    analyses: list[AnalysisResult | Charge] = field(default_factory=list)  # in order; a failed one is only a charge
    agreement: AgreementChecked | None = None
    summary: DebateSummary | None = None  # the newest, like the next two
    claims: DebateClaims | None = None
    ranking: Ranking | None = None

    def apply(self, event: Event) -> None:
        """Apply the next event of the run. Unlike the page, expects each event once."""
        match event:
            case TextDelta(text=text):  # first, because most events are text
                turn = self._turn(event.turn_key)
                turn.parts.append(text)
                turn.status = "speaking"
            case ThoughtDelta(text=text):
                turn = self._turn(event.turn_key)
                turn.thought_parts.append(text)
                turn.status = "thinking"
            case TurnStarted():
                self.turns[event.turn_key] = TurnState(event.turn_key, event.model, event.attempt)
            case TextRetracted():
                self._turn(event.turn_key).parts.clear()
            case ActionTaken():
                self._turn(event.turn_key).parts.append(event)
            case ToolCalled():
                turn = self._turn(event.turn_key)
                turn.calls[event.call_id] = ToolCallState(event, len(turn.text))
            case ToolReturned(call_id=id):
                if (call := self._turn(event.turn_key).calls.get(id)) is not None:
                    call.result = event
            case TurnEnded():
                self._end_turn(event)
            case _:
                self._apply_run_event(event)

    def _apply_run_event(self, event: Event) -> None:
        match event:
            case RunStarted():
                self.status, self.participants = None, event.participants
            case StageStarted():
                self.stages.append(event)
            case Notice():
                self.notices.append(event)
                self.analyses += [event.charge] if event.charge else []
                self.status = None if event.kind == "retried" else self.status
            case RunEnded():
                self.status = event.status
            case AgreementChecked():
                self.agreement = event
            case SummaryMade():
                self.summary = event.summary
            case ClaimsExtracted():
                self.claims = event.claims
            case RankingMade():
                self.ranking = event.ranking
        if isinstance(event, ANALYSIS_RESULTS):
            self.analyses.append(event)

    def _turn(self, key: TurnKey) -> TurnState:
        if (turn := self.turns.get(key)) is None:
            turn = self.turns[key] = TurnState(key)
        return turn

    def _end_turn(self, event: TurnEnded) -> None:
        turn = self._turn(event.turn_key)
        turn.model, turn.status, turn.end = event.model, event.status, event
        turn.parts[:] = () if event.status == "failed" else turn.actions
        turn.thought_parts.clear()
        self.ended_turns.append(event)

    @property
    def names(self) -> dict[str, str]:
        """Names of the participants by id, in order."""
        return {participant.id: participant.name for participant in self.participants}

    @property
    def live_turns(self) -> list[TurnState]:
        return [turn for turn in self.turns.values() if turn.end is None]

    @property
    def actions(self) -> list[ActionTaken]:
        """Actions in order. A turn that restarts, is retracted or fails loses its actions."""
        return sorted(chain.from_iterable(turn.actions for turn in self.turns.values()), key=lambda one: one.seq)

    @property
    def fault(self) -> Fault | None:
        """The newest fault of a turn."""
        return next((turn.fault for turn in reversed(self.ended_turns) if turn.fault), None)

    @property
    def paid_calls(self) -> list[PaidCall]:
        return [*self.ended_turns, *self.analyses]

    @property
    def usage(self) -> Usage:
        return sum((call.usage for call in self.paid_calls), Usage())

    @property
    def cost_usd(self) -> float | None:
        """None if a price is unknown."""
        return sum_costs(call.cost_usd for call in self.paid_calls)


def fold_events(events: Iterable[Event]) -> RunState:
    state = RunState()
    for event in events:
        state.apply(event)
    return state

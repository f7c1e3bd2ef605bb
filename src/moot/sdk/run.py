"""The handle of a run in the SDK, and its result."""

from collections.abc import AsyncGenerator, Callable, Generator, Sequence
from contextlib import aclosing
from typing import Any

from msgspec import Struct

from moot.streaming.cancellation import StopSignal
from moot.types.billing import sum_costs
from moot.types.chunks import Usage
from moot.types.debate import DebateClaims, DebateSummary, Ranking
from moot.types.errors import ProviderError, UsageError
from moot.types.events import (
    ANALYSIS_RESULTS,
    ANSWERED_STATUSES,
    Event,
    LedgerMade,
    Notice,
    RankingMade,
    RunEnded,
    RunStarted,
    RunStatus,
    SummaryMade,
    TurnEnded,
)
from moot.types.streams import BatchStream


class Result(Struct, frozen=True, kw_only=True):
    """Result of a run, also of one that was stopped."""

    status: RunStatus
    names: dict[str, str]  # by participant id, in order
    turns: tuple[TurnEnded, ...]  # in the order of their ends
    summary: DebateSummary | None  # only in a debate, like the next two
    claims: DebateClaims | None
    ranking: Ranking | None
    notices: tuple[str, ...]
    usage: Usage
    cost: float | None  # US dollars; None if a price is unknown

    @property
    def answers(self) -> dict[str, str]:
        """The last answer of each participant by name, also if it was stopped. Failed participants are missing."""
        turns = [turn for turn in self.turns if _has_text(turn) and turn.stage != "synthesis"]
        last = {turn.participant: turn.message.text for turn in turns}
        return {name: last[id] for id, name in self.names.items() if id in last}

    @property
    def synthesis(self) -> str | None:
        turns = [turn for turn in self.turns if _has_text(turn) and turn.stage == "synthesis"]
        return turns[-1].message.text if turns else None

    @property
    def text(self) -> str:
        """The synthesis, or the only answer, or all answers with names."""
        if self.synthesis is not None:
            return self.synthesis
        if len(self.answers) == 1:
            return next(iter(self.answers.values()))
        return "\n\n".join(f"{name}:\n{answer}" for name, answer in self.answers.items())


def _has_text(turn: TurnEnded) -> bool:
    return turn.status in ANSWERED_STATUSES or (turn.status == "stopped" and turn.message.text != "")


def build_result(events: Sequence[Event], run_ended: RunEnded) -> Result:
    turns = tuple(one for one in events if isinstance(one, TurnEnded))
    notices = [one for one in events if isinstance(one, Notice)]
    charges = [one.charge for one in notices if one.charge is not None]
    calls = [*turns, *(one for one in events if isinstance(one, ANALYSIS_RESULTS)), *charges]
    participants = [who for one in events if isinstance(one, RunStarted) for who in one.participants]
    return Result(
        status=run_ended.status,
        names={who.id: who.name for who in participants},
        turns=turns,
        summary=next((one.summary for one in events if isinstance(one, SummaryMade)), None),
        claims=next((one.ledger for one in events if isinstance(one, LedgerMade)), None),
        ranking=next((one.ranking for one in events if isinstance(one, RankingMade)), None),
        notices=tuple(one.message for one in notices),
        usage=sum((one.usage for one in calls), Usage()),
        cost=sum_costs(one.cost for one in calls),
    )


class RunHandle:
    """Handle of a run, which starts when it is read: `async for` yields events, `await` returns the result."""

    def __init__(self, stream: Callable[[StopSignal], BatchStream[Event]]) -> None:
        self._stream = stream
        self._stop = StopSignal()
        self._started = False
        self._events: list[Event] = []

    def stop(self) -> None:
        """Stop all participants. Partial answers stay in the result."""
        self._stop.request_stop()

    async def __aiter__(self) -> AsyncGenerator[Event, None]:
        if self._started:
            raise UsageError("This run was read already. Call `ask` again.")
        self._started = True
        async with aclosing(self._stream(self._stop)) as batches:
            async for batch in batches:
                self._events += batch
                for event in batch:
                    yield event

    def __await__(self) -> Generator[Any, None, Result]:
        return self._wait_for_result().__await__()

    async def _wait_for_result(self) -> Result:
        """Raises ProviderError with the last fault if the run failed."""
        if not self._started:
            async for _ in self:
                pass
        result = self.result
        faults = [turn.fault for turn in result.turns if turn.fault is not None]
        if result.status == "failed" and faults:
            raise ProviderError(faults[-1])
        return result

    @property
    def result(self) -> Result:
        """Raises UsageError before the run has ended."""
        ended = next((one for one in reversed(self._events) if isinstance(one, RunEnded)), None)
        if ended is None:
            raise UsageError("This run has not ended. Read all of its events, or await it.")
        return build_result(self._events, ended)

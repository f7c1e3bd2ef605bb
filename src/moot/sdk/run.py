"""The handle of a run in the SDK, and its result."""

from collections.abc import AsyncGenerator, Callable, Generator
from contextlib import aclosing
from typing import Any

from msgspec import Struct

from moot.streaming.cancellation import StopSignal
from moot.types.chunks import Usage
from moot.types.debate import DebateClaims, DebateSummary, Ranking
from moot.types.errors import ProviderError, UsageError
from moot.types.events import ANSWERED_STATUSES, Event, RunStatus, TurnEnded
from moot.types.run_state import RunState
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
    cost_usd: float | None  # US dollars; None if a price is unknown

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


def build_result(run: RunState) -> Result:
    """Raises UsageError before the run has ended."""
    if run.status is None:
        raise UsageError("This run has not ended. Read all of its events, or await it.")
    return Result(
        status=run.status,
        names=run.names,
        turns=tuple(run.ended_turns),
        summary=run.summary,
        claims=run.claims,
        ranking=run.ranking,
        notices=tuple(one.message for one in run.notices),
        usage=run.usage,
        cost_usd=run.cost_usd,
    )


class RunHandle:
    """Handle of a run, which starts when it is read: `async for` yields events, `await` returns the result."""

    def __init__(self, stream: Callable[[StopSignal], BatchStream[Event]]) -> None:
        self._stream = stream
        self._stop = StopSignal()
        self._started = False
        self._run = RunState()

    def stop(self) -> None:
        """Stop all participants. Partial answers stay in the result."""
        self._stop.request_stop()

    async def __aiter__(self) -> AsyncGenerator[Event, None]:
        if self._started:
            raise UsageError("This run was read already. Call `ask` again.")
        self._started = True
        async with aclosing(self._stream(self._stop)) as batches:
            async for batch in batches:
                for event in batch:
                    self._run.apply(event)
                for event in batch:
                    yield event

    def __await__(self) -> Generator[Any, None, Result]:
        return self._wait_for_result().__await__()

    async def _wait_for_result(self) -> Result:
        """Raises ProviderError with the last fault if the run failed."""
        if not self._started:
            async for _ in self:
                pass
        if self._run.status == "failed" and self._run.fault:
            raise ProviderError(self._run.fault)
        return self.result

    @property
    def result(self) -> Result:
        """Raises UsageError before the run has ended."""
        return build_result(self._run)

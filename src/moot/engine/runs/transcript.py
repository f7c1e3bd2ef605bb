"""What was said, as one execution of a run sees it: read once when the run is taken up, then kept in step."""

from collections.abc import Awaitable, Callable, Iterable, Sequence

from msgspec.structs import replace

from moot.engine import telemetry
from moot.engine.events.writer import RunJournal
from moot.engine.runs import recovery
from moot.engine.runs.recovery import Remains
from moot.engine.turns.outcomes import charge_of
from moot.engine.waits import patiently
from moot.store.runs.runs import Claim
from moot.types.billing import Charge
from moot.types.debate import Lane
from moot.types.discussions import Message
from moot.types.events import (
    ANSWERED,
    FINDINGS,
    Event,
    Reason,
    Seat,
    StageStarted,
    TextDelta,
    TurnEnded,
    TurnStarted,
)

Log = Callable[[], Awaitable[Iterable[Event]]]


class Record:
    """A transcript in the database. `told` are the events of executions before this one; `log` reads all until now.

    `spent` is what the run had cost before.
    """

    def __init__(
        self,
        journal: RunJournal,
        claim: Claim,
        said: Sequence[Message],
        told: Sequence[Event],
        log: Log,
        spent: float = 0.0,
    ) -> None:
        self.said = list(said)
        self.found = [event for event in told if isinstance(event, FINDINGS)]
        self.spent = spent
        self._journal = journal
        self._claim = claim
        self._opened = {(event.stage, event.round) for event in told if isinstance(event, StageStarted)}
        self._left = recovery.unfinished(told)  # cut off by a crash, and readers have seen something of it
        self._log = log
        self._begun: set[Seat] = set()  # turns of this execution that have not ended

    def is_open(self, seat: Seat) -> bool:
        return seat in self._left or seat in self._begun

    async def append(self, events: list[Event]) -> None:
        fresh = [event for event in events if type(event) is TextDelta or self._is_new(event)]
        if fresh:
            await self._journal.append(fresh)

    async def keep(
        self,
        event: Event,
        message: Message | None = None,
        *,
        lanes: Sequence[Lane] = (),
        charges: Sequence[Charge] = (),
    ) -> int:
        self.spent += sum(charge.cost or 0.0 for charge in charges)
        if isinstance(event, TurnEnded) and message is not None:
            if (left := self._left.pop(event.seat, None)) is not None:  # it ended before it began anew
                event, message = self._as_it_was_seen(event, message, left)
                charges = [charge_of(event)]
            return await self._keep(event, message, lanes, charges)
        number = await self._journal.keep(event, message, lanes, charges)
        if message is not None:
            self.said.append(replace(message, number=number))
        if isinstance(event, FINDINGS):
            self.found.append(event)
        return number

    def _as_it_was_seen(self, ended: TurnEnded, message: Message, left: Remains) -> tuple[TurnEnded, Message]:
        """End a turn that a crash cut off, and that did not begin anew, with the words that readers have seen."""
        seen = left.ended(None)
        status = seen.status if ended.status == "failed" else ended.status
        ended = replace(seen, status=status, fault=ended.fault)
        asked = {name: getattr(message, name) for name in ("view", "upto", "instruction")}
        return ended, replace(recovery.message(self._claim, ended), **asked)

    def forget(self, participant: str) -> None:
        here = [m for m in self.said if m.run == self._claim.run]
        mine = [m for m in here if m.participant == participant]
        told = [m for m in here if m.hidden and (m.thread == participant or m.audience == (participant,))]
        answered = {(m.stage, m.round) for m in mine if m.status in ANSWERED}
        gone = [m for m in mine if m.status not in ANSWERED]
        gone += [m for m in told if (m.stage, m.round) not in answered]
        self.said[:] = [m for m in self.said if m not in gone]

    async def close(self, reason: Reason | None) -> None:
        """End the turns that will not be spoken anew, or that a mistake of ours cut off."""
        if self._begun:
            self._left = recovery.unfinished(await patiently(self._log))
        for left in tuple(self._left.values()):
            ended = left.ended(reason)
            message = recovery.message(self._claim, ended)
            await self._keep(ended, message, recovery.lanes(ended), [charge_of(ended)])
        self._left.clear()
        self._begun.clear()

    async def _keep(
        self, ended: TurnEnded, message: Message, lanes: Sequence[Lane], charges: Sequence[Charge]
    ) -> int:
        number = await self._journal.keep(ended, message, lanes, charges)
        self._begun.discard(ended.seat)
        self.said.append(replace(message, number=number))
        telemetry.count_turn(ended)
        telemetry.turn(self._claim.run, ended)
        return number

    def _is_new(self, event: Event) -> bool:
        """Tell whether an event is to be told, and not of a stage that was announced before a crash."""
        if isinstance(event, TurnStarted):  # it is spoken anew, and what was seen of it is void
            if (left := self._left.pop(event.seat, None)) is not None:  # and it was paid
                self._journal.pay([charge_of(left.ended(None))])
            self._begun.add(event.seat)
        if not isinstance(event, StageStarted):
            return True
        key = (event.stage, event.round)
        known = key in self._opened
        self._opened.add(key)
        return not known

"""What was said, as one execution of a run sees it: read once when the run is taken up, then kept in step."""

from collections.abc import Awaitable, Callable, Iterable, Sequence

from msgspec.structs import replace

from moot.engine import telemetry
from moot.engine.events.writer import RunEventBuffer
from moot.engine.runs import recovery
from moot.engine.runs.recovery import InterruptedTurn
from moot.engine.turns.outcomes import turn_charge
from moot.engine.waits import retry_while_unavailable
from moot.store.runs.runs import RunLease
from moot.types.billing import Charge
from moot.types.debate import Lane
from moot.types.discussions import Message
from moot.types.events import (
    ANALYSIS_RESULTS,
    ANSWERED_STATUSES,
    Event,
    StageStarted,
    StopReason,
    TextDelta,
    TurnEnded,
    TurnKey,
    TurnStarted,
)

LoadEvents = Callable[[], Awaitable[Iterable[Event]]]


class StoredTranscript:
    """A transcript in the database. `told` are the events of executions before this one; `log` reads all until now.

    `spent` is what the run had cost before.
    """

    def __init__(
        self,
        event_buffer: RunEventBuffer,
        lease: RunLease,
        messages: Sequence[Message],
        earlier_events: Sequence[Event],
        load_events: LoadEvents,
        spent_usd: float = 0.0,
    ) -> None:
        self.messages = list(messages)
        self.analysis_results = [event for event in earlier_events if isinstance(event, ANALYSIS_RESULTS)]
        self.spent_usd = spent_usd
        self._event_buffer = event_buffer
        self._lease = lease
        self._started_stages = {
            (event.stage, event.round) for event in earlier_events if isinstance(event, StageStarted)
        }
        self._interrupted_turns = recovery.find_interrupted_turns(
            earlier_events
        )  # cut off by a crash, and readers have seen something of it
        self._load_events = load_events
        self._open_turns: set[TurnKey] = set()  # turns of this execution that have not ended

    def has_open_turn(self, turn_key: TurnKey) -> bool:
        return turn_key in self._interrupted_turns or turn_key in self._open_turns

    async def append_events(self, events: list[Event]) -> None:
        fresh = [event for event in events if type(event) is TextDelta or self._is_new(event)]
        if fresh:
            await self._event_buffer.append_events(fresh)

    async def commit_event(
        self,
        event: Event,
        message: Message | None = None,
        *,
        lanes: Sequence[Lane] = (),
        charges: Sequence[Charge] = (),
    ) -> int:
        self.spent_usd += sum(charge.cost or 0.0 for charge in charges)
        if isinstance(event, TurnEnded) and message is not None:
            if (
                left := self._interrupted_turns.pop(event.turn_key, None)
            ) is not None:  # it ended before it began anew
                event, message = self._end_interrupted_turn(event, message, left)
                charges = [turn_charge(event)]
            return await self._commit_turn(event, message, lanes, charges)
        number = await self._event_buffer.commit(event, message, lanes, charges)
        if message is not None:
            self.messages.append(replace(message, number=number))
        if isinstance(event, ANALYSIS_RESULTS):
            self.analysis_results.append(event)
        return number

    def _end_interrupted_turn(
        self, turn_end: TurnEnded, message: Message, interrupted: InterruptedTurn
    ) -> tuple[TurnEnded, Message]:
        """End a turn that a crash cut off, and that did not begin anew, with the words that readers have seen."""
        seen = interrupted.turn_end_event(None)
        status = seen.status if turn_end.status == "failed" else turn_end.status
        turn_end = replace(seen, status=status, fault=turn_end.fault)
        asked = {name: getattr(message, name) for name in ("view", "upto", "instruction")}
        return turn_end, replace(recovery.interrupted_message(self._lease, turn_end), **asked)

    def discard_failed_turns(self, participant: str) -> None:
        here = [m for m in self.messages if m.run == self._lease.run]
        mine = [m for m in here if m.participant == participant]
        told = [m for m in here if m.hidden and (m.thread == participant or m.audience == (participant,))]
        answered = {(m.stage, m.round) for m in mine if m.status in ANSWERED_STATUSES}
        gone = [m for m in mine if m.status not in ANSWERED_STATUSES]
        gone += [m for m in told if (m.stage, m.round) not in answered]
        self.messages[:] = [m for m in self.messages if m not in gone]

    async def end_open_turns(self, reason: StopReason | None) -> None:
        """End the turns that will not be spoken anew, or that a mistake of ours cut off."""
        if self._open_turns:
            self._interrupted_turns = recovery.find_interrupted_turns(
                await retry_while_unavailable(self._load_events)
            )
        for left in tuple(self._interrupted_turns.values()):
            ended = left.turn_end_event(reason)
            message = recovery.interrupted_message(self._lease, ended)
            await self._commit_turn(ended, message, recovery.interrupted_lanes(ended), [turn_charge(ended)])
        self._interrupted_turns.clear()
        self._open_turns.clear()

    async def _commit_turn(
        self, turn_end: TurnEnded, message: Message, lanes: Sequence[Lane], charges: Sequence[Charge]
    ) -> int:
        number = await self._event_buffer.commit(turn_end, message, lanes, charges)
        self._open_turns.discard(turn_end.turn_key)
        self.messages.append(replace(message, number=number))
        telemetry.count_turn(turn_end)
        telemetry.record_turn_span(self._lease.run, turn_end)
        return number

    def _is_new(self, event: Event) -> bool:
        """Tell whether an event is to be told, and not of a stage that was announced before a crash."""
        if isinstance(event, TurnStarted):  # it is spoken anew, and what was seen of it is void
            if (left := self._interrupted_turns.pop(event.turn_key, None)) is not None:  # and it was paid
                self._event_buffer.add_charges([turn_charge(left.turn_end_event(None))])
            self._open_turns.add(event.turn_key)
        if not isinstance(event, StageStarted):
            return True
        key = (event.stage, event.round)
        known = key in self._started_stages
        self._started_stages.add(key)
        return not known

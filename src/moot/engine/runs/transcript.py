"""Stored transcript of a run: loaded from the database once per execution, then updated with each commit."""

from collections.abc import Awaitable, Callable, Iterable, Sequence

from msgspec.structs import replace

from moot.engine import telemetry
from moot.engine.events.writer import RunEventBuffer
from moot.engine.runs.interrupted_turns import find_interrupted_turns, interrupted_lanes, interrupted_message
from moot.engine.turns.outcomes import turn_charge
from moot.store.runs.runs import RunLease
from moot.types.billing import Charge
from moot.types.debate import Lane
from moot.types.discussions import Message
from moot.types.events import (
    ANALYSIS_RESULTS,
    ANSWERED_STATUSES,
    STATUS_BY_STOP_REASON,
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
    """A `RunTranscript` in the database.

    `earlier_events` are those of executions before this one, and `spent_usd` is their cost. `load_events` reads all
    events until now. After a crash, the transcript ends or retries interrupted turns, so that each has one end event.
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
        # Turns that a crash cut off after clients had received events of them.
        self._interrupted_turns = find_interrupted_turns(earlier_events)
        self._load_events = load_events
        self._open_turns: set[TurnKey] = set()  # started in this execution and not ended

    def has_open_turn(self, turn_key: TurnKey) -> bool:
        return turn_key in self._interrupted_turns or turn_key in self._open_turns

    async def append_events(self, events: list[Event]) -> None:
        fresh = [event for event in events if type(event) is TextDelta or self._register_event(event)]
        if fresh:
            await self._event_buffer.append_events(fresh)

    async def commit_event(
        self, event: Event, message: Message | None = None, *, lanes: Sequence[Lane] = (), charge: Charge | None = None
    ) -> int:
        self.spent_usd += (charge.cost_usd or 0.0) if charge else 0.0
        if isinstance(event, TurnEnded) and message is not None and event.turn_key in self._interrupted_turns:
            # The turn ended before its retry started, for example because a key is missing now.
            event, message = self._end_interrupted_turn(event, message)
            charge = turn_charge(event)
        return await self._commit(event, message, lanes, charge)

    def _end_interrupted_turn(self, turn_end: TurnEnded, message: Message) -> tuple[TurnEnded, Message]:
        """End the turn with the text that clients received before the crash."""
        interrupted = self._interrupted_turns.pop(turn_end.turn_key)
        status = interrupted.status if turn_end.status == "failed" else turn_end.status
        turn_end = replace(interrupted, status=status, fault=turn_end.fault)
        prompt_fields = {name: getattr(message, name) for name in ("view", "visible_until", "instructions")}
        return turn_end, replace(interrupted_message(self._lease, turn_end), **prompt_fields)

    def discard_failed_turns(self, participant: str) -> None:
        messages = [m for m in self.messages if m.run == self._lease.run]
        turns = [m for m in messages if m.participant == participant]
        instructions = [m for m in messages if m.hidden and (m.thread == participant or m.visible_to == (participant,))]
        answered = {(m.stage, m.round) for m in turns if m.status in ANSWERED_STATUSES}
        discarded = [m for m in turns if m.status not in ANSWERED_STATUSES]
        discarded += [m for m in instructions if (m.stage, m.round) not in answered]
        self.messages[:] = [m for m in self.messages if m not in discarded]

    async def end_open_turns(self, reason: StopReason | None) -> None:
        """Commit an end for turns that are not retried, or that an internal error cut off."""
        if self._open_turns:
            self._interrupted_turns = find_interrupted_turns(await self._load_events())
        for interrupted in tuple(self._interrupted_turns.values()):
            turn_end = replace(interrupted, status=STATUS_BY_STOP_REASON[reason]) if reason else interrupted
            message = interrupted_message(self._lease, turn_end)
            await self._commit(turn_end, message, interrupted_lanes(turn_end), turn_charge(turn_end))
        self._interrupted_turns.clear()
        self._open_turns.clear()

    async def _commit(self, event: Event, message: Message | None, lanes: Sequence[Lane], charge: Charge | None) -> int:
        number = await self._event_buffer.commit(event, message, lanes, charge)
        if message is not None:
            self.messages.append(replace(message, seq=number))
        if isinstance(event, ANALYSIS_RESULTS):
            self.analysis_results.append(event)
        if isinstance(event, TurnEnded):
            self._open_turns.discard(event.turn_key)
            telemetry.count_turn(event)
            telemetry.record_turn_span(self._lease.run, event)
        return number

    def _register_event(self, event: Event) -> bool:
        """Return False for the start of a stage that an earlier execution has announced.

        The start event of a retried turn discards the text before the crash, but the provider charged for it.
        """
        if isinstance(event, TurnStarted):
            if (interrupted := self._interrupted_turns.pop(event.turn_key, None)) is not None:
                self._event_buffer.add_charge(turn_charge(interrupted))
            self._open_turns.add(event.turn_key)
        if not isinstance(event, StageStarted):
            return True
        key = (event.stage, event.round)
        known = key in self._started_stages
        self._started_stages.add(key)
        return not known

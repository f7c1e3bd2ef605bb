"""Event writer: writes the events of all runs of this process to the log, in batches.

Sequence numbers are gapless per run. Clients see an event only after its transaction has committed. Urgent events, such
as the first text of a turn, flush at once; others wait for the next batch. Buffered deltas of one turn become one event.
While the database is unavailable, the writer retries and producers block.
"""

import asyncio
import time
from collections.abc import Callable, Sequence
from contextlib import suppress

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from moot.engine import telemetry
from moot.engine.events.hub import EventHub
from moot.store.database import retry_while_unavailable
from moot.store.runs.event_log import NOTICE_KEY_PREFIX, EventLog, EventLogEntry, RunEnding, RunRecords, WriteResult
from moot.store.runs.runs import RunLease
from moot.types.billing import Charge
from moot.types.debate import Lane
from moot.types.discussions import Message
from moot.types.events import (
    ANALYSIS_RESULTS,
    Event,
    Notice,
    RunEnded,
    RunStarted,
    StageStarted,
    TextDelta,
    ThoughtDelta,
)

# Pause between two batches. It grows with the write time and the number of runs.
GAP_SECONDS, MAX_GAP_SECONDS = 0.025, 0.25
GAP_SECONDS_PER_RUN = 0.00025
MAX_PENDING_EVENTS = 20_000  # above this, `append_events` blocks until a flush

NOT_URGENT = (RunStarted, StageStarted)  # a client can wait for the event that follows

encode = msgspec.json.encode


class PendingDelta(Struct):
    """Deltas of one turn that are written as one event."""

    first: TextDelta | ThoughtDelta
    texts: list[str]


class RunEventBuffer:
    """Pending events of one run, with the messages and charges of the same transaction.

    Every batch carries the epoch of the lease, so a fenced worker cannot write.
    """

    def __init__(self, writer: "EventWriter", lease: RunLease) -> None:
        self.lease = lease
        self._writer = writer
        self._seq = lease.seq
        self._pending: list[Event | PendingDelta] = []
        self._open_deltas: dict[str, PendingDelta] = {}
        self._speaking_participants: set[str] = set()
        self._pending_records: list[tuple[Message | None, Sequence[Lane], Charge | None]] = []
        self._pending_end: RunEnding | None = None

    async def append_events(self, events: list[Event]) -> None:
        """Queue events without waiting for the commit, unless the buffer is full."""
        self._enqueue_events(events)
        if self._writer.pending_events > MAX_PENDING_EVENTS:
            await self._writer.flush_events()

    async def commit(
        self, event: Event, message: Message | None = None, lanes: Sequence[Lane] = (), charge: Charge | None = None
    ) -> int:
        """Write an event and its records in one transaction. Returns after the commit, with the message number or 0."""
        self._pending_records.append((message, lanes, charge))
        self._enqueue_events([event])
        written = await self._writer.flush_events()
        return written.message_numbers[message.id] if message is not None else 0

    def add_charge(self, charge: Charge) -> None:
        """Queue a charge for the next transaction of this run."""
        self._pending_records.append((None, (), charge))

    async def end_run(self, event: RunEnded, revision: int = 0) -> None:
        """Commit the end of the run. It stays live if a retry with a higher revision is pending."""
        self._pending_end = RunEnding(event.status, time.time(), revision)
        self._enqueue_events([event])
        await self._writer.flush_events()

    def _enqueue_events(self, events: list[Event]) -> None:
        urgent = False
        for event in events:
            urgent |= self._add_event(event)
        self._writer.schedule_write(self, urgent=urgent)

    def _add_event(self, event: Event) -> bool:
        """Buffer an event and return whether it is urgent."""
        self._writer.pending_events += 1
        participant = getattr(event, "participant", None) or ""
        if not isinstance(event, (TextDelta, ThoughtDelta)):
            self._open_deltas.pop(participant, None)
            self._speaking_participants.discard(participant)
            self._pending.append(event)
            return not isinstance(event, NOT_URGENT)
        delta = self._open_deltas.get(participant)
        if delta is not None and _can_coalesce(delta.first, event):
            delta.texts.append(event.text)
            return False
        self._open_deltas[participant] = delta = PendingDelta(event, [event.text])
        self._pending.append(delta)
        first = participant not in self._speaking_participants
        self._speaking_participants.add(participant)
        return first

    def take_batch(self) -> EventLogEntry:
        """Number and encode the pending events, and clear the buffer."""
        now, first = time.time(), self._seq + 1
        bodies = [self._encode_numbered(item, now) for item in self._pending]
        entry = EventLogEntry(self.lease, first, bodies, self._batch_records(bodies), self._pending_end)
        self._pending, self._pending_records, self._pending_end = [], [], None
        self._open_deltas.clear()
        return entry

    def _batch_records(self, bodies: list[str]) -> RunRecords | None:
        first = self._seq - len(bodies) + 1
        numbered = zip(range(first, self._seq + 1), self._pending, bodies, strict=True)
        results = {key: body for seq, item, body in numbered if (key := _cache_key(item, seq))}
        if not self._pending_records and not results:
            return None
        return RunRecords(
            [message for message, _, _ in self._pending_records if message is not None],
            [lane for _, lanes, _ in self._pending_records for lane in lanes],
            results,
            [charge for _, _, charge in self._pending_records if charge is not None],
        )

    def _encode_numbered(self, item: "Event | PendingDelta", now: float) -> str:
        self._seq += 1
        stamp = {"run": self.lease.run, "seq": self._seq, "at": now}
        if isinstance(item, PendingDelta):
            return encode(replace(item.first, text="".join(item.texts), **stamp)).decode()
        return encode(replace(item, **stamp)).decode()


def _cache_key(item: Event | PendingDelta, seq: int) -> str | None:
    """Return the key of events that are also stored outside the log: notices and analysis results."""
    match item:
        case Notice():
            return f"{NOTICE_KEY_PREFIX}{seq}"
        case _ if isinstance(item, ANALYSIS_RESULTS):
            return item.cache_key
        case _:
            return None


def _can_coalesce(one: TextDelta | ThoughtDelta, other: TextDelta | ThoughtDelta) -> bool:
    return (type(one), one.stage, one.round) == (type(other), other.stage, other.round)


class EventWriter:
    def __init__(self, events: EventLog, event_hub: EventHub, on_fenced: Callable[[frozenset[str]], None]) -> None:
        """`on_fenced` is called with runs that another worker has taken over."""
        self.pending_events = 0
        self._write_entries = retry_while_unavailable(events.write_entries)
        self._event_hub = event_hub
        self._on_fenced = on_fenced
        self._pending_runs: dict[RunEventBuffer, None] = {}
        self._work_available = asyncio.Event()
        self._write_now = asyncio.Event()
        self._flush_waiter: asyncio.Future[WriteResult] | None = None

    def open_run(self, lease: RunLease) -> RunEventBuffer:
        return RunEventBuffer(self, lease)

    def schedule_write(self, run: RunEventBuffer, *, urgent: bool) -> None:
        self._pending_runs[run] = None
        self._work_available.set()
        if urgent:
            self._write_now.set()

    async def flush_events(self) -> WriteResult:
        """Return after all events queued until now are committed; blocks forever if a run was fenced."""
        if self._flush_waiter is None:
            self._flush_waiter = asyncio.get_running_loop().create_future()
        self._work_available.set()
        self._write_now.set()
        return await asyncio.shield(self._flush_waiter)  # shared, so one cancelled task must not cancel it

    async def write_forever(self) -> None:
        gap = GAP_SECONDS
        while True:
            await self._work_available.wait()
            with suppress(TimeoutError):
                async with asyncio.timeout(gap):  # `wait_for` may swallow a cancellation
                    await self._write_now.wait()
            started = time.perf_counter()
            runs = await self._write_batch()
            took = time.perf_counter() - started
            telemetry.LOG_WRITE_SECONDS.observe(took)
            gap = min(max(GAP_SECONDS, 2 * took, GAP_SECONDS_PER_RUN * runs), MAX_GAP_SECONDS)

    async def _write_batch(self) -> int:
        """Write one batch and return its number of runs."""
        self._work_available.clear()
        self._write_now.clear()
        runs, self._pending_runs = self._pending_runs, {}
        waiter, self._flush_waiter = self._flush_waiter, None
        entries = [run.take_batch() for run in runs]
        self.pending_events = 0
        written = WriteResult(frozenset(), {})
        if entries:
            written = await self._write_entries(entries)
        for entry in entries:
            if entry.lease.run not in written.stale_runs:
                self._event_hub.publish(entry.lease.run, entry.first_seq, entry.bodies)
        telemetry.EVENTS_WRITTEN.inc(sum(len(entry.bodies) for entry in entries))
        if written.stale_runs:
            self._on_fenced(written.stale_runs)
        # A fenced worker is about to exit. Its waiters stay blocked, or they would report lost events as committed.
        if waiter is not None and not written.stale_runs:
            waiter.set_result(written)
        return len(entries)

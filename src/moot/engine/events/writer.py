"""The durable log: takes in the events of all runs of this process and writes them in batches.

Deltas that wait together leave as one event. What readers wait for, such as the first words of a turn or its end, is
written at once; the rest at most every few milliseconds. An event has its number, and readers see it, when it is
written. While the database cannot be reached, whoever has something to say waits.
"""

import asyncio
import time
from collections.abc import Callable, Sequence
from contextlib import suppress

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from moot.engine import telemetry
from moot.engine.events.hub import Feeds
from moot.engine.waits import patiently
from moot.store.runs.event_insert import Ending, Entry, Kept
from moot.store.runs.event_log import Events, Written
from moot.store.runs.findings import NOTICE
from moot.store.runs.runs import Claim
from moot.types.billing import Charge
from moot.types.debate import Lane
from moot.types.discussions import Message
from moot.types.events import (
    FINDINGS,
    Event,
    Notice,
    RunEnded,
    RunStarted,
    StageStarted,
    TextDelta,
    ThoughtDelta,
)

GAP_SECONDS, LONGEST_GAP = 0.025, 0.25  # between two batches: longer where writing takes long, or many speak
GAP_A_RUN = 0.00025
MOST_PENDING = 20_000  # events; whoever adds more waits until they are written

HERALDS = (RunStarted, StageStarted)  # they leave with what they announce

encode = msgspec.json.encode


class Growing(Struct):
    """Deltas of one turn that will leave as one."""

    first: TextDelta | ThoughtDelta
    texts: list[str]


class RunJournal:
    """One run's side of the log."""

    def __init__(self, journal: "Journal", claim: Claim) -> None:
        self.claim = claim
        self._journal = journal
        self._seq = claim.seq
        self._pending: list[Event | Growing] = []
        self._growing: dict[str, Growing] = {}
        self._spoken: set[str] = set()
        self._kept: list[tuple[Message | None, Sequence[Lane], Sequence[Charge]]] = []
        self._ending: Ending | None = None

    async def append(self, events: list[Event]) -> None:
        self._put(events)
        if self._journal.pending > MOST_PENDING:
            await self._journal.written()

    async def keep(
        self,
        event: Event,
        message: Message | None = None,
        lanes: Sequence[Lane] = (),
        charges: Sequence[Charge] = (),
    ) -> int:
        """Write an event with what is kept of it; it is safe when this returns, and a message has its number."""
        self._kept.append((message, lanes, charges))
        self._put([event])
        written = await self._journal.written()
        return written.numbers[message.id] if message is not None else 0

    def pay(self, charges: Sequence[Charge]) -> None:
        """Let what was paid be written down together with what comes next."""
        self._kept.append((None, (), charges))

    async def end(self, event: RunEnded, revision: int = 0) -> None:
        """End the run, unless more of it than `revision` is to be tried again."""
        self._ending = Ending(event.status, time.time(), revision)
        self._put([event])
        await self._journal.written()

    def _put(self, events: list[Event]) -> None:
        urgent = False
        for event in events:
            urgent |= self._add(event)
        self._journal.wake(self, urgent=urgent)

    def _add(self, event: Event) -> bool:
        """Add an event to what waits, and tell whether readers are waiting for it."""
        self._journal.pending += 1
        who = getattr(event, "participant", None) or ""
        if not isinstance(event, (TextDelta, ThoughtDelta)):
            self._growing.pop(who, None)
            self._spoken.discard(who)
            self._pending.append(event)
            return not isinstance(event, HERALDS)
        growing = self._growing.get(who)
        if growing is not None and _continues(growing.first, event):
            growing.texts.append(event.text)
            return False
        self._growing[who] = growing = Growing(event, [event.text])
        self._pending.append(growing)
        first = who not in self._spoken
        self._spoken.add(who)
        return first

    def take(self) -> Entry:
        """Number what waits, and hand it over."""
        now, first = time.time(), self._seq + 1
        bodies = [self._numbered(item, now) for item in self._pending]
        entry = Entry(self.claim, first, bodies, self._taken(bodies), self._ending)
        self._pending, self._kept, self._ending = [], [], None
        self._growing.clear()
        return entry

    def _taken(self, bodies: list[str]) -> Kept | None:
        """Put together what is kept with the events, if anything is."""
        first = self._seq - len(bodies) + 1
        told = zip(range(first, self._seq + 1), self._pending, bodies, strict=True)
        findings = {basis: body for seq, item, body in told if (basis := _basis(item, seq))}
        if not self._kept and not findings:
            return None
        return Kept(
            [message for message, _, _ in self._kept if message is not None],
            [lane for _, lanes, _ in self._kept for lane in lanes],
            findings,
            [charge for _, _, charges in self._kept for charge in charges],
        )

    def _numbered(self, item: "Event | Growing", now: float) -> str:
        self._seq += 1
        stamp = {"run": self.claim.run, "seq": self._seq, "at": now}
        if isinstance(item, Growing):
            return encode(replace(item.first, text="".join(item.texts), **stamp)).decode()
        return encode(replace(item, **stamp)).decode()


def _basis(item: Event | Growing, seq: int) -> str | None:
    """Name what is kept of an event beside the log, if anything is."""
    match item:
        case Notice():
            return f"{NOTICE}{seq}"
        case _ if isinstance(item, FINDINGS):
            return item.basis
        case _:
            return None


def _continues(one: TextDelta | ThoughtDelta, other: TextDelta | ThoughtDelta) -> bool:
    return (type(one), one.stage, one.round) == (type(other), other.stage, other.round)


class Journal:
    def __init__(self, events: Events, feeds: Feeds, fenced: Callable[[frozenset[str]], None]) -> None:
        """`fenced` is told of runs that another worker has taken over."""
        self.pending = 0
        self._events = events
        self._feeds = feeds
        self._fenced = fenced
        self._waiting: dict[RunJournal, None] = {}
        self._something = asyncio.Event()
        self._urgent = asyncio.Event()
        self._written: asyncio.Future[Written] | None = None

    def open(self, claim: Claim) -> RunJournal:
        return RunJournal(self, claim)

    def wake(self, run: RunJournal, *, urgent: bool) -> None:
        self._waiting[run] = None
        self._something.set()
        if urgent:
            self._urgent.set()

    async def written(self) -> Written:
        """Wait until all that was added until now is safe."""
        if self._written is None:
            self._written = asyncio.get_running_loop().create_future()
        self._something.set()
        self._urgent.set()
        return await asyncio.shield(self._written)

    async def write_for_ever(self) -> None:
        gap = GAP_SECONDS
        while True:
            await self._something.wait()
            with suppress(TimeoutError):
                async with asyncio.timeout(gap):  # and not wait_for, which may swallow a cancellation
                    await self._urgent.wait()
            started = time.perf_counter()
            runs = await self._write()
            took = time.perf_counter() - started
            telemetry.WRITING.observe(took)
            gap = min(max(GAP_SECONDS, 2 * took, GAP_A_RUN * runs), LONGEST_GAP)

    async def _write(self) -> int:
        """Write what waits, and return of how many runs it was."""
        self._something.clear()
        self._urgent.clear()
        waiting, self._waiting = self._waiting, {}
        waiter, self._written = self._written, None
        entries = [run.take() for run in waiting]
        self.pending = 0
        written = Written(frozenset(), {})
        if entries:
            written = await patiently(lambda: self._events.write(entries))
        for entry in entries:
            if entry.claim.run not in written.stale:
                self._feeds.publish(entry.claim.run, entry.first, entry.bodies)
        telemetry.WRITTEN.inc(sum(len(entry.bodies) for entry in entries))
        if written.stale:
            self._fenced(written.stale)
        if waiter is not None and not written.stale:
            waiter.set_result(written)
        return len(entries)

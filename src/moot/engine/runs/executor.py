"""One execution of a run, from taking it up to its end.

It first raises the run's epoch, so that whoever had the run before can write no more.
"""

import asyncio
import logging
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import NamedTuple, NoReturn

import msgspec

from moot.engine import telemetry
from moot.engine.events.writer import Journal, RunJournal
from moot.engine.model_resolution import Chains
from moot.engine.runs.references import Recapping, given
from moot.engine.runs.table import LiveTable, Step
from moot.engine.runs.transcript import Record
from moot.engine.tools.approvals import Answers
from moot.engine.tools.catalog import Tooling
from moot.engine.tools.session import Workshop
from moot.engine.turns.context import Scene
from moot.engine.turns.model_caller import Speaker
from moot.engine.waits import patiently
from moot.prompts.parts import Attached
from moot.providers.registry import Resolved
from moot.store.billing.usage import Bills
from moot.store.database import Database
from moot.store.discussions.discussions import Discussions
from moot.store.runs.event_log import Events
from moot.store.runs.runs import Claim, Runs, Wishes
from moot.streaming.cancellation import Stop
from moot.types.discussions import Message
from moot.types.errors import Leaving
from moot.types.events import Event, Notice, RunEnded, RunStarted, RunStatus
from moot.types.participants import Participant

MOST_EXECUTIONS = 20
EARLIER_SECONDS = 900.0  # whoever calls a tool is not interrupted, and a tool may take minutes
FIRST_LOOK, LONGEST_LOOK = 0.05, 1.0  # seconds
CLOSING_SECONDS = 10.0

log = logging.getLogger(__name__)


class Execution:
    """A revision of a run that this process is executing, and what is wished of it."""

    def __init__(self, revision: int = 0) -> None:
        self.stop = Stop()
        self.answers = Answers()
        self.over = asyncio.Event()
        self.listening = asyncio.Lock()
        self._revision = revision
        self._heeded: dict[str, int] = {}  # who tries again already, and since which revision
        self._table: LiveTable | None = None
        self._wishes = Wishes(None, ())

    def wish(self, wishes: Wishes) -> None:
        if wishes.stop is not None:
            self.stop.request(wishes.stop)
        self._wishes = wishes
        self.answers.hear(wishes.answers)
        self._pass_on()

    def at(self, table: LiveTable) -> None:
        self._table = table
        self._pass_on()

    @property
    def heeded(self) -> int:
        """The last revision of which nothing is left to try again."""
        again = self._wishes.again
        return min([again.revision, *(due - 1 for due in self._due().values())]) if again else self._revision

    def _due(self) -> dict[str, int]:
        """Say who is still to try again, and since which revision."""
        wished = self._wishes.again.retried if self._wishes.again else {}
        return {
            who: revision
            for who, revision in wished.items()
            if revision > self._heeded.get(who, self._revision)
        }

    def _pass_on(self) -> None:
        if self._table is None:
            return
        for participant in self._wishes.stopped:
            if participant in self._table.stops:
                self._table.stops[participant].request()
        self._try_again(self._table)

    def _try_again(self, table: LiveTable) -> None:
        """Let those speak anew who failed in the stage that is going on; the others are due after this run's end."""
        for who, revision in self._due().items():
            if self._wishes.again and table.try_again(who, self._wishes.again.plan):
                self._heeded[who] = revision


class Finished(NamedTuple):
    """A run that came to its end here, with the turns of it."""

    claim: Claim
    turns: Sequence[Message]


class Executor:
    def __init__(
        self,
        database: Database,
        worker: str,
        journal: Journal,
        speaker: Speaker,
        chains: Chains,
        step: Step,
        recapping: Recapping,
        tooling: Tooling | None = None,
    ) -> None:
        self._database = database
        self._worker = worker
        self._runs = Runs(database)
        self._discussions = Discussions(database)
        self._events = Events(database)
        self._bills = Bills(database)
        self._journal = journal
        self._speaker = speaker
        self._chains = chains
        self._step = step
        self._recapping = recapping
        self._tooling = tooling
        self._closing: set[asyncio.Task[None]] = set()

    async def execute(self, run: str, revision: int, execution: Execution) -> Finished | None:
        """Bring a revision of a run to its end; None if it was over already."""
        claim = await self._claim(run, revision)
        if claim is None:
            return None
        if claim.waits:
            await self._after_earlier_ones(run, execution.stop)
        journal = self._journal.open(claim)
        record = Record(journal, claim, (), (), lambda: self._told(claim))
        told: Sequence[Event] = ()
        try:
            told = await patiently(lambda: self._told(claim)) if claim.seq else ()
            await journal.append([_beginning(claim, told)])
            record, wishes = await asyncio.gather(
                patiently(lambda: self._record(claim, journal, told)),
                patiently(lambda: self._runs.wishes(run)),
            )
            execution.wish(wishes)
            status = await self._played(claim, record, execution)
        except Exception:
            # A mistake of ours ends this run with words, not the worker and not in silence.
            log.exception("a run failed", extra={"run": run})
            status = await _given_up(record, "A mistake in Moot itself ended this run.")
        await journal.end(RunEnded(status=status), execution.heeded)
        telemetry.RUNS.labels(claim.plan.mode, status).inc()
        since = max((event.at for event in told if isinstance(event, RunEnded)), default=0.0)
        return Finished(
            claim, [m for m in record.said if m.run == run and m.participant and m.created_at > since]
        )

    async def _claim(self, run: str, revision: int) -> Claim | None:
        try:
            return await patiently(lambda: self._runs.claim(run, self._worker, revision))
        except Leaving:
            await for_the_end()

    async def _played(self, claim: Claim, record: Record, execution: Execution) -> RunStatus:
        if claim.epoch > MOST_EXECUTIONS * (claim.revision + 1):
            return await _given_up(
                record, f"This run was taken up {MOST_EXECUTIONS} times and never finished."
            )
        await self._recapping.make(claim, record, execution.stop)
        came = await patiently(lambda: given(self._database, claim.tenant, record.said))
        async with self._workshop(claim, execution) as workshop:
            status = await self._table(claim, record, execution, came, workshop).play()
        await record.close(execution.stop.reason)
        return status

    @asynccontextmanager
    async def _workshop(self, claim: Claim, execution: Execution) -> AsyncIterator[Workshop | None]:
        if self._tooling is None or not any(who.tools for who in claim.plan.participants):
            yield None
            return
        tooling = self._tooling
        await patiently(lambda: tooling.forget_questions(claim.run))
        workshop = tooling.workshop(claim, execution.answers)
        try:
            yield workshop
        finally:  # and nobody waits for it
            closing = asyncio.get_running_loop().create_task(workshop.aclose())
            self._closing.add(closing)
            closing.add_done_callback(self._closing.discard)

    async def rest(self) -> None:
        """Wait until what runs had opened is closed, which does not take long."""
        if self._closing:
            await asyncio.wait(self._closing, timeout=CLOSING_SECONDS)

    async def _record(self, claim: Claim, journal: RunJournal, told: Sequence[Event]) -> Record:
        said = await self._said(claim)
        spent = (await self._bills.of_run(claim.run)).cost if told else 0.0
        return Record(journal, claim, said, told, lambda: self._told(claim), spent)

    async def _said(self, claim: Claim) -> Sequence[Message]:
        """Read what the run can know of: all until now or, where an answer is given anew, what was there then."""
        if (then := claim.plan.again) is None:
            return await self._discussions.messages(claim.discussion, place=claim.place)
        before = await self._discussions.messages(claim.discussion, before=then.number, upto=then.upto)
        return (*before, *await self._discussions.of_run(claim.run))

    async def _told(self, claim: Claim) -> list[Event]:
        """Read all that was told of a run until now."""
        await self._journal.written()
        events: list[Event] = []
        while page := await self._events.read(claim.run, events[-1].seq if events else 0):
            events += [msgspec.json.decode(body, type=Event) for _, body in page]
        return events

    def _table(
        self,
        claim: Claim,
        record: Record,
        execution: Execution,
        files: Attached,
        workshop: Workshop | None,
    ) -> LiveTable:
        async def chains(who: Participant) -> Sequence[Resolved]:
            return await patiently(lambda: self._chains(claim.tenant, who.model))

        scene = Scene(
            run=claim.run,
            discussion=claim.discussion,
            plan=claim.plan,
            revision=claim.revision,
            attached=files,
        )
        table = LiveTable(scene, record, chains, self._speaker, execution.stop, self._step, workshop)
        execution.at(table)
        return table

    async def _after_earlier_ones(self, run: str, stop: Stop) -> None:
        """Let what was interrupted come to its end first, so that this run sees what was said."""
        until, pause = asyncio.get_running_loop().time() + EARLIER_SECONDS, FIRST_LOOK
        while await patiently(lambda: self._runs.has_earlier_live(run)):
            if asyncio.get_running_loop().time() > until:
                log.warning("an earlier run does not end; going on without it", extra={"run": run})
                return
            if await stop.sleep(pause):
                return
            pause = min(2 * pause, LONGEST_LOOK)


async def for_the_end() -> NoReturn:
    """Wait for the end of this process: others have the run then, and DBOS must not hear that it is over."""
    await asyncio.Event().wait()
    raise AssertionError("nobody sets it")


async def _given_up(record: Record, words: str) -> RunStatus:
    await record.close(None)
    await record.append([Notice(kind="gave_up", message=words)])
    return "failed"


def _beginning(claim: Claim, told: Sequence[Event]) -> Event:
    if claim.seq == 0:
        return RunStarted(participants=claim.plan.participants)
    if told and isinstance(told[-1], RunEnded):
        return Notice(kind="retried", message="What failed is tried again; what was answered stays.")
    return Notice(
        kind="resumed", message="The run was cut off here and went on; unfinished answers began anew."
    )

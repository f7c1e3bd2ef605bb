"""Durable runs: the executor behind `moot serve`. DBOS replays a run's finished steps; what was said is in our log.

An execution first raises the run's epoch, so that whoever had the run before can write no more.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from concurrent.futures import ThreadPoolExecutor
from importlib import import_module
from typing import Any, NamedTuple, NoReturn

import msgspec
from sqlalchemy.exc import SQLAlchemyError

from moot.engine import books, metrics
from moot.engine.journal import Journal, RunJournal
from moot.engine.patience import patiently
from moot.engine.record import Record
from moot.engine.remains import Remains, unfinished
from moot.engine.speaker import Speaker
from moot.engine.table import Body, LiveTable, Scene
from moot.model.discussions import Message
from moot.model.errors import Leaving, StoreUnavailable
from moot.model.events import Event, Notice, RunEnded, RunStarted, RunStatus, Seat, TurnStatus
from moot.model.participants import Participant
from moot.providers.registry import Resolved
from moot.store.database import Database
from moot.store.discussions import Discussions
from moot.store.events import Events
from moot.store.runs import Claim, Runs, Wishes
from moot.streams.stop import Reason, Stop

MOST_EXECUTIONS = 20
EARLIER_SECONDS = 60.0
LOOK_SECONDS = 0.02
AGAIN_SECONDS = 1.0

TenantChains = Callable[[str, Participant], Awaitable[Sequence[Resolved]]]
Ended = Callable[[Claim, Sequence[Message]], Coroutine[None, None, None]]
log = logging.getLogger(__name__)


class Execution:
    """A run that this process is executing."""

    def __init__(self) -> None:
        self.stop = Stop()
        self.table: LiveTable | None = None
        self._wished: tuple[str, ...] = ()

    def wish(self, wishes: Wishes) -> None:
        if wishes.stop is not None:
            reason: Reason = (
                "follow_up_interrupt" if wishes.stop == "follow_up_interrupt" else "stopped_by_user"
            )
            self.stop.request(reason)
        self._wished = wishes.stopped
        self._pass_on()

    def at(self, table: LiveTable) -> None:
        self.table = table
        self._pass_on()

    def _pass_on(self) -> None:
        for participant in self._wished:
            if self.table is not None and participant in self.table.stops:
                self.table.stops[participant].request()


class Launched(NamedTuple):
    """DBOS, and the one workflow that it knows."""

    dbos: Any
    execute: Callable[[str], Coroutine[None, None, None]]


class DurableRuns:
    def __init__(
        self,
        database: Database,
        worker: str,
        journal: Journal,
        speaker: Speaker,
        chains: TenantChains,
        ended: Ended,
    ) -> None:
        """`ended` hears of every run that ended here, with the turns of it, after its readers did."""
        self.live: dict[str, Execution] = {}
        self._database = database
        self._worker = worker
        self._runs = Runs(database)
        self._discussions = Discussions(database)
        self._events = Events(database)
        self._journal = journal
        self._speaker = speaker
        self._chains = chains
        self._ended = ended
        self._tasks: set[asyncio.Task[None]] = set()
        self._resting = False
        self._launched: asyncio.Future[Launched] = asyncio.get_running_loop().create_future()

    async def launch(self) -> None:
        """Load and start DBOS, and take up again what this worker left. It is slow to load, so nobody waits."""
        dbos = await asyncio.to_thread(import_module, "dbos")
        await books.prepare(dbos, self._database)
        dbos.DBOS(config=books.config(self._database, self._worker))

        @dbos.DBOS.workflow(name="run", max_recovery_attempts=None)  # type: ignore[untyped-decorator]
        async def execute(run: str) -> None:
            await self._guarded(run)

        dbos.DBOS.launch()
        self._launched.set_result(Launched(dbos, execute))
        await self._take_up(self._worker)

    async def take_over(self, worker: str) -> None:
        """Take up the runs that a dead worker left; raise StoreUnavailable if it has to be tried again."""
        dbos = (await asyncio.shield(self._launched)).dbos
        await asyncio.to_thread(books.recover, dbos, worker)
        await self._take_up(worker)

    async def adopt_for_ever(self, seconds: float) -> None:
        """Look now and then for runs that nobody has any more.

        A worker that was taken over may, before it finds out, take a run up again that others were to have.
        """
        await asyncio.shield(self._launched)
        while True:
            await asyncio.sleep(seconds)
            try:
                for worker in await books.strangers(self._database):
                    await self.take_over(worker)
            except StoreUnavailable as error:
                log.warning("the database is away; nobody is looked for", extra={"reason": str(error)})

    async def _take_up(self, worker: str) -> None:
        """Start what a worker had taken in, but had not even begun; what it had begun is not started twice.

        When this returns, all of it is in our name: nobody needs to remember that worker any more.
        """
        for run in await patiently(lambda: self._runs.left_by(worker)):
            await self._start(run)

    def begin_no_more(self) -> None:
        """Let what was not begun wait until this process has ended; others will begin it."""
        self._resting = True

    async def close(self) -> None:
        """End DBOS, once nothing goes on here and nobody takes anything up."""
        self.begin_no_more()
        if self._tasks and self._launched.done():
            await asyncio.wait(self._tasks, timeout=AGAIN_SECONDS)
        for task in self._tasks:
            task.cancel()
        if self._launched.done():
            dbos = self._launched.result().dbos
            await asyncio.to_thread(dbos.DBOS.destroy, destroy_registry=True)
            # It had given the loop threads of its own, and has ended them.
            asyncio.get_running_loop().set_default_executor(ThreadPoolExecutor())

    def start(self, run: str) -> None:
        """Execute a run, unless somebody does already; it is in the database, so nobody needs to wait."""
        self._own(self._start(run))

    async def _start(self, run: str) -> None:
        dbos, execute = await asyncio.shield(self._launched)
        while True:
            try:
                with dbos.SetWorkflowID(run):
                    await dbos.DBOS.start_workflow_async(execute, run)
            except SQLAlchemyError as error:
                log.warning("a run cannot begin yet", extra={"run": run, "reason": str(error)})
                await asyncio.sleep(AGAIN_SECONDS)
            else:
                return

    def told(self, run: str) -> None:
        """Hear that something is wished of a run."""
        if run in self.live:
            self._own(self._obey(run))

    def _own(self, work: Coroutine[None, None, None]) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._disown)

    def _disown(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            log.error("what was to be done for a run failed", exc_info=error)

    async def _obey(self, run: str) -> None:
        wishes = await patiently(lambda: self._runs.wishes(run))
        if execution := self.live.get(run):
            execution.wish(wishes)

    async def _guarded(self, run: str) -> None:
        if self._resting:
            await _for_the_end()
        self.live[run] = execution = Execution()
        metrics.LIVE_RUNS.inc()
        try:
            await self._execute(run, execution)
        finally:
            self.live.pop(run, None)
            metrics.LIVE_RUNS.dec()

    async def _execute(self, run: str, execution: Execution) -> None:
        await self._after_earlier_ones(run)
        claim = await self._claim(run)
        if claim is None:
            return
        journal = self._journal.open(claim)
        await journal.append([_beginning(claim)])
        record = Record(journal, claim, (), {})
        try:
            record = await patiently(lambda: self._record(claim, journal))
            execution.wish(await patiently(lambda: self._runs.wishes(run)))
            status = await self._played(claim, record, execution)
        except Exception:
            # A mistake of ours ends this run with words, not the worker and not in silence.
            log.exception("a run failed", extra={"run": run})
            status = await _given_up(record, "A mistake in Moot itself ended this run.")
        await journal.end(RunEnded(status=status))
        metrics.RUNS.labels(claim.plan.mode, status).inc()
        self._own(self._ended(claim, [m for m in record.said if m.run == run and m.participant]))

    async def _claim(self, run: str) -> Claim | None:
        try:
            return await patiently(lambda: self._runs.claim(run, self._worker))
        except Leaving:
            await _for_the_end()

    async def _played(self, claim: Claim, record: Record, execution: Execution) -> RunStatus:
        if claim.epoch > MOST_EXECUTIONS:
            return await _given_up(
                record, f"This run was taken up {MOST_EXECUTIONS} times and never finished."
            )
        status = await self._table(claim, record, execution).play()
        await record.close(execution.stop.reason)
        return status

    async def _record(self, claim: Claim, journal: RunJournal) -> Record:
        said = await self._discussions.messages(claim.discussion)
        return Record(journal, claim, said, await self._cut_off(claim) if claim.seq else {})

    async def _cut_off(self, claim: Claim) -> dict[Seat, Remains]:
        """Find the turns that the last execution did not bring to their ends."""
        events: list[Event] = []
        while page := await self._events.read(claim.run, events[-1].seq if events else 0):
            events += [msgspec.json.decode(body, type=Event) for _, body in page]
        return unfinished(events)

    def _table(self, claim: Claim, record: Record, execution: Execution) -> LiveTable:
        async def chains(who: Participant) -> Sequence[Resolved]:
            return await patiently(lambda: self._chains(claim.tenant, who))

        scene = Scene(run=claim.run, discussion=claim.discussion, plan=claim.plan)
        table = LiveTable(scene, record, chains, self._speaker, execution.stop, self._step)
        execution.at(table)
        return table

    async def _step(self, name: str, body: Body) -> TurnStatus:
        done: list[TurnStatus] = []

        async def turn() -> TurnStatus:  # DBOS looks whether it is given a coroutine function
            done.append(await body())
            return done[0]

        dbos = self._launched.result().dbos  # no await before the step has its place in the order
        try:
            status: TurnStatus = await dbos.DBOS.run_step_async({"name": name}, turn)
        except SQLAlchemyError as error:  # a full disk, say; but a turn that is done is in our log too
            log.warning("a step cannot be noted", extra={"step": name, "reason": str(error)})
            return done[0] if done else await body()
        return status

    async def _after_earlier_ones(self, run: str) -> None:
        """Let what was interrupted come to its end first, so that this run sees what was said."""
        discussion = await patiently(lambda: self._runs.discussion_of(run)) or ""
        until = asyncio.get_running_loop().time() + EARLIER_SECONDS
        while await patiently(lambda: self._runs.earlier_live(discussion, run)):
            if asyncio.get_running_loop().time() > until:
                log.warning("an earlier run does not end; going on without it", extra={"run": run})
                return
            await asyncio.sleep(LOOK_SECONDS)


async def _for_the_end() -> NoReturn:
    """Wait for the end of this process: others have the run then, and DBOS must not hear that it is over."""
    await asyncio.Event().wait()
    raise AssertionError("nobody sets it")


async def _given_up(record: Record, words: str) -> RunStatus:
    await record.close(None)
    await record.append([Notice(kind="gave_up", message=words)])
    return "failed"


def _beginning(claim: Claim) -> Event:
    if claim.seq == 0:
        return RunStarted(participants=claim.plan.participants)
    return Notice(kind="resumed", message="The run was cut off and goes on; unfinished answers start again.")

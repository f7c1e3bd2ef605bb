"""Durable runs: the executor behind `moot serve`. DBOS replays a run's finished steps; what was said is in our log.

An execution first raises the run's epoch, so that whoever had the run before can write no more.
"""

import asyncio
import logging
import sqlite3
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from contextlib import closing
from importlib import import_module
from typing import TYPE_CHECKING, Any, NamedTuple

from msgspec.structs import replace

from moot.engine import metrics, traces
from moot.engine.journal import Journal, RunJournal
from moot.engine.speaker import Speaker
from moot.engine.table import Body, LiveTable, Scene
from moot.model.discussions import Message
from moot.model.events import Event, Notice, RunEnded, RunStarted, StageStarted, TurnEnded, TurnStatus
from moot.model.participants import Participant
from moot.providers.registry import Resolved
from moot.store.database import Database
from moot.store.discussions import Discussions
from moot.store.runs import Claim, Runs, Wishes
from moot.streams.stop import Reason, Stop

if TYPE_CHECKING:
    from dbos import DBOSConfig

VERSION = "1"  # of what a run's steps are called; runs of another version are not taken up again
MOST_EXECUTIONS = 20
EARLIER_SECONDS = 60.0
LOOK_SECONDS = 0.02

TenantChains = Callable[[str, Participant], Awaitable[Sequence[Resolved]]]
Ended = Callable[[Claim, Sequence[Message]], Coroutine[None, None, None]]
log = logging.getLogger(__name__)


class Record:
    """A transcript in the database: read once when a run is taken up, then kept in step with what is written."""

    def __init__(self, journal: RunJournal, claim: Claim, said: Sequence[Message]) -> None:
        self.said = list(said)
        self._journal = journal
        self._opened = set(claim.stages)

    async def append(self, events: list[Event]) -> None:
        fresh = [event for event in events if not (isinstance(event, StageStarted) and self._is_open(event))]
        if fresh:
            await self._journal.append(fresh)

    async def keep(self, ended: TurnEnded, message: Message) -> None:
        number = await self._journal.keep(ended, message)
        self.said.append(replace(message, number=number))
        metrics.count_turn(ended)
        traces.turn(self._journal.claim.run, ended)

    def _is_open(self, stage: StageStarted) -> bool:
        """Tell whether a stage was announced before a crash."""
        key = (stage.stage, stage.round)
        known = key in self._opened
        self._opened.add(key)
        return known


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
        self._journal = journal
        self._speaker = speaker
        self._chains = chains
        self._ended = ended
        self._tasks: set[asyncio.Task[None]] = set()
        self._launched: asyncio.Future[Launched] = asyncio.get_running_loop().create_future()

    async def launch(self) -> None:
        """Load and start DBOS, and take up again what this worker left. It is slow to load, so nobody waits."""
        dbos = await asyncio.to_thread(import_module, "dbos")
        dbos.DBOS(config=_config(self._database, self._worker))

        @dbos.DBOS.workflow(name="run", max_recovery_attempts=None)  # type: ignore[untyped-decorator]
        async def execute(run: str) -> None:
            await self._guarded(run)

        dbos.DBOS.launch()
        self._launched.set_result(Launched(dbos, execute))
        await self._take_up(self._worker)

    async def take_over(self, worker: str) -> None:
        """Take up the runs that a dead worker left."""
        dbos = (await self._launched).dbos
        await asyncio.to_thread(dbos.DBOS._recover_pending_workflows, [worker])  # noqa: SLF001 - no public way
        await self._take_up(worker)

    async def _take_up(self, worker: str) -> None:
        """Start what a worker had taken in, but had not even begun; what it had begun is not started twice."""
        for run in await self._runs.left_by(worker):
            self.start(run)

    async def close(self) -> None:
        if self._launched.done():
            dbos = self._launched.result().dbos
            await asyncio.to_thread(dbos.DBOS.destroy, destroy_registry=True)

    def start(self, run: str) -> None:
        """Execute a run, unless somebody does already; it is in the database, so nobody needs to wait."""
        self._own(self._start(run))

    async def _start(self, run: str) -> None:
        dbos, execute = await self._launched
        with dbos.SetWorkflowID(run):
            await dbos.DBOS.start_workflow_async(execute, run)

    def told(self, run: str) -> None:
        """Hear that something is wished of a run."""
        if run in self.live:
            self._own(self._obey(run))

    def _own(self, work: Coroutine[None, None, None]) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _obey(self, run: str) -> None:
        wishes = await self._runs.wishes(run)
        if execution := self.live.get(run):
            execution.wish(wishes)

    async def _guarded(self, run: str) -> None:
        self.live[run] = execution = Execution()
        metrics.LIVE_RUNS.inc()
        try:
            await self._execute(run, execution)
        finally:
            self.live.pop(run, None)
            metrics.LIVE_RUNS.dec()

    async def _execute(self, run: str, execution: Execution) -> None:
        await self._after_earlier_ones(run)
        claim = await self._runs.claim(run, self._worker)
        if claim is None:
            return
        journal = self._journal.open(claim)
        await journal.append([_beginning(claim)])
        execution.wish(await self._runs.wishes(run))
        if claim.epoch > MOST_EXECUTIONS:
            await self._give_up(journal, f"This run was taken up {MOST_EXECUTIONS} times and never finished.")
            return
        record = Record(journal, claim, await self._discussions.messages(claim.discussion))
        try:
            ended = RunEnded(status=await self._table(claim, record, execution).play())
        except Exception:
            # A mistake of ours ends this run with words, not the worker and not in silence.
            log.exception("a run failed", extra={"run": run})
            await self._give_up(journal, "A mistake in Moot itself ended this run.")
            return
        await journal.end(ended)
        metrics.RUNS.labels(claim.plan.mode, ended.status).inc()
        self._own(self._ended(claim, [m for m in record.said if m.run == run and m.participant]))

    def _table(self, claim: Claim, record: Record, execution: Execution) -> LiveTable:
        async def chains(who: Participant) -> Sequence[Resolved]:
            return await self._chains(claim.tenant, who)

        scene = Scene(run=claim.run, discussion=claim.discussion, plan=claim.plan)
        table = LiveTable(scene, record, chains, self._speaker, execution.stop, self._step)
        execution.at(table)
        return table

    async def _step(self, name: str, body: Body) -> TurnStatus:
        async def turn() -> TurnStatus:  # DBOS looks whether it is given a coroutine function
            return await body()

        dbos = self._launched.result().dbos  # no await before the step has its place in the order
        status: TurnStatus = await dbos.DBOS.run_step_async({"name": name}, turn)
        return status

    async def _after_earlier_ones(self, run: str) -> None:
        """Let what was interrupted come to its end first, so that this run sees what was said."""
        discussion = await self._runs.discussion_of(run)
        until = asyncio.get_running_loop().time() + EARLIER_SECONDS
        while discussion and await self._runs.earlier_live(discussion, run):
            if asyncio.get_running_loop().time() > until:
                log.warning("an earlier run does not end; going on without it", extra={"run": run})
                return
            await asyncio.sleep(LOOK_SECONDS)

    async def _give_up(self, journal: RunJournal, words: str) -> None:
        await journal.append([Notice(kind="gave_up", message=words)])
        await journal.end(RunEnded(status="failed"))


def _beginning(claim: Claim) -> Event:
    if claim.seq == 0:
        return RunStarted(participants=claim.plan.participants)
    return Notice(kind="resumed", message="The run was cut off and goes on; unfinished answers start again.")


def _config(database: Database, worker: str) -> "DBOSConfig":
    """DBOS keeps its own books: on Postgres in a schema beside ours, else in a file beside ours."""
    url = database.url
    if not database.is_postgres:
        path = database.path.with_name(f"{database.path.stem}.runs.db")
        with closing(sqlite3.connect(path)) as connection:
            connection.execute("PRAGMA journal_mode=WAL")
        url = f"sqlite:///{path}"
    return {
        "name": "moot",
        "system_database_url": url,
        "executor_id": worker,
        "application_version": VERSION,
        "log_level": "ERROR",
        "console_log_level": "ERROR",
    }

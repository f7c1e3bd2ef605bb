"""Durable runs: the executor behind `moot serve`. DBOS replays a run's finished steps; what was said is in our log."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from contextvars import Context

from moot.engine import telemetry
from moot.engine.events.writer import Journal
from moot.engine.model_resolution import Chains
from moot.engine.runs import dbos
from moot.engine.runs.dbos import Books
from moot.engine.runs.executor import Execution, Executor, for_the_end
from moot.engine.runs.references import Recapping
from moot.engine.runs.table import S
from moot.engine.tools.catalog import Tooling
from moot.engine.turns.model_caller import Speaker
from moot.engine.waits import patiently
from moot.store.database import Database
from moot.store.runs.runs import Claim, Runs
from moot.types.discussions import Message
from moot.types.errors import StoreUnavailable

ENDING_SECONDS = 1.0

Ended = Callable[[Claim, Sequence[Message]], Coroutine[None, None, None]]
log = logging.getLogger(__name__)


class DurableRuns:
    def __init__(
        self,
        database: Database,
        worker: str,
        journal: Journal,
        speaker: Speaker,
        chains: Chains,
        ended: Ended,
        recapping: Recapping,
        tooling: Tooling | None = None,
    ) -> None:
        """`ended` hears of every run that ended here, with the turns of it, after its readers did."""
        self.live: dict[str, Execution] = {}
        self._database = database
        self._worker = worker
        self._runs = Runs(database)
        self._executor = Executor(database, worker, journal, speaker, chains, self._step, recapping, tooling)
        self._ended = ended
        self._tasks: set[asyncio.Task[None]] = set()
        self._resting = False
        self._books: asyncio.Future[Books] = asyncio.get_running_loop().create_future()

    async def launch(self) -> None:
        """Open the books, and take up again what this worker left. It takes its time, so nobody waits for it."""
        self._books.set_result(await dbos.opened(self._database, self._worker, self._execute))
        await self._take_up(self._worker)

    async def take_over(self, worker: str) -> None:
        """Take up the runs that a dead worker left; raise StoreUnavailable if it has to be tried again."""
        await (await asyncio.shield(self._books)).recover(worker)
        await self._take_up(worker)

    async def look_for_ever(self, seconds: float) -> None:
        """Look now and then for runs of ours that nobody started: we may have been told that they were not stored."""
        while True:
            await asyncio.sleep(seconds)
            await self._take_up(self._worker)

    async def look_for_strangers(
        self, seconds: float, note_as_left: Callable[[str], Awaitable[None]]
    ) -> None:
        """Look now and then for runs of workers that nobody knows, and let them be taken over.

        A worker that was taken over may, before it finds out, take a run up again that others were to have.
        """
        await asyncio.shield(self._books)
        while True:
            await asyncio.sleep(seconds)
            try:
                for worker in await dbos.strangers(self._database):
                    await note_as_left(worker)
            except StoreUnavailable as error:
                log.warning("the database is away; nobody is looked for", extra={"reason": str(error)})

    async def _take_up(self, worker: str) -> None:
        """Start what a worker had taken in, but had not even begun; what it had begun is not started twice.

        When this returns, DBOS has all of it in our name: nobody needs to remember that worker any more.
        """
        for run, revision in await patiently(lambda: self._runs.left_by(worker)):
            if run not in self.live:
                await self._start(run, revision)

    def begin_no_more(self) -> None:
        """Let what was not begun wait until this process has ended; others will begin it."""
        self._resting = True

    async def close(self) -> None:
        """Close the books, once nothing goes on here, nothing begins and nobody takes anything up."""
        if self._tasks and self._books.done():
            await asyncio.wait(self._tasks, timeout=ENDING_SECONDS)
        for task in self._tasks:
            task.cancel()
        await self._executor.rest()
        if self._books.done():
            await self._books.result().close()

    def start(self, run: str, revision: int = 0) -> None:
        """Execute a run, unless somebody does already; it is in the database, so nobody needs to wait."""
        self._own(self._start(run, revision))

    async def _start(self, run: str, revision: int) -> None:
        opened = await asyncio.shield(self._books)
        await patiently(lambda: opened.start(run, revision))

    async def _step(self, name: str, body: Callable[[], Coroutine[None, None, S]]) -> S:
        return await self._books.result().step(name, body)

    def told(self, run: str) -> None:
        """Hear that something is wished of a run."""
        if run in self.live:
            self._own(self._obey(run))

    async def _obey(self, run: str) -> None:
        if execution := self.live.get(run):
            async with execution.listening:  # so that nothing is heard in the wrong order
                execution.wish(await patiently(lambda: self._runs.wishes(run)))

    async def _execute(self, run: str, revision: int) -> None:
        while earlier := self.live.get(run):  # of an earlier revision
            await earlier.over.wait()
        if self._resting:
            await for_the_end()
        self.live[run] = execution = Execution(revision)
        telemetry.LIVE_RUNS.inc()
        try:
            finished = await self._executor.execute(run, revision, execution)
        finally:
            self.live.pop(run, None)
            execution.over.set()
            telemetry.LIVE_RUNS.dec()
        if finished is not None:
            self._own(self._ended(*finished))
        self._own(self._go_on(run))

    async def _go_on(self, run: str) -> None:
        """Take a run up again of which something is to be tried again, and nobody came to it before its end."""
        revision = await patiently(lambda: self._runs.is_waiting(run, self._worker))
        if revision is not None:
            await self._start(run, revision)

    def _own(self, work: Coroutine[None, None, None]) -> None:
        # In a context of its own: begun in that of a workflow, DBOS would take it for a part of that.
        task = asyncio.get_running_loop().create_task(work, context=Context())
        self._tasks.add(task)
        task.add_done_callback(self._disown)

    def _disown(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            log.error("what was to be done for a run failed", exc_info=error)

"""Durable runs: the executor behind `moot serve`. DBOS replays a run's finished steps; what was said is in our log."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from contextvars import Context

from moot.engine import telemetry
from moot.engine.events.writer import EventWriter
from moot.engine.model_resolution import ResolveModel
from moot.engine.runs import dbos
from moot.engine.runs.dbos import DbosBackend
from moot.engine.runs.executor import RunExecution, RunExecutor, wait_forever
from moot.engine.runs.references import ReferenceResolver
from moot.engine.runs.table import S
from moot.engine.tools.catalog import ToolCatalog
from moot.engine.turns.model_caller import ModelCaller
from moot.engine.waits import retry_while_unavailable
from moot.store.database import Database
from moot.store.runs.runs import RunLease, Runs
from moot.types.discussions import Message
from moot.types.errors import DatabaseUnavailable

SHUTDOWN_SECONDS = 1.0

OnRunEnded = Callable[[RunLease, Sequence[Message]], Coroutine[None, None, None]]
log = logging.getLogger(__name__)


class RunManager:
    def __init__(
        self,
        database: Database,
        worker: str,
        event_writer: EventWriter,
        model_caller: ModelCaller,
        resolve_model: ResolveModel,
        on_run_ended: OnRunEnded,
        reference_resolver: ReferenceResolver,
        tool_catalog: ToolCatalog | None = None,
    ) -> None:
        """`ended` hears of every run that ended here, with the turns of it, after its readers did."""
        self.executions: dict[str, RunExecution] = {}
        self._database = database
        self._worker = worker
        self._runs = Runs(database)
        self._executor = RunExecutor(
            database,
            worker,
            event_writer,
            model_caller,
            resolve_model,
            self._run_step,
            reference_resolver,
            tool_catalog,
        )
        self._on_run_ended = on_run_ended
        self._tasks: set[asyncio.Task[None]] = set()
        self._is_draining = False
        self._backend: asyncio.Future[DbosBackend] = asyncio.get_running_loop().create_future()

    async def launch(self) -> None:
        """Open the books, and take up again what this worker left. It takes its time, so nobody waits for it."""
        self._backend.set_result(await dbos.launch_dbos(self._database, self._worker, self._execute_run))
        await self._start_pending_runs(self._worker)

    async def take_over(self, worker: str) -> None:
        """Take up the runs that a dead worker left; raise StoreUnavailable if it has to be tried again."""
        await (await asyncio.shield(self._backend)).recover_worker(worker)
        await self._start_pending_runs(worker)

    async def poll_unstarted_runs(self, seconds: float) -> None:
        """Look now and then for runs of ours that nobody started: we may have been told that they were not stored."""
        while True:
            await asyncio.sleep(seconds)
            await self._start_pending_runs(self._worker)

    async def poll_unregistered_workers(
        self, seconds: float, mark_worker_left: Callable[[str], Awaitable[None]]
    ) -> None:
        """Look now and then for runs of workers that nobody knows, and let them be taken over.

        A worker that was taken over may, before it finds out, take a run up again that others were to have.
        """
        await asyncio.shield(self._backend)
        while True:
            await asyncio.sleep(seconds)
            try:
                for worker in await dbos.unregistered_workers(self._database):
                    await mark_worker_left(worker)
            except DatabaseUnavailable as error:
                log.warning("the database is away; nobody is looked for", extra={"reason": str(error)})

    async def _start_pending_runs(self, worker: str) -> None:
        """Start what a worker had taken in, but had not even begun; what it had begun is not started twice.

        When this returns, DBOS has all of it in our name: nobody needs to remember that worker any more.
        """
        for run, revision in await retry_while_unavailable(lambda: self._runs.list_worker_runs(worker)):
            if run not in self.executions:
                await self._start_workflow(run, revision)

    def stop_accepting_runs(self) -> None:
        """Let what was not begun wait until this process has ended; others will begin it."""
        self._is_draining = True

    async def close(self) -> None:
        """Close the books, once nothing goes on here, nothing begins and nobody takes anything up."""
        if self._tasks and self._backend.done():
            await asyncio.wait(self._tasks, timeout=SHUTDOWN_SECONDS)
        for task in self._tasks:
            task.cancel()
        await self._executor.wait_for_tool_sessions()
        if self._backend.done():
            await self._backend.result().close()

    def start_run(self, run: str, revision: int = 0) -> None:
        """Execute a run, unless somebody does already; it is in the database, so nobody needs to wait."""
        self._spawn_task(self._start_workflow(run, revision))

    async def _start_workflow(self, run: str, revision: int) -> None:
        opened = await asyncio.shield(self._backend)
        await retry_while_unavailable(lambda: opened.start_workflow(run, revision))

    async def _run_step(self, name: str, body: Callable[[], Coroutine[None, None, S]]) -> S:
        return await self._backend.result().run_step(name, body)

    def on_command(self, run: str) -> None:
        """Hear that something is wished of a run."""
        if run in self.executions:
            self._spawn_task(self._apply_commands(run))

    async def _apply_commands(self, run: str) -> None:
        if execution := self.executions.get(run):
            async with execution.command_lock:  # so that nothing is heard in the wrong order
                execution.apply_commands(
                    await retry_while_unavailable(lambda: self._runs.pending_commands(run))
                )

    async def _execute_run(self, run: str, revision: int) -> None:
        while earlier := self.executions.get(run):  # of an earlier revision
            await earlier.finished.wait()
        if self._is_draining:
            await wait_forever()
        self.executions[run] = execution = RunExecution(revision)
        telemetry.LIVE_RUNS.inc()
        try:
            finished = await self._executor.execute_run(run, revision, execution)
        finally:
            self.executions.pop(run, None)
            execution.finished.set()
            telemetry.LIVE_RUNS.dec()
        if finished is not None:
            self._spawn_task(self._on_run_ended(*finished))
        self._spawn_task(self._start_next_revision(run))

    async def _start_next_revision(self, run: str) -> None:
        """Take a run up again of which something is to be tried again, and nobody came to it before its end."""
        revision = await retry_while_unavailable(lambda: self._runs.waiting_revision(run, self._worker))
        if revision is not None:
            await self._start_workflow(run, revision)

    def _spawn_task(self, work: Coroutine[None, None, None]) -> None:
        # In a context of its own: begun in that of a workflow, DBOS would take it for a part of that.
        task = asyncio.get_running_loop().create_task(work, context=Context())
        self._tasks.add(task)
        task.add_done_callback(self._on_task_done)

    def _on_task_done(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            log.error("what was to be done for a run failed", exc_info=error)

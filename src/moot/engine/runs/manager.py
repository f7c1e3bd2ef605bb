"""Run manager of `moot serve`: starts, recovers and stops durable runs.

After a crash, DBOS replays the finished steps of a run. Their messages and events are in Moot's own tables.
"""

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
from moot.store.runs.runs import RunLease
from moot.store.stores import Stores
from moot.types.discussions import Message
from moot.types.errors import DatabaseUnavailable

SHUTDOWN_SECONDS = 1.0  # for pending tasks, before they are cancelled

OnRunEnded = Callable[[RunLease, Sequence[Message]], Coroutine[None, None, None]]
log = logging.getLogger(__name__)


class RunManager:
    def __init__(
        self,
        stores: Stores,
        event_writer: EventWriter,
        model_caller: ModelCaller,
        resolve_model: ResolveModel,
        on_run_ended: OnRunEnded,
        reference_resolver: ReferenceResolver,
        tool_catalog: ToolCatalog | None = None,
    ) -> None:
        """`on_run_ended` is called with each run that ended here and its turns, after the end event is committed."""
        self.executions: dict[str, RunExecution] = {}
        self._database = stores.database
        self._worker = stores.worker_id
        self._runs = stores.runs
        self._executor = RunExecutor(
            stores, event_writer, model_caller, resolve_model, self._run_step, reference_resolver, tool_catalog
        )
        self._on_run_ended = on_run_ended
        self._tasks: set[asyncio.Task[None]] = set()
        self._is_draining = False
        self._backend: asyncio.Future[DbosBackend] = asyncio.get_running_loop().create_future()

    async def launch(self) -> None:
        """Start DBOS. It is slow, so runs that start meanwhile wait for it.

        On SQLite this resumes all unfinished runs. On Postgres the worker id is new, so the worker has no runs yet;
        `WorkerMonitor` takes over the runs of dead workers.
        """
        self._backend.set_result(await dbos.launch_dbos(self._database, self._worker, self._execute_run))
        await self._start_pending_runs(self._worker)

    async def take_over(self, worker: str) -> None:
        """Execute the runs of a dead worker here. Idempotent; retry it after DatabaseUnavailable."""
        await (await asyncio.shield(self._backend)).recover_worker(worker)
        await self._start_pending_runs(worker)

    async def poll_unstarted_runs(self, seconds: float) -> None:
        """Start stored runs of this worker that were never started.

        Such runs exist if the connection broke during a commit: the client got an error, but the row was stored.
        """
        while True:
            await asyncio.sleep(seconds)
            await self._start_pending_runs(self._worker)

    async def poll_unregistered_workers(
        self, seconds: float, mark_worker_left: Callable[[str], Awaitable[None]]
    ) -> None:
        """Register workers that own runs but have no row, as left, so that a live worker takes over.

        Covers a race: a fenced worker may restart a run before it notices that it was fenced.
        """
        await asyncio.shield(self._backend)
        while True:
            await asyncio.sleep(seconds)
            try:
                for worker in await dbos.unregistered_workers(self._database):
                    await mark_worker_left(worker)
            except DatabaseUnavailable as error:
                log.warning(
                    "database unavailable; skipping the scan for unregistered workers",
                    extra={"reason": str(error)},
                )

    async def _start_pending_runs(self, worker: str) -> None:
        """Start runs that a worker stored but did not start; a run with a workflow is not started twice.

        When this returns, DBOS has all these runs under the id of this worker, so the old worker can be deregistered.
        """
        for run, revision in await self._runs.list_worker_runs(worker):
            if run not in self.executions:
                await self._start_workflow(run, revision)

    def stop_accepting_runs(self) -> None:
        """Keep new runs pending, so that another worker starts them after this process exits."""
        self._is_draining = True

    async def close(self) -> None:
        """Shut down DBOS. Call it after all runs, takeovers and polls have ended."""
        if self._tasks and self._backend.done():
            await asyncio.wait(self._tasks, timeout=SHUTDOWN_SECONDS)
        for task in self._tasks:
            task.cancel()
        await self._executor.wait_for_tool_sessions()
        if self._backend.done():
            await self._backend.result().close()

    def start_run(self, run: str, revision: int = 0) -> None:
        """Start a run in a background task. The run is stored, so a failure here only delays it. Idempotent."""
        self._spawn_task(self._start_workflow(run, revision))

    async def _start_workflow(self, run: str, revision: int) -> None:
        backend = await asyncio.shield(self._backend)
        await backend.start_workflow(run, revision)

    async def _run_step(self, name: str, body: Callable[[], Coroutine[None, None, S]]) -> S:
        return await self._backend.result().run_step(name, body)

    def on_command(self, run: str) -> None:
        """Handle a database notification that a run has new commands."""
        if run in self.executions:
            self._spawn_task(self._apply_commands(run))

    async def _apply_commands(self, run: str) -> None:
        if execution := self.executions.get(run):
            async with execution.command_lock:  # an older query must not overwrite newer commands
                execution.apply_commands(await self._runs.pending_commands(run))

    async def _execute_run(self, run: str, revision: int) -> None:
        while earlier := self.executions.get(run):  # the previous revision is still running
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
        """Start the revision of a retry that arrived too late for the execution that just ended."""
        revision = await self._runs.waiting_revision(run, self._worker)
        if revision is not None:
            await self._start_workflow(run, revision)

    def _spawn_task(self, work: Coroutine[None, None, None]) -> None:
        # A new context: with the context of a workflow, DBOS would treat the task as a part of it.
        task = asyncio.get_running_loop().create_task(work, context=Context())
        self._tasks.add(task)
        task.add_done_callback(self._on_task_done)

    def _on_task_done(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            log.error("background task of a run failed", exc_info=error)

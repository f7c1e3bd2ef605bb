"""Run manager of `moot serve`: the runs that are live in this process. Starts, recovers and stops durable runs.

After a crash, DBOS replays the finished steps of a run. Their messages and events are in Moot's own tables.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from contextvars import Context

from moot.engine import telemetry
from moot.engine.runs import dbos
from moot.engine.runs.dbos import DbosBackend
from moot.engine.runs.execution import RunDeps, RunExecution, wait_forever
from moot.store.runs.runs import RunLease
from moot.types.discussions import Message
from moot.types.errors import DatabaseUnavailable

SHUTDOWN_SECONDS = 1.0  # for pending tasks, before they are cancelled

OnRunEnded = Callable[[RunLease, Sequence[Message]], Coroutine[None, None, None]]
log = logging.getLogger(__name__)


class RunManager:
    def __init__(self, deps: RunDeps, on_run_ended: OnRunEnded) -> None:
        """`on_run_ended` is called with each run that ended here and its turns, after the end event is committed."""
        self.executions: dict[str, RunExecution] = {}  # by run
        self._deps = deps
        self._stores = deps.stores
        self._on_run_ended = on_run_ended
        self._tasks: set[asyncio.Task[None]] = set()
        self._is_draining = False
        self._backend: asyncio.Future[DbosBackend] = asyncio.get_running_loop().create_future()

    async def launch(self) -> None:
        """Start DBOS. It is slow, so runs that start meanwhile wait for it.

        On SQLite this resumes all unfinished runs. On Postgres the worker id is new, so the worker has no runs yet;
        `WorkerMonitor` takes over the runs of dead workers.
        """
        worker = self._stores.worker_id
        self._backend.set_result(await dbos.launch_dbos(self._stores.database, worker, self._execute_run))
        await self._start_pending_runs(worker)

    def start_run(self, run: str, revision: int = 0) -> None:
        """Start a run in a background task. The run is stored, so a failure here only delays it. Idempotent."""
        self._spawn_task(self._start_workflow(run, revision))

    async def _start_workflow(self, run: str, revision: int) -> None:
        backend = await asyncio.shield(self._backend)
        await backend.start_workflow(run, revision)

    async def _execute_run(self, run: str, revision: int) -> None:
        """Execute a revision. DBOS calls this for each workflow that starts or is recovered."""
        while earlier := self.executions.get(run):  # the previous revision is still running
            await earlier.finished.wait()
        if self._is_draining:
            await wait_forever()
        durable_step = self._backend.result().run_step
        self.executions[run] = execution = RunExecution(self._deps, durable_step, run, revision)
        telemetry.LIVE_RUNS.inc()
        try:
            finished = await execution.execute()
        finally:
            self.executions.pop(run, None)
            execution.finished.set()
            telemetry.LIVE_RUNS.dec()
        if finished is not None:
            self._spawn_task(self._on_run_ended(*finished))
        self._spawn_task(self._start_next_revision(run))

    async def _start_next_revision(self, run: str) -> None:
        """Start the revision of a retry that arrived too late for the execution that just ended."""
        revision = await self._stores.runs.waiting_revision(run, self._stores.worker_id)
        if revision is not None:
            await self._start_workflow(run, revision)

    def on_command(self, run: str) -> None:
        """Handle a database notification that a run has new commands: stop, retry, approve."""
        if execution := self.executions.get(run):
            self._spawn_task(execution.refresh_commands())

    async def take_over(self, worker: str) -> None:
        """Execute the runs of a dead worker here. Idempotent; retry it after DatabaseUnavailable.

        First the runs that DBOS knows, with their finished steps. Then those that the worker stored and never started.
        """
        await (await asyncio.shield(self._backend)).recover_worker(worker)
        await self._start_pending_runs(worker)

    async def poll_unstarted_runs(self, seconds: float) -> None:
        """Start stored runs of this worker that were never started.

        Such runs exist if the connection broke during a commit: the client got an error, but the row was stored.
        """
        while True:
            await asyncio.sleep(seconds)
            await self._start_pending_runs(self._stores.worker_id)

    async def _start_pending_runs(self, worker: str) -> None:
        """Start runs that a worker stored but did not start; a run with a workflow is not started twice.

        When this returns, DBOS has all these runs under the id of this worker, so the old worker can be deregistered.
        """
        for run, revision in await self._stores.runs.list_worker_runs(worker):
            if run not in self.executions:
                await self._start_workflow(run, revision)

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
                for worker in await dbos.unregistered_workers(self._stores.database):
                    await mark_worker_left(worker)
            except DatabaseUnavailable as error:
                log.warning(
                    "database unavailable; skipping the scan for unregistered workers", extra={"reason": str(error)}
                )

    def stop_accepting_runs(self) -> None:
        """Keep new runs pending, so that another worker starts them after this process exits."""
        self._is_draining = True

    async def close(self) -> None:
        """Shut down DBOS. Call it after all runs, takeovers and polls have ended."""
        if self._tasks and self._backend.done():  # before the launch all tasks wait for DBOS, so waiting is useless
            await asyncio.wait(self._tasks, timeout=SHUTDOWN_SECONDS)
        for task in self._tasks:
            task.cancel()
        if self._deps.tool_catalog is not None:
            await self._deps.tool_catalog.wait_for_closing_sessions()
        if self._backend.done():
            await self._backend.result().close()

    def _spawn_task(self, work: Coroutine[None, None, None]) -> None:
        # A new context: with the context of a workflow, DBOS would treat the task as a part of it.
        task = asyncio.get_running_loop().create_task(work, context=Context())
        self._tasks.add(task)
        task.add_done_callback(self._on_task_done)

    def _on_task_done(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            log.error("background task of a run failed", exc_info=error)

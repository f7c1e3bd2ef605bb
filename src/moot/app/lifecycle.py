"""Lifecycle of a worker: open the database, run the background tasks, release the runs on shutdown, exit if fenced."""

import asyncio
import contextlib
import gc
import logging
import os
from collections.abc import AsyncIterator, Mapping
from typing import Any
from uuid import uuid4

from moot.app.container import Engine, Services
from moot.app.database_lock import lock_database
from moot.engine import telemetry
from moot.engine.worker_monitor import WorkerLockFiles, WorkerMonitor, worker_lock_folder
from moot.prompts.library import builtin_personas
from moot.providers.registry import Registry
from moot.server.app import create_app
from moot.server.csrf import SameOriginMiddleware
from moot.server.static_files import STATIC_DIR, StaticFilesApp, read_static_files
from moot.settings import Settings, data_folder
from moot.store.database import Database
from moot.store.encryption import SECRET_VARIABLE as SECRET
from moot.store.encryption import Encryptor
from moot.store.migrate import migrate
from moot.store.notify import receive_notifications
from moot.store.runs.runs import WorkerRegistry
from moot.store.stores import Stores
from moot.streaming.cancellation import cancel_tasks
from moot.types.errors import BadSettings

GC_THRESHOLDS = (10_000, 10, 10)  # Python's default of 700 objects costs a tenth of the CPU while streaming
FENCED_EXIT_CODE = 3  # of a worker whose runs another worker took over
log = logging.getLogger(__name__)


class Worker:
    """All parts of one server process. `lifespan` starts their background tasks."""

    def __init__(
        self,
        settings: Settings,
        database: Database,
        registry: Registry,
        encryptor: Encryptor,
        environment: Mapping[str, str] | None = None,
    ) -> None:
        """`environment`: values of the variables that `[tools]` settings refer to."""
        self.id = f"worker-{uuid4().hex}" if database.is_postgres else "local"
        self.stores = Stores(
            database,
            encryptor,
            worker_id=self.id,
            builtin_personas=builtin_personas(),
            weekly_budget_usd=settings.weekly_budget_usd,
        )
        self.engine = Engine(settings, self.stores, registry, environment or {}, self._exit_when_fenced)
        self.services = Services(settings, self.stores, self.engine)
        self._settings = settings
        self._database = database
        self._is_shutting_down = False
        self._run_discovery_tasks: list[asyncio.Task[None]] = []  # tasks that find runs for this worker
        # Heartbeats have their own connection. If a busy pool delayed them, the lease would expire.
        self._heartbeat_database = Database(database.url, connections=1)
        self.registry = WorkerRegistry(self._heartbeat_database)
        self.lock_files = WorkerLockFiles(worker_lock_folder(data_folder(), database.url))
        self._monitor = WorkerMonitor(
            self.registry,
            self.lock_files,
            self.id,
            settings.worker_lease_seconds,
            self.engine.run_manager.take_over,
            self._exit_when_fenced,
        )

    async def build_asgi_app(self, *, loopback: bool) -> Any:
        settings, accounts = self._settings, self.stores.accounts
        caller = await accounts.ensure_local_account() if _needs_no_login(settings, loopback=loopback) else None
        if caller is None and await accounts.has_no_logins():
            log.warning("no account can log in yet; create one with `moot user add NAME`")
        app = create_app(self.services, caller, settings.metrics_token)
        page = StaticFilesApp(app, await asyncio.to_thread(read_static_files, STATIC_DIR))
        return SameOriginMiddleware(page, loopback=loopback, allowed_hosts=frozenset(settings.allowed_hosts))

    @contextlib.asynccontextmanager
    async def lifespan(self) -> AsyncIterator[None]:
        """Run the background tasks until the block ends, and resume interrupted runs.

        The process exits if one of the tasks fails: a worker with a dead task would hold its lease and do no work.
        """
        services, engine, run_manager = self.services, self.engine, self.engine.run_manager
        self._database.subscribe("moot_control", run_manager.on_command)
        self._database.subscribe("moot_changes", engine.discussion_changes.on_notify)
        self._database.subscribe("moot_events", engine.event_hub.on_notify)
        loops = [
            engine.event_writer.write_forever(),
            engine.event_hub.poll_forever(),
            services.sse_connections.close_stuck_connections(),
            services.revocations.check_periodically(),
        ]
        run_discovery = [
            self._launch_run_manager(),
            run_manager.poll_unstarted_runs(self._settings.worker_lease_seconds),
        ]
        if self._database.is_postgres:
            await self._monitor.join_cluster()
            loops += [receive_notifications(self._database, self._on_notification_gap)]
            run_discovery += [
                self._monitor.run_heartbeats(),
                run_manager.poll_unregistered_workers(
                    self._settings.worker_lease_seconds, self.registry.register_as_left
                ),
            ]
        self._run_discovery_tasks = [asyncio.create_task(loop) for loop in run_discovery]
        tasks = [*(asyncio.create_task(loop) for loop in loops), *self._run_discovery_tasks]
        for task in tasks:
            task.add_done_callback(_exit_on_failure)
        async with self._heartbeat_database:
            try:
                yield
            finally:
                services.image_renderer.close()
                await engine.titles.close()
                await engine.stateless_turns.close()
                await services.mcp.close()
                await engine.ephemeral_runs.close()
                await cancel_tasks(*tasks)

    async def _launch_run_manager(self) -> None:
        """Start executing runs, and tune the garbage collector.

        All modules are loaded now and stay in memory. Freezing them keeps each collection short.
        """
        await self.engine.run_manager.launch()
        gc.collect()
        gc.freeze()
        gc.set_threshold(*GC_THRESHOLDS)

    async def shut_down(self) -> None:
        """Flush events and release unfinished runs to other workers.

        Leaves the cluster even without active runs: a run may be assigned to this worker and not started yet.
        """
        run_manager = self.engine.run_manager
        await self.engine.event_writer.flush_events()
        if not run_manager.executions:
            run_manager.stop_accepting_runs()
            await cancel_tasks(*self._run_discovery_tasks)
            await run_manager.close()
        self._is_shutting_down = True
        if self._database.is_postgres:
            await self._monitor.leave_cluster()
        await asyncio.to_thread(telemetry.flush_traces)

    def _exit_when_fenced(self) -> None:
        """Exit at once, without cleanup: another worker executes the runs now, and this one must not write."""
        if self._is_shutting_down:
            return  # expected: this worker released its runs itself
        log.critical("worker fenced; exiting")
        logging.shutdown()
        os._exit(FENCED_EXIT_CODE)

    def _on_notification_gap(self) -> None:
        """Poll all state once after the notification connection was lost, because notifications were missed."""
        self.engine.event_hub.on_gap()
        self.engine.discussion_changes.on_gap()
        for run in tuple(self.engine.run_manager.executions):
            self.engine.run_manager.on_command(run)


@contextlib.asynccontextmanager
async def open_worker(settings: Settings, environment: Mapping[str, str], address: str) -> AsyncIterator[Worker]:
    """Open and migrate the database, build a worker, and run it until the block ends.

    `address`: URL of this server, written to the lock file of a SQLite database.
    """
    telemetry.configure_tracing(environment)
    encryptor = Encryptor.load_or_create(data_folder(), environment)
    async with contextlib.AsyncExitStack() as stack:
        database = await stack.enter_async_context(Database(settings.database_address))
        if not database.is_postgres:
            stack.enter_context(lock_database(database.path, address))
        elif SECRET not in environment:
            log.warning("%s is not set; keys are encrypted with a local file that other servers cannot read", SECRET)
        await migrate(database)
        await encryptor.check_database_secret(database)
        registry = await stack.enter_async_context(Registry(settings.providers, environment, stored_keys=True))
        worker = Worker(settings, database, registry, encryptor, environment)
        if database.is_postgres:
            stack.enter_context(worker.lock_files.lock_worker_file(worker.id))
        await stack.enter_async_context(worker.lifespan())
        yield worker


def _needs_no_login(settings: Settings, *, loopback: bool) -> bool:
    """Return True if only the user of this machine can connect. `allowed_hosts` imply other clients."""
    if settings.auth == "local" and not loopback:
        raise BadSettings("MOOT_AUTH: `local` allows only a loopback --host. Remove MOOT_AUTH or --host.")
    return settings.auth == "local" or (settings.auth is None and loopback and not settings.allowed_hosts)


def _exit_on_failure(task: asyncio.Task[None]) -> None:
    if not task.cancelled() and (error := task.exception()) is not None:
        log.critical("critical background task failed; exiting", exc_info=error)
        logging.shutdown()
        os._exit(1)

"""Composition root of `moot serve`: builds all services from the settings and owns their lifecycle."""

import asyncio
import contextlib
import gc
import logging
import os
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from typing import Any
from uuid import uuid4

from litestar import Litestar

from moot.app.database_lock import lock_database
from moot.engine import telemetry
from moot.engine.attachments import Attachments
from moot.engine.call_limiter import CallLimiter
from moot.engine.events.discussion_changes import DiscussionChanges
from moot.engine.events.hub import EventHub
from moot.engine.events.writer import EventWriter
from moot.engine.model_resolution import DefaultParticipants, ModelResolver
from moot.engine.runs.ephemeral import EphemeralRuns
from moot.engine.runs.execution import RunDeps
from moot.engine.runs.manager import RunManager
from moot.engine.runs.references import ReferenceResolver
from moot.engine.tools.catalog import ToolCatalog
from moot.engine.tools.insight_search import InsightSearch
from moot.engine.turns.model_caller import ModelCaller
from moot.engine.turns.token_estimates import ContextLimits
from moot.engine.turns.token_estimates import count_answer_tokens as counted_tokens
from moot.engine.whiteboards import Whiteboards
from moot.engine.workers import WorkerLockFiles, WorkerMonitor, worker_lock_folder
from moot.prompts.library import builtin_personas
from moot.providers.embeddings import resolve_embedder
from moot.providers.registry import Registry
from moot.server.app import create_app
from moot.server.auth import Revocations
from moot.server.csrf import SameOriginMiddleware
from moot.server.draft_validation import DraftValidator
from moot.server.mcp.ask import AskRunner
from moot.server.mcp.routes import McpApp
from moot.server.mcp.tools import McpTools
from moot.server.openai.runner import CompletionRunner, RunEventReader
from moot.server.openai.virtual_models import VirtualModels
from moot.server.rate_limits import RateLimits
from moot.server.routes.files import Uploads
from moot.server.sse import SseConnections
from moot.server.static_files import STATIC_DIR, StaticFilesApp, read_static_files
from moot.services.billing import BudgetGuards, BudgetService
from moot.services.channel_memory import ChannelMemory
from moot.services.discussions import DiscussionService
from moot.services.evaluations.accept import ImprovementApplier
from moot.services.evaluations.improve import PersonaImprover
from moot.services.evaluations.judge import Judge
from moot.services.image_renderer import ImageRenderer
from moot.services.knowledge import KnowledgeService
from moot.services.model_tasks import ModelTasks
from moot.services.participants import ParticipantResolver
from moot.services.persona_suggestions import PersonaSuggestions
from moot.services.prompt_replay import PromptReplay
from moot.services.retries import RetryService
from moot.services.run_plans import RunPlanner
from moot.services.run_reports import RunReports
from moot.services.stateless import StatelessService
from moot.services.titles import TitleGenerator
from moot.services.versions import VersionService
from moot.settings import RateSettings, Settings, data_folder
from moot.store.accounts.accounts import Accounts
from moot.store.accounts.provider_keys import ProviderKeys
from moot.store.accounts.tool_servers import ToolServers
from moot.store.billing.budgets import Budgets
from moot.store.billing.token_rates import TokenRates
from moot.store.billing.usage import UsageReports
from moot.store.database import Database
from moot.store.discord.channels import Channels
from moot.store.discussions.discussions import Discussions
from moot.store.discussions.files import Files
from moot.store.encryption import SECRET_VARIABLE as SECRET
from moot.store.encryption import Encryptor
from moot.store.library.evaluations import Evaluations
from moot.store.library.insights import Insights, InsightVectors
from moot.store.library.personas import Personas
from moot.store.library.presets import Presets
from moot.store.library.projects import Projects
from moot.store.migrate import migrate
from moot.store.notify import receive_notifications
from moot.store.rate_limits import RateLimiter
from moot.store.runs.approvals import Approvals
from moot.store.runs.event_log import EventLog
from moot.store.runs.retries import Retries
from moot.store.runs.runs import RunLease, Runs
from moot.store.runs.workers import WorkerRegistry
from moot.transcript.export import TranscriptExporter
from moot.types.discussions import Message
from moot.types.errors import BadSettings

GC_THRESHOLDS = (10_000, 10, 10)  # Python's default of 700 objects costs a tenth of the CPU while streaming
FENCED_EXIT_CODE = 3  # of a worker whose runs another worker took over
log = logging.getLogger(__name__)
ROUTE_DEPENDENCIES = (  # parameter names by which route handlers request a service
    "accounts",
    "approvals",
    "attachments",
    "budget_service",
    "budgets",
    "completion_runner",
    "database",
    "discussion_changes",
    "discussion_service",
    "discussions",
    "draft_validator",
    "embedder",
    "evaluation_judge",
    "evaluations",
    "event_hub",
    "events",
    "file_store",
    "image_renderer",
    "improvement_applier",
    "improvements",
    "insights",
    "knowledge",
    "mcp",
    "model_resolver",
    "participant_resolver",
    "persona_suggestions",
    "personas",
    "presets",
    "projects",
    "prompt_replay",
    "provider_keys",
    "rate_limits",
    "registry",
    "retries",
    "revocations",
    "run_planner",
    "run_reports",
    "runs",
    "sse_connections",
    "stateless",
    "token_rates",
    "tool_catalog",
    "tool_servers",
    "transcripts",
    "turn_versions",
    "uploads",
    "usage_reports",
    "virtual_models",
    "whiteboards",
)


class Services:
    """All services of one server process. `lifespan` starts their background tasks."""

    def __init__(
        self,
        settings: Settings,
        database: Database,
        registry: Registry,
        encryptor: Encryptor,
        environment: Mapping[str, str] | None = None,
    ) -> None:
        """`environment`: values of the variables that `[tools]` settings refer to."""
        self.database = database
        self._lease_seconds = settings.lease
        self._is_shutting_down = False
        self._run_discovery_tasks: list[asyncio.Task[None]] = []  # tasks that find runs for this worker
        self.worker_id = f"worker-{uuid4().hex}" if database.is_postgres else "local"
        self._build_stores(database)
        self.revocations = Revocations(self.accounts)
        self.sse_connections = SseConnections(self.revocations)
        self.discussion_changes = DiscussionChanges(self.discussions, self.approvals)
        self.event_hub = EventHub(self.events)
        self.event_writer = EventWriter(self.events, self.event_hub, lambda _: self._exit_when_fenced())
        self.provider_keys = ProviderKeys(database, encryptor)
        self.model_resolver = model_resolver = ModelResolver(registry, self.provider_keys, settings.fallback)
        rates, rate_limiter = settings.rates, RateLimiter(database)
        call_limiter = CallLimiter(database, rate_limiter, rates.model_calls_a_minute)
        model_caller = ModelCaller(settings.limits, acquire_call=call_limiter.try_acquire_call)
        self.budgets = Budgets(database, settings.budget)
        self.embedder = resolve_embedder(settings.embedding, registry) if settings.embedding else None
        self._build_tool_catalog(settings, environment or {}, encryptor)
        self.run_manager = RunManager(
            RunDeps(
                database=database,
                worker=self.worker_id,
                event_writer=self.event_writer,
                model_caller=model_caller,
                resolve_model=model_resolver.resolve_with_fallbacks,
                reference_resolver=ReferenceResolver(
                    database, model_resolver.resolve_with_fallbacks, model_caller, self.budgets
                ),
                tool_catalog=self.tool_catalog,
            ),
            self._after_run,
        )
        context_limits = ContextLimits(self.token_rates, registry, settings.fallback)
        self.uploads = Uploads(self.file_store)
        self.image_renderer = ImageRenderer()
        self.attachments = Attachments(self.file_store, registry)
        model_tasks = ModelTasks(database, model_caller, self.budgets)
        self.stateless = StatelessService(database, model_caller, model_tasks)
        self.ephemeral_runs = EphemeralRuns(model_caller)
        self._build_model_tasks(model_resolver, model_tasks, rate_limiter)
        self._build_evaluations(model_resolver, model_tasks)
        self.run_planner = RunPlanner(self.personas, self.projects, context_limits)
        self.budget_service = BudgetService(database, self.budgets, model_resolver.resolve_with_fallbacks)
        self.discussion_service = DiscussionService(
            database,
            self.run_planner,
            self.worker_id,
            self.run_manager.start_run,
            self.attachments,
            self.titles,
            self.budget_service,
            self.channel_memory,
            settings.clerk,
        )
        stored_retries = Retries(database, self.worker_id)
        self.retries = RetryService(
            database,
            self.discussion_service,
            stored_retries,
            self.budget_service,
            self.attachments,
            context_limits,
            self.run_manager.start_run,
        )
        self.turn_versions = VersionService(database, self.discussion_service, self.attachments, context_limits)
        # Heartbeats have their own connection. If a busy pool delayed them, the lease would expire.
        self._heartbeat_database = Database(database.url, connections=1)
        self.worker_registry = WorkerRegistry(self._heartbeat_database)
        self.worker_lock_files = WorkerLockFiles(worker_lock_folder(data_folder(), database.url))
        self.worker_monitor = WorkerMonitor(
            self.worker_registry,
            self.worker_lock_files,
            self.worker_id,
            settings.lease,
            self.run_manager.take_over,
            self._exit_when_fenced,
        )
        self.participant_resolver = ParticipantResolver(registry, self.personas, self.tool_catalog)
        self.draft_validator = DraftValidator(self.participant_resolver, self.personas, self.projects)
        default_participants = DefaultParticipants(model_resolver, registry, settings.line_up, settings.model)
        self.virtual_models = VirtualModels(
            self.discussion_service,
            self.run_planner,
            self.participant_resolver,
            default_participants,
            self.presets,
        )
        self.completion_runner = CompletionRunner(
            self.virtual_models,
            model_resolver,
            self.ephemeral_runs,
            BudgetGuards(database, model_tasks),
            self.budgets,
            self.discussion_service,
            self.discussions,
            self.file_store,
            RunEventReader(self.event_hub, self.events, self.runs),
        )
        self._check_models(settings)
        self.rate_limits = _build_rate_limits(rates, rate_limiter)
        self.registry = registry
        self.mcp = McpApp(self._build_mcp_tools())

    def _build_stores(self, database: Database) -> None:
        self.accounts = Accounts(database)
        self.personas = Personas(database, builtin_personas())
        self.runs = Runs(database)
        self.discussions = Discussions(database)
        self.events = EventLog(database)
        self.projects = Projects(database)
        self.presets = Presets(database)
        self.token_rates = TokenRates(database)
        self.run_reports = RunReports(database)
        self.whiteboards = Whiteboards(database)
        self.transcripts = TranscriptExporter(database)
        self.insights = Insights(database)
        self.file_store = Files(database)
        self.usage_reports = UsageReports(database)
        self.channels = Channels(database)
        self.approvals = Approvals(database)

    def _build_tool_catalog(self, settings: Settings, environment: Mapping[str, str], encryptor: Encryptor) -> None:
        database = self.database
        self.tool_servers = ToolServers(database, encryptor)
        self.tool_catalog = ToolCatalog(
            database,
            settings.tools,
            environment,
            self.tool_servers,
            InsightSearch(self.insights, InsightVectors(database), self.embedder),
            self.budgets,
            allow_private_networks=settings.private_tool_servers,
        )

    def _check_models(self, settings: Settings) -> None:
        """Raise UsageError if the settings name an unknown model."""
        for name, others in settings.fallback.items():
            for model in (name, *others):
                self.participant_resolver.check_model(model, f"fallback of {name} in the settings")
        named = {"clerk": (settings.clerk,) if settings.clerk else (), "line_up": settings.line_up}
        for field, models in named.items():
            for model in models:
                self.participant_resolver.check_model(model, f"{field} in the settings")

    def _build_model_tasks(
        self, model_resolver: ModelResolver, model_tasks: ModelTasks, rate_limiter: RateLimiter
    ) -> None:
        """Build the services that call models outside of runs."""
        database, models = self.database, model_resolver.resolve_with_fallbacks
        self.titles = TitleGenerator(database, models, model_tasks, rate_limiter)
        self.knowledge = KnowledgeService(database, models, model_tasks, self.embedder)
        self.channel_memory = ChannelMemory(database, models, model_tasks)

    def _build_evaluations(self, model_resolver: ModelResolver, model_tasks: ModelTasks) -> None:
        """Build the services that evaluate answers and that improve or suggest personas."""
        database = self.database
        self.prompt_replay = PromptReplay(database)
        self.evaluations = Evaluations(database)
        self.evaluation_judge = Judge(database, model_resolver.resolve_with_fallbacks, model_tasks)
        self.improvements = PersonaImprover(
            database,
            self.worker_id,
            self.evaluation_judge,
            self.personas,
            model_resolver.resolve_with_fallbacks,
            model_tasks,
        )
        self.improvement_applier = ImprovementApplier(database, self.worker_id, self.improvements)
        self.persona_suggestions = PersonaSuggestions(self.personas, model_resolver.resolve_with_fallbacks, model_tasks)

    def _build_mcp_tools(self) -> McpTools:
        ask_runner = AskRunner(
            self.discussion_service,
            self.draft_validator,
            self.rate_limits,
            self.discussions,
            self.presets,
            self.events,
            self.event_hub,
            self.runs,
            self.revocations,
        )
        return McpTools(
            ask_runner,
            self.discussions,
            self.transcripts,
            self.presets,
            self.projects,
            self.knowledge,
            self.rate_limits,
            self.embedder,
        )

    def route_dependencies(self) -> Mapping[str, object]:
        return {name: getattr(self, name) for name in ROUTE_DEPENDENCIES}

    async def build_asgi_app(
        self, settings: Settings, *, loopback: bool, create: Callable[..., Litestar] = create_app
    ) -> Any:
        caller = await self.accounts.ensure_local_account() if _needs_no_login(settings, loopback=loopback) else None
        if caller is None and await self.accounts.has_no_logins():
            log.warning("no account can log in yet; create one with `moot user add NAME`")
        app = create(self.accounts, self.rate_limits, caller, self.route_dependencies(), settings.metrics_token)
        page = StaticFilesApp(app, await asyncio.to_thread(read_static_files, STATIC_DIR))
        return SameOriginMiddleware(page, loopback=loopback, allowed_hosts=frozenset(settings.hosts))

    @contextlib.asynccontextmanager
    async def lifespan(self) -> AsyncIterator[None]:
        """Run the background tasks until the block ends, and resume interrupted runs.

        The process exits if one of the tasks fails: a worker with a dead task would hold its lease and do no work.
        """
        self.database.subscribe("moot_control", self.run_manager.on_command)
        self.database.subscribe("moot_changes", self.discussion_changes.on_notify)
        self.database.subscribe("moot_events", self.event_hub.on_notify)
        loops = [
            self.event_writer.write_forever(),
            self.event_hub.poll_forever(),
            self.sse_connections.close_stuck_connections(),
            self.revocations.check_periodically(),
        ]
        run_discovery = [
            self._launch_run_manager(),
            self.run_manager.poll_unstarted_runs(self._lease_seconds),
        ]
        if self.database.is_postgres:
            await self.worker_monitor.join_cluster()
            loops += [receive_notifications(self.database, self._on_notification_gap)]
            run_discovery += [
                self.worker_monitor.run_heartbeats(),
                self.run_manager.poll_unregistered_workers(self._lease_seconds, self.worker_registry.register_as_left),
            ]
        self._run_discovery_tasks = [asyncio.create_task(loop) for loop in run_discovery]
        tasks = [*(asyncio.create_task(loop) for loop in loops), *self._run_discovery_tasks]
        for task in tasks:
            task.add_done_callback(_exit_on_failure)
        async with self._heartbeat_database:
            try:
                yield
            finally:
                self.image_renderer.close()
                await self.titles.close()
                await self.stateless.close()
                await self.mcp.close()
                await self.ephemeral_runs.close()
                await _cancel_tasks(tasks)

    async def _launch_run_manager(self) -> None:
        """Start executing runs, and tune the garbage collector.

        All modules are loaded now and stay in memory. Freezing them keeps each collection short.
        """
        await self.run_manager.launch()
        gc.collect()
        gc.freeze()
        gc.set_threshold(*GC_THRESHOLDS)

    async def shutdown_services(self) -> None:
        """Flush events and release unfinished runs to other workers.

        Leaves the cluster even without active runs: a run may be assigned to this worker and not started yet.
        """
        await self.event_writer.flush_events()
        if not self.run_manager.executions:
            self.run_manager.stop_accepting_runs()
            await _cancel_tasks(self._run_discovery_tasks)
            await self.run_manager.close()
        self._is_shutting_down = True
        if self.database.is_postgres:
            await self.worker_monitor.leave_cluster()
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
        self.event_hub.on_gap()
        self.discussion_changes.on_gap()
        for run in tuple(self.run_manager.executions):
            self.run_manager.on_command(run)

    async def _after_run(self, lease: RunLease, turns: Sequence[Message]) -> None:
        """Callback of the run manager, after the end of a run is stored."""
        await self._record_usage(lease, turns)
        await self.channel_memory.summarize_after_run(lease)

    async def _record_usage(self, lease: RunLease, turns: Sequence[Message]) -> None:
        """Count persona uses, and the token counts that providers reported, for later estimates."""
        personas = {who.id: who.persona for who in lease.plan.participants}
        for turn in turns:
            if persona := personas.get(turn.participant or ""):
                await self.personas.count_use(lease.tenant, persona, completed=turn.status == "completed")
        await self.token_rates.add_counts(counted_tokens(turns))


@contextlib.asynccontextmanager
async def open_services(settings: Settings, environment: Mapping[str, str], address: str) -> AsyncIterator[Services]:
    """Open and migrate the database, build the services, and run them until the block ends.

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
        services = Services(settings, database, registry, encryptor, environment)
        if database.is_postgres:
            stack.enter_context(services.worker_lock_files.lock_worker_file(services.worker_id))
        await stack.enter_async_context(services.lifespan())
        yield services


def _build_rate_limits(rates: RateSettings, rate_limiter: RateLimiter) -> RateLimits:
    return RateLimits(
        rate_limiter,
        requests_per_minute=rates.calls_a_minute,
        model_requests_per_minute=rates.starts_a_minute,
        messages_per_minute=rates.messages_a_minute,
        messages_burst=rates.messages_burst,
        debates_per_minute=rates.debates_a_minute,
        debates_burst=rates.debates_burst,
    )


def _needs_no_login(settings: Settings, *, loopback: bool) -> bool:
    """Return True if only the user of this machine can connect. `hosts` settings imply other clients."""
    if settings.auth == "local" and not loopback:
        raise BadSettings("MOOT_AUTH: `local` allows only a loopback --host. Remove MOOT_AUTH or --host.")
    return settings.auth == "local" or (settings.auth is None and loopback and not settings.hosts)


async def _cancel_tasks(tasks: Sequence[asyncio.Task[None]]) -> None:
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


def _exit_on_failure(task: asyncio.Task[None]) -> None:
    if not task.cancelled() and (error := task.exception()) is not None:
        log.critical("critical background task failed; exiting", exc_info=error)
        logging.shutdown()
        os._exit(1)

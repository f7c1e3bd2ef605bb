"""Composition root of `moot serve`: builds the engine and the services from the settings and the stores."""

from collections.abc import Callable, Mapping, Sequence

from moot.engine.attachments import Attachments
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
from moot.engine.turns.token_estimates import ContextLimits, count_answer_tokens
from moot.engine.whiteboards import Whiteboards
from moot.providers.embeddings import resolve_embedder
from moot.providers.registry import Registry
from moot.server.auth import Revocations
from moot.server.mcp.ask import AskRunner
from moot.server.mcp.routes import McpApp
from moot.server.mcp.tools import McpTools
from moot.server.openai.runner import CompletionRunner
from moot.server.openai.virtual_models import VirtualModels
from moot.server.rate_limits import RateLimits
from moot.server.routes.files import Uploads
from moot.server.sse import SseConnections
from moot.services.billing import BudgetService
from moot.services.channel_memory import ChannelMemory
from moot.services.discussions import DiscussionService
from moot.services.evaluations.improve import PersonaImprover
from moot.services.evaluations.judge import Judge
from moot.services.image_renderer import ImageRenderer
from moot.services.knowledge import KnowledgeService
from moot.services.model_tasks import ModelTasks
from moot.services.persona_suggestions import PersonaSuggestions
from moot.services.prompt_replay import PromptReplay
from moot.services.retries import RetryService
from moot.services.run_plans import RunPlanner
from moot.services.run_reports import RunReports
from moot.services.titles import TitleGenerator
from moot.services.versions import VersionService
from moot.settings import Settings
from moot.store.rate_limits import CallLimiter
from moot.store.runs.runs import RunLease
from moot.store.stores import Stores
from moot.transcript.export import TranscriptExporter
from moot.types.discussions import Message


class Engine:
    """What executes runs and calls models."""

    def __init__(
        self,
        settings: Settings,
        stores: Stores,
        registry: Registry,
        environment: Mapping[str, str],
        on_fenced: Callable[[], None],
    ) -> None:
        """`environment`: values of the variables that `[tools]` settings refer to.

        `on_fenced` is called when another worker has taken over the runs of this one.
        """
        self.registry = registry
        self.embedder = resolve_embedder(settings.embedding_model, registry) if settings.embedding_model else None
        self.model_resolver = ModelResolver(registry, stores.provider_keys, settings.fallback)
        self.context_limits = ContextLimits(stores.token_rates, registry, settings.fallback)
        self.resolve_model = models = self.model_resolver.resolve_with_fallbacks
        call_limiter = CallLimiter(stores.database, stores.rate_limiter, settings.rates.model_calls_per_minute)
        model_caller = ModelCaller(settings.limits, acquire_call=call_limiter.try_acquire_call)
        self.model_tasks = ModelTasks(stores, model_caller)
        self.titles = TitleGenerator(stores.database, models, self.model_tasks, stores.rate_limiter)
        self.channel_memory = channel_memory = ChannelMemory(stores.channel_memories, models, self.model_tasks)
        self.ephemeral_runs = EphemeralRuns(model_caller)
        self.stateless_turns = EphemeralRuns(model_caller)  # apart, because a draining server stops them first
        self.discussion_changes = DiscussionChanges(stores.discussions, stores.approvals)
        self.event_hub = EventHub(stores.events)
        self.event_writer = EventWriter(stores.events, self.event_hub, lambda _: on_fenced())
        self.tool_catalog = ToolCatalog(
            stores,
            settings.tools,
            environment,
            InsightSearch(stores.insights, stores.insight_vectors, self.embedder),
            allow_private_networks=settings.private_tool_servers,
        )

        async def after_run(lease: RunLease, turns: Sequence[Message]) -> None:
            await _record_usage(stores, lease, turns)
            await channel_memory.summarize_after_run(lease)

        run_deps = RunDeps(
            stores=stores,
            event_writer=self.event_writer,
            model_caller=model_caller,
            resolve_model=models,
            reference_resolver=ReferenceResolver(stores, models, model_caller),
            tool_catalog=self.tool_catalog,
        )
        self.run_manager = RunManager(run_deps, after_run)


async def _record_usage(stores: Stores, lease: RunLease, turns: Sequence[Message]) -> None:
    """Count persona uses, and the token counts that providers reported, for later estimates."""
    personas = {who.id: who.persona for who in lease.plan.participants}
    for turn in turns:
        if persona := personas.get(turn.participant or ""):
            await stores.personas.count_use(lease.tenant, persona, completed=turn.status == "completed")
    await stores.token_rates.add_counts(count_answer_tokens(turns))


class Services:
    """What route handlers use. A handler names an attribute as a parameter, and Litestar injects the value."""

    def __init__(self, settings: Settings, stores: Stores, engine: Engine) -> None:
        """Raises UsageError if the settings name an unknown model."""
        self.accounts = stores.accounts
        self.approvals = stores.approvals
        self.budgets = stores.budgets
        self.database = stores.database
        self.discussions = stores.discussions
        self.evaluations = stores.evaluations
        self.events = stores.events
        self.file_store = stores.files
        self.insights = stores.insights
        self.personas = stores.personas
        self.presets = stores.presets
        self.projects = stores.projects
        self.provider_keys = stores.provider_keys
        self.runs = stores.runs
        self.token_rates = stores.token_rates
        self.tool_servers = stores.tool_servers
        self.usage_reports = stores.usage_reports

        self.discussion_changes = engine.discussion_changes
        self.embedder = engine.embedder
        self.event_hub = engine.event_hub
        self.model_resolver = engine.model_resolver
        self.registry = registry = engine.registry
        self.stateless_turns = engine.stateless_turns
        self.model_tasks = engine.model_tasks
        self.tool_catalog = engine.tool_catalog

        models, model_tasks, context_limits = engine.resolve_model, engine.model_tasks, engine.context_limits
        self.run_planner = RunPlanner(registry, stores.personas, stores.projects, context_limits, engine.tool_catalog)
        _check_models(settings, self.run_planner)
        self.attachments = Attachments(stores.files, registry)
        self.budget_service = BudgetService(stores, models)
        self.discussion_service = DiscussionService(
            stores,
            self.run_planner,
            engine.run_manager.start_run,
            self.attachments,
            engine.titles,
            self.budget_service,
            engine.channel_memory,
            settings.task_model,
        )
        self.retries = RetryService(
            stores,
            self.discussion_service,
            self.budget_service,
            self.attachments,
            context_limits,
            engine.run_manager.start_run,
        )
        self.turn_versions = VersionService(stores, self.discussion_service, self.attachments, context_limits)
        self.rate_limits = RateLimits(stores.rate_limiter, settings.rates)
        self.revocations = Revocations(stores.accounts)
        self.sse_connections = SseConnections(self.revocations)
        self.uploads = Uploads(stores.files)
        self.transcripts = TranscriptExporter(stores)
        self.whiteboards = Whiteboards(stores)
        self.image_renderer = ImageRenderer()
        self.prompt_replay = PromptReplay(stores)
        self.run_reports = RunReports(stores)
        self.knowledge = KnowledgeService(stores, models, model_tasks, engine.embedder)
        self.persona_suggestions = PersonaSuggestions(stores.personas, models, model_tasks)
        self.evaluation_judge = Judge(stores, models, model_tasks)
        self.improvements = PersonaImprover(stores, self.evaluation_judge, models, model_tasks)
        self.virtual_models = VirtualModels(
            self.discussion_service,
            self.run_planner,
            DefaultParticipants(engine.model_resolver, registry, settings.participants, settings.model),
            stores.presets,
        )
        self.completion_runner = CompletionRunner(
            stores,
            self.virtual_models,
            engine.model_resolver,
            engine.ephemeral_runs,
            model_tasks,
            self.discussion_service,
            engine.event_hub,
        )
        self.mcp = McpApp(
            McpTools(
                stores,
                AskRunner(
                    stores,
                    self.discussion_service,
                    self.run_planner,
                    self.rate_limits,
                    engine.event_hub,
                    self.revocations,
                ),
                self.transcripts,
                self.knowledge,
                self.rate_limits,
                engine.embedder,
            )
        )


def _check_models(settings: Settings, run_planner: RunPlanner) -> None:
    for name, others in settings.fallback.items():
        for model in (name, *others):
            run_planner.check_model(model, f"fallback of {name} in the settings")
    named = {"task_model": (settings.task_model,) if settings.task_model else (), "participants": settings.participants}
    for field, models in named.items():
        for model in models:
            run_planner.check_model(model, f"{field} in the settings")

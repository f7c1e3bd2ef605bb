"""Composition root of `moot serve`: builds the engine and the services from the settings and the stores."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

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
from moot.engine.turns.token_estimates import ContextLimits, count_answer_tokens
from moot.engine.whiteboards import Whiteboards
from moot.providers.embeddings import HttpEmbedder, resolve_embedder
from moot.providers.registry import Registry
from moot.server.auth import Revocations
from moot.server.mcp.ask import AskRunner
from moot.server.mcp.routes import McpApp
from moot.server.mcp.tools import McpTools
from moot.server.openai.runner import CompletionRunner, RunEventReader
from moot.server.openai.virtual_models import VirtualModels
from moot.server.rate_limits import RateLimits
from moot.server.routes.files import Uploads
from moot.server.sse import SseConnections
from moot.services.billing import BudgetService
from moot.services.channel_memory import ChannelMemory
from moot.services.discussions import DiscussionService
from moot.services.evaluations.apply import ImprovementApplier
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
from moot.services.stateless import StatelessService
from moot.services.titles import TitleGenerator
from moot.services.versions import VersionService
from moot.settings import Settings
from moot.store.accounts.accounts import Accounts
from moot.store.accounts.provider_keys import ProviderKeys
from moot.store.accounts.tool_servers import ToolServers
from moot.store.billing.budgets import Budgets
from moot.store.billing.token_rates import TokenRates
from moot.store.billing.usage import UsageReports
from moot.store.database import Database
from moot.store.discussions.discussions import Discussions
from moot.store.discussions.files import Files
from moot.store.library.evaluations import Evaluations
from moot.store.library.insights import Insights
from moot.store.library.personas import Personas
from moot.store.library.presets import Presets
from moot.store.library.projects import Projects
from moot.store.runs.approvals import Approvals
from moot.store.runs.event_log import EventLog
from moot.store.runs.runs import RunLease, Runs
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
        models = self.model_resolver.resolve_with_fallbacks
        call_limiter = CallLimiter(stores.database, stores.rate_limiter, settings.rates.model_calls_per_minute)
        model_caller = ModelCaller(settings.limits, acquire_call=call_limiter.try_acquire_call)
        self.model_tasks = ModelTasks(stores, model_caller)
        self.titles = TitleGenerator(stores.database, models, self.model_tasks, stores.rate_limiter)
        self.channel_memory = channel_memory = ChannelMemory(stores.channel_memories, models, self.model_tasks)
        self.stateless = StatelessService(model_caller, self.model_tasks)
        self.ephemeral_runs = EphemeralRuns(model_caller)
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


@dataclass(kw_only=True)
class Services:
    """What route handlers use. A handler names a field as a parameter, and Litestar injects the value."""

    accounts: Accounts
    approvals: Approvals
    attachments: Attachments
    budget_service: BudgetService
    budgets: Budgets
    completion_runner: CompletionRunner
    database: Database
    discussion_changes: DiscussionChanges
    discussion_service: DiscussionService
    discussions: Discussions
    embedder: HttpEmbedder | None
    evaluation_judge: Judge
    evaluations: Evaluations
    event_hub: EventHub
    events: EventLog
    file_store: Files
    image_renderer: ImageRenderer
    improvement_applier: ImprovementApplier
    improvements: PersonaImprover
    insights: Insights
    knowledge: KnowledgeService
    mcp: McpApp
    model_resolver: ModelResolver
    persona_suggestions: PersonaSuggestions
    personas: Personas
    presets: Presets
    projects: Projects
    prompt_replay: PromptReplay
    provider_keys: ProviderKeys
    rate_limits: RateLimits
    registry: Registry
    retries: RetryService
    revocations: Revocations
    run_planner: RunPlanner
    run_reports: RunReports
    runs: Runs
    sse_connections: SseConnections
    stateless: StatelessService
    token_rates: TokenRates
    tool_catalog: ToolCatalog
    tool_servers: ToolServers
    transcripts: TranscriptExporter
    turn_versions: VersionService
    uploads: Uploads
    usage_reports: UsageReports
    virtual_models: VirtualModels
    whiteboards: Whiteboards


def build_services(settings: Settings, stores: Stores, engine: Engine) -> Services:
    """Raises UsageError if the settings name an unknown model."""
    registry, model_resolver, model_tasks = engine.registry, engine.model_resolver, engine.model_tasks
    models = model_resolver.resolve_with_fallbacks
    context_limits = ContextLimits(stores.token_rates, registry, settings.fallback)
    attachments = Attachments(stores.files, registry)
    run_planner = RunPlanner(registry, stores.personas, stores.projects, context_limits, engine.tool_catalog)
    _check_models(settings, run_planner)
    budget_service = BudgetService(stores, models)
    start_run = engine.run_manager.start_run
    memory, task_model = engine.channel_memory, settings.task_model
    discussion_service = DiscussionService(
        stores, run_planner, start_run, attachments, engine.titles, budget_service, memory, task_model
    )
    default_participants = DefaultParticipants(model_resolver, registry, settings.participants, settings.model)
    virtual_models = VirtualModels(discussion_service, run_planner, default_participants, stores.presets)
    event_reader = RunEventReader(engine.event_hub, stores.events, stores.runs)
    completion_runner = CompletionRunner(
        stores, virtual_models, model_resolver, engine.ephemeral_runs, model_tasks, discussion_service, event_reader
    )
    rate_limits = RateLimits(stores.rate_limiter, settings.rates)
    revocations = Revocations(stores.accounts)
    ask_runner = AskRunner(stores, discussion_service, run_planner, rate_limits, engine.event_hub, revocations)
    transcripts = TranscriptExporter(stores)
    knowledge = KnowledgeService(stores, models, model_tasks, engine.embedder)
    judge = Judge(stores, models, model_tasks)
    improvements = PersonaImprover(stores, judge, models, model_tasks)
    return Services(
        accounts=stores.accounts,
        approvals=stores.approvals,
        attachments=attachments,
        budget_service=budget_service,
        budgets=stores.budgets,
        completion_runner=completion_runner,
        database=stores.database,
        discussion_changes=engine.discussion_changes,
        discussion_service=discussion_service,
        discussions=stores.discussions,
        embedder=engine.embedder,
        evaluation_judge=judge,
        evaluations=stores.evaluations,
        event_hub=engine.event_hub,
        events=stores.events,
        file_store=stores.files,
        image_renderer=ImageRenderer(),
        improvement_applier=ImprovementApplier(stores, improvements),
        improvements=improvements,
        insights=stores.insights,
        knowledge=knowledge,
        mcp=McpApp(McpTools(stores, ask_runner, transcripts, knowledge, rate_limits, engine.embedder)),
        model_resolver=model_resolver,
        persona_suggestions=PersonaSuggestions(stores.personas, models, model_tasks),
        personas=stores.personas,
        presets=stores.presets,
        projects=stores.projects,
        prompt_replay=PromptReplay(stores),
        provider_keys=stores.provider_keys,
        rate_limits=rate_limits,
        registry=registry,
        retries=RetryService(stores, discussion_service, budget_service, attachments, context_limits, start_run),
        revocations=revocations,
        run_planner=run_planner,
        run_reports=RunReports(stores),
        runs=stores.runs,
        sse_connections=SseConnections(revocations),
        stateless=engine.stateless,
        token_rates=stores.token_rates,
        tool_catalog=engine.tool_catalog,
        tool_servers=stores.tool_servers,
        transcripts=transcripts,
        turn_versions=VersionService(stores, discussion_service, attachments, context_limits),
        uploads=Uploads(stores.files),
        usage_reports=stores.usage_reports,
        virtual_models=virtual_models,
        whiteboards=Whiteboards(stores),
    )


def _check_models(settings: Settings, run_planner: RunPlanner) -> None:
    for name, others in settings.fallback.items():
        for model in (name, *others):
            run_planner.check_model(model, f"fallback of {name} in the settings")
    named = {"task_model": (settings.task_model,) if settings.task_model else (), "participants": settings.participants}
    for field, models in named.items():
        for model in models:
            run_planner.check_model(model, f"{field} in the settings")

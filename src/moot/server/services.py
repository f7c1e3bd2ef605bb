"""What route handlers use. A handler names a field as a parameter, and Litestar injects the value."""

from dataclasses import dataclass

from moot.engine.attachments import Attachments
from moot.engine.events.discussion_changes import DiscussionChanges
from moot.engine.events.hub import EventHub
from moot.engine.model_resolution import ModelResolver
from moot.engine.tools.catalog import ToolCatalog
from moot.engine.whiteboards import Whiteboards
from moot.providers.embeddings import HttpEmbedder
from moot.providers.registry import Registry
from moot.server.auth import Revocations
from moot.server.draft_validation import DraftValidator
from moot.server.mcp.routes import McpApp
from moot.server.openai.runner import CompletionRunner
from moot.server.openai.virtual_models import VirtualModels
from moot.server.rate_limits import RateLimits
from moot.server.routes.files import Uploads
from moot.server.sse import SseConnections
from moot.services.billing import BudgetService
from moot.services.discussions import DiscussionService
from moot.services.evaluations.apply import ImprovementApplier
from moot.services.evaluations.improve import PersonaImprover
from moot.services.evaluations.judge import Judge
from moot.services.image_renderer import ImageRenderer
from moot.services.knowledge import KnowledgeService
from moot.services.participants import ParticipantResolver
from moot.services.persona_suggestions import PersonaSuggestions
from moot.services.prompt_replay import PromptReplay
from moot.services.retries import RetryService
from moot.services.run_plans import RunPlanner
from moot.services.run_reports import RunReports
from moot.services.stateless import StatelessService
from moot.services.versions import VersionService
from moot.store.accounts.accounts import Accounts
from moot.store.accounts.provider_keys import ProviderKeys
from moot.store.accounts.tool_servers import ToolServers
from moot.store.billing.budgets import Budgets
from moot.store.billing.usage import TokenRates, UsageReports
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
from moot.store.runs.runs import Runs
from moot.transcript.export import TranscriptExporter


@dataclass(frozen=True, slots=True)
class Services:
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
    draft_validator: DraftValidator
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
    participant_resolver: ParticipantResolver
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

"""All stores of one database, built once and handed down."""

from collections.abc import Sequence

from moot.store.accounts.accounts import Accounts
from moot.store.accounts.provider_keys import ProviderKeys
from moot.store.accounts.tool_servers import ToolServers
from moot.store.billing.budgets import Budgets
from moot.store.billing.usage import TokenRates, UsageReports
from moot.store.database import Database
from moot.store.discord.channels import Channels
from moot.store.discord.memories import ChannelMemories
from moot.store.discussions.discussions import Discussions
from moot.store.discussions.edits import MessageEdits
from moot.store.discussions.files import Files
from moot.store.discussions.snapshots import DiscussionSnapshots
from moot.store.encryption import Encryptor
from moot.store.library.evaluations import AppliedImprovements, Evaluations
from moot.store.library.insights import Insights, InsightVectors
from moot.store.library.patterns import Consolidations
from moot.store.library.personas import Personas
from moot.store.library.presets import Presets
from moot.store.library.projects import Projects
from moot.store.library.summaries import DiscussionSummaries
from moot.store.rate_limits import RateLimiter
from moot.store.runs.approvals import Approvals
from moot.store.runs.event_log import EventLog
from moot.store.runs.retries import Retries
from moot.store.runs.runs import Lanes, Runs
from moot.types.personas import Persona


class Stores:
    def __init__(
        self,
        database: Database,
        encryptor: Encryptor,
        *,
        worker_id: str,
        builtin_personas: Sequence[Persona],
        weekly_budget_usd: float | None,
    ) -> None:
        """`worker_id`: id of this process. `weekly_budget_usd`: limit of accounts that have none of their own."""
        self.database = database
        self.worker_id = worker_id
        self.accounts = Accounts(database)
        self.provider_keys = ProviderKeys(database, encryptor)
        self.tool_servers = ToolServers(database, encryptor)
        self.rate_limiter = RateLimiter(database)
        self.budgets = Budgets(database, weekly_budget_usd)
        self.token_rates = TokenRates(database)
        self.usage_reports = UsageReports(database)
        self.discussions = Discussions(database)
        self.edits = MessageEdits(database)
        self.files = Files(database)
        self.snapshots = DiscussionSnapshots(database)
        self.runs = Runs(database)
        self.events = EventLog(database)
        self.lanes = Lanes(database)
        self.retries = Retries(database, worker_id)
        self.approvals = Approvals(database)
        self.personas = Personas(database, builtin_personas)
        self.projects = Projects(database)
        self.presets = Presets(database)
        self.summaries = DiscussionSummaries(database)
        self.insights = Insights(database)
        self.insight_vectors = InsightVectors(database)
        self.consolidations = Consolidations(database)
        self.evaluations = Evaluations(database)
        self.applied_improvements = AppliedImprovements(database, worker_id)
        self.channels = Channels(database)
        self.channel_memories = ChannelMemories(database)

"""The composition root of `moot serve`: everything is built here, from the settings, and owned until the end."""

import asyncio
import contextlib
import gc
import logging
import os
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from typing import Any
from uuid import uuid4

from litestar import Litestar

from moot.app.database_lock import alone
from moot.engine import telemetry
from moot.engine.attachments import Attaching
from moot.engine.call_limiter import Admission
from moot.engine.events.discussion_changes import Changes
from moot.engine.events.hub import Feeds
from moot.engine.events.writer import Journal
from moot.engine.model_resolution import Casting, UsualTable
from moot.engine.runs.ephemeral import Sittings
from moot.engine.runs.manager import DurableRuns
from moot.engine.runs.references import Recapping
from moot.engine.tools.catalog import Tooling
from moot.engine.tools.insight_search import InsightSearch
from moot.engine.turns.model_caller import Speaker
from moot.engine.turns.token_estimates import Measuring
from moot.engine.turns.token_estimates import counted as counted_tokens
from moot.engine.whiteboards import Boards
from moot.engine.workers import Presence, Workers, folder_for
from moot.prompts.library import shipped
from moot.providers.embeddings import embedder
from moot.providers.registry import Registry
from moot.server.app import create_app
from moot.server.auth import Revocations
from moot.server.csrf import OwnSite
from moot.server.draft_validation import Drafts
from moot.server.mcp.ask import Asking
from moot.server.mcp.routes import McpFace
from moot.server.mcp.tools import Tools
from moot.server.openai.runner import Hearing, Speaking
from moot.server.openai.virtual_models import Tables
from moot.server.rate_limits import RateLimits
from moot.server.routes.files import Uploads
from moot.server.sse import Readers
from moot.server.static_files import STATIC, Page, read
from moot.services.billing import Purses, Treasury
from moot.services.channel_memory import Remembering
from moot.services.discussions import Hall
from moot.services.evaluations.accept import Accepting
from moot.services.evaluations.improve import Improvements
from moot.services.evaluations.judge import Court
from moot.services.image_renderer import Painter
from moot.services.knowledge import Knowledge
from moot.services.model_tasks import Errands
from moot.services.participants import Seating
from moot.services.persona_suggestions import Perspectives
from moot.services.prompt_replay import Retelling
from moot.services.retries import Retrying
from moot.services.run_plans import Planning
from moot.services.run_reports import Reports
from moot.services.stateless import Stateless
from moot.services.titles import Titles
from moot.services.versions import Revising
from moot.settings import Rates as RateSettings
from moot.settings import Settings, data_folder
from moot.store.accounts.accounts import Accounts
from moot.store.accounts.provider_keys import ProviderKeys
from moot.store.accounts.tool_servers import ToolServers
from moot.store.billing.budgets import Budgets
from moot.store.billing.token_rates import TokenRates
from moot.store.billing.usage import Bills
from moot.store.database import Database
from moot.store.discord.channels import Channels
from moot.store.discussions.discussions import Discussions
from moot.store.discussions.files import Files
from moot.store.encryption import VARIABLE as SECRET
from moot.store.encryption import Sealer
from moot.store.library.evaluations import Trials
from moot.store.library.insights import Insights, Vectors
from moot.store.library.personas import Personas
from moot.store.library.presets import LineUps
from moot.store.library.projects import Projects
from moot.store.migrate import migrate
from moot.store.notify import listen
from moot.store.rate_limits import Rates
from moot.store.runs.approvals import Permissions
from moot.store.runs.event_log import Events
from moot.store.runs.retries import Retries
from moot.store.runs.runs import Claim, Runs
from moot.store.runs.workers import Roll
from moot.transcript.export import Transcripts
from moot.types.discussions import Message
from moot.types.errors import BadSettings

SELDOM = (10_000, 10, 10)  # and not after 700 new objects, as is usual
FENCED = 3  # the exit code of a worker that was taken over
log = logging.getLogger(__name__)
PARTS = (  # what the routes ask for, by the name they ask for it
    "accepting",
    "accounts",
    "attaching",
    "bills",
    "boards",
    "budgets",
    "casting",
    "changes",
    "court",
    "database",
    "discussions",
    "drafts",
    "embedder",
    "events",
    "feeds",
    "file_store",
    "hall",
    "improvements",
    "insights",
    "knowledge",
    "limits",
    "line_ups",
    "mcp",
    "painter",
    "personas",
    "permissions",
    "perspectives",
    "planning",
    "projects",
    "provider_keys",
    "readers",
    "registry",
    "reports",
    "retelling",
    "retrying",
    "revising",
    "revocations",
    "runs",
    "seating",
    "speaking",
    "stateless",
    "tables",
    "token_rates",
    "tool_servers",
    "tooling",
    "transcripts",
    "treasury",
    "trials",
    "uploads",
)


class House:
    """All parts of a server, put together; `settled` gives them life."""

    def __init__(
        self,
        settings: Settings,
        database: Database,
        registry: Registry,
        sealer: Sealer,
        environment: Mapping[str, str] | None = None,
    ) -> None:
        """`environment` holds what the settings name of it, for the servers of tools."""
        self.database = database
        self._lease = settings.lease
        self._left = False
        self._seeking: list[asyncio.Task[None]] = []  # what finds runs that are to be executed here
        self.worker = f"worker-{uuid4().hex}" if database.is_postgres else "local"
        self._open_stores(database)
        self.revocations = Revocations(self.accounts)
        self.readers = Readers(self.revocations)
        self.changes = Changes(self.discussions, self.permissions)
        self.feeds = Feeds(self.events)
        self.journal = Journal(self.events, self.feeds, lambda _: self._taken_over())
        self.provider_keys = ProviderKeys(database, sealer)
        self.casting = casting = Casting(registry, self.provider_keys, settings.fallback)
        rates, counted = settings.rates, Rates(database)
        admission = Admission(database, counted, rates.model_calls_a_minute)
        speaker = Speaker(settings.limits, admit=admission.wait)
        self.budgets = Budgets(database, settings.budget)
        self.embedder = embedder(settings.embedding, registry) if settings.embedding else None
        self._lay_out_tools(settings, environment or {}, sealer)
        self.durable = DurableRuns(
            database,
            self.worker,
            self.journal,
            speaker,
            casting.models,
            self._after,
            Recapping(database, casting.models, speaker, self.budgets),
            self.tooling,
        )
        measuring = Measuring(self.token_rates, registry, settings.fallback)
        self.uploads = Uploads(self.file_store)
        self.painter = Painter()
        self.attaching = Attaching(self.file_store, registry)
        errands = Errands(database, speaker, self.budgets)
        self.stateless = Stateless(database, speaker, errands)
        self.sittings = Sittings(speaker)
        self._hire_clerks(casting, errands, counted)
        self._hold_trials(casting, errands)
        self.planning = Planning(self.personas, self.projects, measuring)
        self.treasury = Treasury(database, self.budgets, casting.models)
        self.hall = Hall(
            database,
            self.planning,
            self.worker,
            self.durable.start,
            self.attaching,
            self.titles,
            self.treasury,
            self.remembering,
            settings.clerk,
        )
        retries = Retries(database, self.worker)
        self.retrying = Retrying(
            database, self.hall, retries, self.treasury, self.attaching, measuring, self.durable.start
        )
        self.revising = Revising(database, self.hall, self.attaching, measuring)
        self._apart = Database(database.url, connections=1)  # so that no call can hold up a beat
        self.roll = Roll(self._apart)
        self.presence = Presence(folder_for(data_folder(), database.url))
        self.workers = Workers(
            self.roll, self.presence, self.worker, settings.lease, self.durable.take_over, self._taken_over
        )
        self.seating = Seating(registry, self.personas, self.tooling)
        self.drafts = Drafts(self.seating, self.personas, self.projects)
        usual = UsualTable(casting, registry, settings.line_up, settings.model)
        self.tables = Tables(self.hall, self.planning, self.seating, usual, self.line_ups)
        self.speaking = Speaking(
            self.tables,
            casting,
            self.sittings,
            Purses(database, errands),
            self.budgets,
            self.hall,
            self.discussions,
            self.file_store,
            Hearing(self.feeds, self.events, self.runs),
        )
        self._check_models(settings)
        self.limits = _limits(rates, counted)
        self.registry = registry
        self.mcp = McpFace(self._mcp_tools())

    def _open_stores(self, database: Database) -> None:
        """Put together what is kept, and what is only read out of it."""
        self.accounts = Accounts(database)
        self.personas = Personas(database, shipped())
        self.runs = Runs(database)
        self.discussions = Discussions(database)
        self.events = Events(database)
        self.projects = Projects(database)
        self.line_ups = LineUps(database)
        self.token_rates = TokenRates(database)
        self.reports = Reports(database)
        self.boards = Boards(database)
        self.transcripts = Transcripts(database)
        self.insights = Insights(database)
        self.file_store = Files(database)
        self.bills = Bills(database)
        self.channels = Channels(database)
        self.permissions = Permissions(database)

    def _lay_out_tools(self, settings: Settings, environment: Mapping[str, str], sealer: Sealer) -> None:
        """Put together what participants may call."""
        database = self.database
        self.tool_servers = ToolServers(database, sealer)
        self.tooling = Tooling(
            database,
            settings.tools,
            environment,
            self.tool_servers,
            InsightSearch(self.insights, Vectors(database), self.embedder),
            self.budgets,
            anywhere=settings.private_tool_servers,
        )

    def _check_models(self, settings: Settings) -> None:
        """Refuse settings that name a model which nobody offers."""
        for name, others in settings.fallback.items():
            for model in (name, *others):
                self.seating.check(model, f"fallback of {name} in the settings")
        named = {"clerk": (settings.clerk,) if settings.clerk else (), "line_up": settings.line_up}
        for field, models in named.items():
            for model in models:
                self.seating.check(model, f"{field} in the settings")

    def _hire_clerks(self, casting: Casting, errands: Errands, counted: Rates) -> None:
        """Put together what is done beside runs, and never in their way."""
        database, models = self.database, casting.models
        self.titles = Titles(database, models, errands, counted)
        self.knowledge = Knowledge(database, models, errands, self.embedder)
        self.remembering = Remembering(database, models, errands)

    def _hold_trials(self, casting: Casting, errands: Errands) -> None:
        """Put together what judges answers and improves who gave them, and what proposes others."""
        database = self.database
        self.retelling = Retelling(database)
        self.trials = Trials(database)
        self.court = Court(database, casting.models, errands)
        self.improvements = Improvements(
            database, self.worker, self.court, self.personas, casting.models, errands
        )
        self.accepting = Accepting(database, self.worker, self.improvements)
        self.perspectives = Perspectives(self.personas, casting.models, errands)

    def _mcp_tools(self) -> Tools:
        asking = Asking(
            self.hall,
            self.drafts,
            self.limits,
            self.discussions,
            self.line_ups,
            self.events,
            self.feeds,
            self.runs,
            self.revocations,
        )
        return Tools(
            asking,
            self.discussions,
            self.transcripts,
            self.line_ups,
            self.projects,
            self.knowledge,
            self.limits,
            self.embedder,
        )

    def parts(self) -> Mapping[str, object]:
        return {name: getattr(self, name) for name in PARTS}

    async def app(
        self, settings: Settings, *, loopback: bool, create: Callable[..., Litestar] = create_app
    ) -> Any:
        caller = await self.accounts.ensure_local() if _needs_no_login(settings, loopback=loopback) else None
        if caller is None and await self.accounts.nobody_can_log_in():
            log.warning("there is no account that could log in yet: make one with `moot user add NAME`")
        app = create(self.accounts, self.limits, caller, self.parts(), settings.metrics_token)
        page = Page(app, await asyncio.to_thread(read, STATIC))
        return OwnSite(page, loopback=loopback, hosts=frozenset(settings.hosts))

    @contextlib.asynccontextmanager
    async def alive(self) -> AsyncIterator[None]:
        """Keep the loops going that write, listen, look and beat; and take up the runs that were left."""
        self.database.listen("moot_control", self.durable.told)
        self.database.listen("moot_changes", self.changes.told)
        self.database.listen("moot_events", self.feeds.told)
        loops = [
            self.journal.write_for_ever(),
            self.feeds.look_for_ever(),
            self.readers.end_stuck_ones(),
            self.revocations.run(),
        ]
        seeking = [self._launch(), self.durable.look_for_ever(self._lease)]
        if self.database.is_postgres:
            await self.workers.join()
            loops += [listen(self.database, self._missed)]
            seeking += [
                self.workers.beat_for_ever(),
                self.durable.look_for_strangers(self._lease, self.roll.note_as_left),
            ]
        self._seeking = [asyncio.create_task(loop) for loop in seeking]
        tasks = [*(asyncio.create_task(loop) for loop in loops), *self._seeking]
        for task in tasks:
            task.add_done_callback(_must_not_fail)
        async with self._apart:
            try:
                yield
            finally:
                self.painter.close()
                await self.titles.close()
                await self.stateless.close()
                await self.mcp.close()
                await self.sittings.close()
                await _cancelled(tasks)

    async def _launch(self) -> None:
        """Begin to execute runs. Then everything is loaded, and stays: the collector need not look at it again.

        Nor so often at what streams leave behind, which was a tenth of the work.
        """
        await self.durable.launch()
        gc.collect()
        gc.freeze()
        gc.set_threshold(*SELDOM)

    async def leave(self) -> None:
        """Write down what was said, and let others have what did not end.

        They look for it even if we know of nothing: a run may have come in that we did not come to begin.
        """
        await self.journal.written()
        if not self.durable.live:
            self.durable.begin_no_more()
            await _cancelled(self._seeking)
            await self.durable.close()
        self._left = True
        if self.database.is_postgres:
            await self.workers.leave()
        await asyncio.to_thread(telemetry.close)

    def _taken_over(self) -> None:
        """End at once: another worker has our runs, and whatever we would still do, it does."""
        if self._left:
            return  # as we asked for, and the end is near
        log.critical("another worker has taken over the runs of this one, which ends now")
        logging.shutdown()
        os._exit(FENCED)

    def _missed(self) -> None:
        """Look again at everything that a signal may have told of while nobody listened."""
        self.feeds.missed()
        self.changes.missed()
        for run in tuple(self.durable.live):
            self.durable.told(run)

    async def _after(self, claim: Claim, turns: Sequence[Message]) -> None:
        """Do what is due after a run, once nobody waits for it any more."""
        await self._count(claim, turns)
        await self.remembering.note(claim)

    async def _count(self, claim: Claim, turns: Sequence[Message]) -> None:
        """Count who played a part, and what providers made of the words."""
        parts = {who.id: who.persona for who in claim.plan.participants}
        for turn in turns:
            if persona := parts.get(turn.participant or ""):
                await self.personas.count(claim.tenant, persona, completed=turn.status == "completed")
        await self.token_rates.add(counted_tokens(turns))


@contextlib.asynccontextmanager
async def opened(settings: Settings, environment: Mapping[str, str], address: str) -> AsyncIterator[House]:
    """Build a house on the database of the settings, and give it life; others find it at its address."""
    telemetry.configure(environment)
    sealer = Sealer.load(data_folder(), environment)
    async with contextlib.AsyncExitStack() as stack:
        database = await stack.enter_async_context(Database(settings.database))
        if not database.is_postgres:
            stack.enter_context(alone(database.path, address))
        elif SECRET not in environment:
            log.warning(
                "without %s the keys are sealed with a file of this machine, which others lack", SECRET
            )
        await migrate(database)
        await sealer.check(database)
        registry = await stack.enter_async_context(
            Registry(settings.providers, environment, stored_keys=True)
        )
        house = House(settings, database, registry, sealer, environment)
        if database.is_postgres:
            stack.enter_context(house.presence.shown(house.worker))
        await stack.enter_async_context(house.alive())
        yield house


def _limits(rates: RateSettings, counted: Rates) -> RateLimits:
    return RateLimits(
        counted,
        calls_a_minute=rates.calls_a_minute,
        starts_a_minute=rates.starts_a_minute,
        messages_a_minute=rates.messages_a_minute,
        messages_burst=rates.messages_burst,
        debates_a_minute=rates.debates_a_minute,
        debates_burst=rates.debates_burst,
    )


def _needs_no_login(settings: Settings, *, loopback: bool) -> bool:
    """Tell whether whoever can reach us is the user of this machine; a name for us means that others can."""
    if settings.auth == "local" and not loopback:
        raise BadSettings("Without accounts only this machine is served: leave MOOT_AUTH out, or --host.")
    return settings.auth == "local" or (settings.auth is None and loopback and not settings.hosts)


async def _cancelled(tasks: Sequence[asyncio.Task[None]]) -> None:
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


def _must_not_fail(task: asyncio.Task[None]) -> None:
    if not task.cancelled() and (error := task.exception()) is not None:
        log.critical("a part that nothing works without has failed", exc_info=error)
        logging.shutdown()
        os._exit(1)

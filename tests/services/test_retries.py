"""A retry is charged to the account that requests it, and starts at once if the run had ended."""

from collections.abc import Sequence

import pytest
from msgspec.structs import replace
from sqlalchemy import select, update

from moot.engine.attachments import Attachments
from moot.engine.turns.token_estimates import ContextLimits
from moot.providers.keys import KeyRing
from moot.providers.registry import Registry, ResolvedModel
from moot.providers.scripted.provider import ScriptedProvider
from moot.providers.scripted.scripts import Script, Scripts
from moot.services.billing import BudgetService
from moot.services.discussions import DiscussionService
from moot.services.retries import RetryService
from moot.store.billing.usage import TokenRates
from moot.store.database import Database
from moot.store.runs.event_log import EventLog, EventLogEntry, RunEnding, RunRecords
from moot.store.runs.runs import Runs
from moot.store.schema.runs import run
from moot.types.accounts import Caller
from moot.types.discussions import Run
from moot.types.errors import Conflict, NotFound, OverBudget, ShuttingDown
from moot.types.model_info import ModelLimits, TokenCount
from tests.support.accounts import ANNA, create_accounts, create_discussion
from tests.support.databases import ON_BOTH_DATABASES
from tests.support.runs import OTHER_WORKER, WORKER, create_run, lease_run, make_answer, register_workers
from tests.support.stores import make_stores

CALLER = Caller(account=ANNA, tenant=ANNA, name=ANNA, kind="local")
PRICED_PROVIDER = ScriptedProvider(
    Scripts({"dear": Script(usd_per_million_tokens=1000), "echo": Script()})
)  # about 0.6 dollars an answer


class DrainOnlyService(DiscussionService):
    """A discussion service that can only drain."""

    def __init__(self) -> None:
        self._draining = False


class RetryHarness:
    """A retry service and the runs that it started."""

    def __init__(self, database: Database, budget: float | None) -> None:
        self.database = database
        self.is_free = False
        self.discussion_service = DrainOnlyService()
        self.started_runs: list[tuple[str, int]] = []
        stores = make_stores(database, budget, OTHER_WORKER)
        attachments = Attachments(stores.files, Registry({}, {}))
        context_limits = ContextLimits(stores.token_rates, Registry({}, {}), {})
        self.retry_service = RetryService(
            stores,
            self.discussion_service,
            BudgetService(stores, self._resolve_model),
            attachments,
            context_limits,
            lambda *run: self.started_runs.append(run),
        )

    async def _resolve_model(self, _: str, model: str) -> Sequence[ResolvedModel]:
        name = "echo" if self.is_free and model != "scripted/dear" else "dear"
        return [ResolvedModel(model, PRICED_PROVIDER, name, KeyRing(()))]

    async def create_failed_run(self, *, ended: bool = True) -> Run:
        """Create a run in which Alpha failed. The run has ended or is live."""
        new = await create_run(self.database, await create_discussion(self.database), question="Why?")
        lease = await lease_run(self.database, new.id)
        records = RunRecords([replace(make_answer(lease, ""), status="failed")])
        ending = RunEnding("failed", 1.0) if ended else None
        await EventLog(self.database).write_entries([EventLogEntry(lease, 1, ["{}"], records, ending)])
        return new

    async def reserved_cost(self, failed_run: Run) -> float | None:
        async with self.database.read() as connection:
            query = select(run.c.reserved_usd).where(run.c.id == failed_run.id)
            reserved: float | None = (await connection.execute(query)).scalar_one()
        return reserved


async def make_harness(database: Database, budget: float | None = None) -> RetryHarness:
    await create_accounts(database)
    await register_workers(database, WORKER, OTHER_WORKER)
    return RetryHarness(database, budget)


@ON_BOTH_DATABASES
async def test_retry_restarts_ended_run_with_next_revision(database: Database) -> None:
    harness = await make_harness(database)
    failed = await harness.create_failed_run()
    again = await harness.retry_service.retry_run(CALLER, failed.id, "alpha", "scripted/other")
    assert (again.status, again.revision) == ("waiting", 1)
    assert harness.started_runs == [(failed.id, 1)]
    assert (await Runs(database).get_plan(failed.id)).participants[0].model == "scripted/other"


async def test_retry_with_other_model_uses_its_token_rate(database: Database) -> None:
    harness = await make_harness(database)
    await TokenRates(database).add_counts({"scripted/other": TokenCount(200_000, 100_000)})
    failed = await harness.create_failed_run()
    await harness.retry_service.retry_run(CALLER, failed.id, "alpha", "scripted/other")
    plan = await Runs(database).get_plan(failed.id)
    assert plan.model_limits == {"scripted/other": ModelLimits(characters_per_token=2.01)}


@ON_BOTH_DATABASES
async def test_retry_of_live_run_does_not_start_it_again(database: Database) -> None:
    harness = await make_harness(database)
    failed = await harness.create_failed_run(ended=False)
    again = await harness.retry_service.retry_run(CALLER, failed.id)
    assert (again.status, again.revision, harness.started_runs) == ("running", 1, [])


@ON_BOTH_DATABASES
async def test_retry_reserves_budget_or_is_rejected(database: Database) -> None:
    harness = await make_harness(database, budget=1.0)
    one, two = await harness.create_failed_run(), await harness.create_failed_run()
    await harness.retry_service.retry_run(CALLER, one.id)
    reserved = await harness.reserved_cost(one)
    assert reserved is not None
    assert reserved > 0.6
    live = await harness.create_failed_run(ended=False)
    for failed in (two, live):
        with pytest.raises(OverBudget):
            await harness.retry_service.retry_run(CALLER, failed.id, "alpha")
    assert (await Runs(database).get_run(ANNA, two.id)).revision == 0
    assert harness.started_runs == [(one.id, 1)]


async def test_retry_releases_previous_reservation(database: Database) -> None:
    harness = await make_harness(database, budget=1.0)
    failed = await harness.create_failed_run()
    async with database.write() as connection:
        await connection.execute(update(run).where(run.c.id == failed.id).values(reserved_usd=0.9, account=ANNA))
    await harness.retry_service.retry_run(CALLER, failed.id)
    reserved = await harness.reserved_cost(failed)
    assert reserved is not None
    assert reserved < 0.9


async def test_retry_cost_is_estimated_for_the_new_model(database: Database) -> None:
    harness = await make_harness(database, budget=0.1)
    harness.is_free = True
    failed = await harness.create_failed_run()
    with pytest.raises(OverBudget):
        await harness.retry_service.retry_run(CALLER, failed.id, "alpha", "scripted/dear")
    await harness.retry_service.retry_run(CALLER, failed.id, "alpha", "scripted/echo")


async def test_retry_rejects_unknown_participant_other_tenant_and_completed_run(database: Database) -> None:
    harness = await make_harness(database)
    failed = await harness.create_failed_run()
    with pytest.raises(NotFound, match="omega"):
        await harness.retry_service.retry_run(CALLER, failed.id, "omega")
    with pytest.raises(NotFound):
        await harness.retry_service.retry_run(replace(CALLER, tenant="tenant_bert"), failed.id)
    await harness.retry_service.retry_run(CALLER, failed.id)
    async with database.write() as connection:
        await connection.execute(update(run).values(status="completed"))
    with pytest.raises(Conflict, match="No participant has failed"):
        await harness.retry_service.retry_run(CALLER, failed.id)


async def test_retry_is_rejected_while_draining(database: Database) -> None:
    harness = await make_harness(database)
    failed = await harness.create_failed_run()
    harness.discussion_service.drain()
    with pytest.raises(ShuttingDown):
        await harness.retry_service.retry_run(CALLER, failed.id)

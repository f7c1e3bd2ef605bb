from collections.abc import AsyncIterator, Sequence
from pathlib import Path

import pytest
from msgspec.structs import replace
from sqlalchemy import select

from moot.prompts.tokens import TOKENS_PER_FILE
from moot.providers.keys import KeyRing
from moot.providers.registry import ResolvedModel
from moot.providers.scripted.provider import ScriptedProvider
from moot.providers.scripted.scripts import Script, Scripts
from moot.services.billing import AccountBudgetGuard, BudgetService
from moot.services.model_tasks import ModelTasks
from moot.store.billing.budgets import Budgets
from moot.store.database import Database
from moot.store.discussions.files import Files
from moot.store.schema.billing import charge
from moot.store.schema.runs import run
from moot.types.accounts import Caller
from moot.types.billing import Charge
from moot.types.chunks import Usage
from moot.types.discussions import Message
from moot.types.errors import MissingKey, OverBudget
from moot.types.modes import AdvisorOptions
from moot.types.participants import make_participants
from moot.types.run_plan import RunPlan
from tests.support.accounts import ANNA, create_discussion, database_with_accounts
from tests.support.databases import DATABASE_KINDS
from tests.support.runs import WORKER, create_run, register_workers
from tests.support.stores import make_stores
from tests.support.table_harness import MODEL_CALLER

TOKEN_CALLER = Caller(account=ANNA, tenant=ANNA, name="anna", kind="token")
SAMPLE_CHARGE = Charge(purpose="answer", model="x/y", usage=Usage(input=1), cost_usd=1.0)


async def test_account_budget_guard_records_charge_once_and_enforces_budget(database: Database) -> None:
    budget_guard = AccountBudgetGuard(ModelTasks(make_stores(database), MODEL_CALLER), TOKEN_CALLER)
    await Budgets(database).set_limit(ANNA, 0.5)
    async with budget_guard.within_budget():
        await budget_guard.record_charges([SAMPLE_CHARGE])
        await budget_guard.record_charges([SAMPLE_CHARGE])
    async with database.read() as connection:
        rows = (await connection.execute(select(charge.c.account, charge.c.cost_usd))).all()
    assert [tuple(row) for row in rows] == [(ANNA, 1.0)]
    with pytest.raises(OverBudget):
        async with budget_guard.within_budget():
            pass


CALLER = Caller(account=ANNA, tenant=ANNA, name="Anna", kind="session")
PLAN = RunPlan(mode="single", participants=make_participants(("scripted/dear",)))
QUESTION = Message(id="msg_why", discussion="dis_new", role="user", content="Why?")
PRICED_PROVIDER = ScriptedProvider(Scripts({"dear": Script(usd_per_million_tokens=1_000_000), "free": Script()}))


@pytest.fixture(params=DATABASE_KINDS)
async def database(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Database]:
    async with database_with_accounts(request.param, tmp_path) as database:
        yield database


async def resolve_scripted_model(tenant: str, model: str) -> Sequence[ResolvedModel]:
    assert tenant == ANNA
    if model.startswith("keyless/"):
        raise MissingKey("No key.")
    return [ResolvedModel(model, PRICED_PROVIDER, model.removeprefix("scripted/"), KeyRing(()))]


def make_budget_service(database: Database, budget: float | None = None) -> BudgetService:
    return BudgetService(make_stores(database, budget), resolve_scripted_model)


async def test_forecast_uses_provider_prices(database: Database) -> None:
    found = await make_budget_service(database).forecast_run(CALLER, PLAN, QUESTION, None)
    assert found.cost_usd == found.input + found.output > 600
    free = replace(PLAN, participants=make_participants(("scripted/free",)))
    assert (await make_budget_service(database).forecast_run(CALLER, free, QUESTION, None)).cost_usd == 0.0


async def test_forecast_counts_earlier_messages(database: Database) -> None:
    about = await create_discussion(database, ANNA, "x" * 4000)
    first = await make_budget_service(database).forecast_run(CALLER, PLAN, QUESTION, None)
    later = await make_budget_service(database).forecast_run(CALLER, PLAN, QUESTION, about.id)
    assert later.input - first.input == 1000


async def test_forecast_counts_attached_files(database: Database) -> None:
    first = await make_budget_service(database).forecast_run(CALLER, PLAN, QUESTION, None)
    files = Files(database)
    image = await files.store_file(ANNA, ANNA, "a.png", "image/png", "1", b"png")
    words = await files.store_file(ANNA, ANNA, "a.txt", "text/plain", "2", b"x" * 40_000)
    for file, tokens in ((image, TOKENS_PER_FILE), (words, 10_000)):
        full = await make_budget_service(database).forecast_run(CALLER, PLAN, replace(QUESTION, files=(file.id,)), None)
        assert full.cost_usd - first.cost_usd == tokens, "text is read in full"


async def test_reservation_covers_first_turn_even_with_tiny_cap(database: Database) -> None:
    rich = make_budget_service(database, 1_000_000.0)
    whole = await rich.required_reservation(CALLER, PLAN, QUESTION, None)
    assert await rich.required_reservation(CALLER, replace(PLAN, max_cost_usd=1e-9), QUESTION, None) == whole
    table = replace(PLAN, mode="consensus", participants=make_participants(("scripted/dear",) * 3))
    first = await rich.required_reservation(CALLER, replace(table, mode="single"), QUESTION, None)
    least = await rich.required_reservation(CALLER, replace(table, max_cost_usd=1e-9), QUESTION, None)
    assert least == first


async def test_reservation_with_tiny_cap_covers_only_first_advisor_answers(database: Database) -> None:
    rich = make_budget_service(database, 1_000_000.0)
    rules = AdvisorOptions(cross_talk=True, synthesis=True)
    table = RunPlan(mode="advisors", participants=make_participants(("scripted/dear",) * 3), advisors=rules)
    plain = await rich.required_reservation(CALLER, replace(table, advisors=AdvisorOptions()), QUESTION, None)
    assert await rich.required_reservation(CALLER, replace(table, max_cost_usd=1e-9), QUESTION, None) == plain
    assert (await rich.required_reservation(CALLER, table, QUESTION, None) or 0.0) > 2 * (plain or 0.0)


async def test_forecast_lists_model_without_key_as_unpriced(database: Database) -> None:
    plan = replace(PLAN, participants=make_participants(("scripted/dear", "keyless/model")), mode="parallel")
    found = await make_budget_service(database).forecast_run(CALLER, plan, QUESTION, None)
    assert found.unpriced_models == ("keyless/model",)
    assert found.cost_usd > 0


async def test_reservation_is_required_only_with_a_budget(database: Database) -> None:
    assert await make_budget_service(database).required_reservation(CALLER, PLAN, QUESTION, None) is None
    due = await make_budget_service(database, 5.0).required_reservation(CALLER, PLAN, QUESTION, None)
    assert due == (await make_budget_service(database).forecast_run(CALLER, PLAN, QUESTION, None)).cost_usd


async def test_reserve_cost_reserves_rejects_or_does_nothing(
    database: Database,
) -> None:
    await register_workers(database, WORKER)
    lease, ours = (
        make_budget_service(database, 5.0),
        await create_run(database, await create_discussion(database, ANNA, "Why?")),
    )

    async def reserved(due: float | None) -> float | None:
        async with database.write() as connection:
            await lease.reserve_cost(connection, CALLER, ours.id, due)
            reserved_usd: float | None = (await connection.execute(select(run.c.reserved_usd))).scalar_one()
            return reserved_usd

    assert [await reserved(due) for due in (None, 2.0, None)] == [None, 2.0, 2.0]
    with pytest.raises(OverBudget):
        await reserved(6.0)


async def test_reservation_is_limited_by_max_cost(database: Database) -> None:
    table = replace(PLAN, mode="consensus", participants=make_participants(("scripted/dear",) * 3))
    capped = replace(table, max_cost_usd=1000.0)
    assert await make_budget_service(database, 5.0).required_reservation(CALLER, capped, QUESTION, None) == 1000.0
    wide = replace(PLAN, max_cost_usd=1e6)
    assert await make_budget_service(database, 5.0).required_reservation(CALLER, wide, QUESTION, None) < 1e4  # type: ignore[operator]

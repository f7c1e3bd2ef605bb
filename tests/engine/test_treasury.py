from collections.abc import AsyncIterator, Sequence
from pathlib import Path

import pytest
from msgspec.structs import replace
from sqlalchemy import select

from moot.engine.treasury import Treasury
from moot.model.accounts import Caller
from moot.model.errors import MissingKey, OverBudget
from moot.model.participants import seat
from moot.model.plans import Plan
from moot.providers.keys import KeyRing
from moot.providers.registry import Resolved
from moot.providers.scripted import ScriptedProvider
from moot.providers.scripts import Script, Scripts
from moot.store.budgets import Budgets
from moot.store.database import Database
from moot.store.schema import run
from tests.databases import KINDS
from tests.store.people import ANNA, discuss, settled
from tests.store.running import WORKER, employ, start

CALLER = Caller(account=ANNA, tenant=ANNA, name="Anna", kind="session")
PLAN = Plan(mode="single", participants=seat(("scripted/dear",)))
MODELS = ScriptedProvider(Scripts({"dear": Script(price=1_000_000), "free": Script()}))


@pytest.fixture(params=KINDS)
async def database(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Database]:
    async with settled(request.param, tmp_path) as database:
        yield database


async def chains(tenant: str, model: str) -> Sequence[Resolved]:
    assert tenant == ANNA
    if model.startswith("keyless/"):
        raise MissingKey("No key.")
    return [Resolved(model, MODELS, model.removeprefix("scripted/"), KeyRing(()))]


def treasury(database: Database, budget: float | None = None) -> Treasury:
    return Treasury(database, Budgets(database, budget), chains)


async def test_prices_are_those_of_the_providers(database: Database) -> None:
    found = await treasury(database).forecast(CALLER, PLAN, "Why?", None)
    assert found.cost == found.input + found.output > 600
    free = replace(PLAN, participants=seat(("scripted/free",)))
    assert (await treasury(database).forecast(CALLER, free, "Why?", None)).cost == 0.0


async def test_what_was_said_in_the_discussion_is_read_again(database: Database) -> None:
    about = await discuss(database, ANNA, "x" * 4000)
    first = await treasury(database).forecast(CALLER, PLAN, "Why?", None)
    later = await treasury(database).forecast(CALLER, PLAN, "Why?", about.id)
    assert later.input - first.input == 1000


async def test_a_model_without_a_key_has_no_price(database: Database) -> None:
    plan = replace(PLAN, participants=seat(("scripted/dear", "keyless/model")), mode="parallel")
    found = await treasury(database).forecast(CALLER, plan, "Why?", None)
    assert found.unknown == ("keyless/model",)
    assert found.cost > 0


async def test_only_of_a_budget_something_is_due(database: Database) -> None:
    assert await treasury(database).due(CALLER, PLAN, "Why?", None) is None
    due = await treasury(database, 5.0).due(CALLER, PLAN, "Why?", None)
    assert due == (await treasury(database).forecast(CALLER, PLAN, "Why?", None)).cost


async def test_what_is_due_is_reserved_or_refused_and_where_nothing_is_nothing_is_done(
    database: Database,
) -> None:
    await employ(database, WORKER)
    held, ours = treasury(database, 5.0), await start(database, await discuss(database, ANNA, "Why?"))

    async def reserved(due: float | None) -> float | None:
        async with database.write() as connection:
            await held.reserve(connection, CALLER, ours.id, due)
            kept: float | None = (await connection.execute(select(run.c.reserved))).scalar_one()
            return kept

    assert [await reserved(due) for due in (None, 2.0, None)] == [None, 2.0, 2.0]
    with pytest.raises(OverBudget):
        await reserved(6.0)


async def test_no_more_than_its_cap_is_due_for_a_run(database: Database) -> None:
    capped = replace(PLAN, cap=0.5)
    assert await treasury(database, 5.0).due(CALLER, capped, "Why?", None) == 0.5
    wide = replace(PLAN, cap=1e6)
    assert await treasury(database, 5.0).due(CALLER, wide, "Why?", None) < 1e4  # type: ignore[operator]

import pytest
from sqlalchemy import func, select

from moot.store.billing.charges import add_charges, record_charges
from moot.store.database import Database
from moot.store.schema.billing import charge
from moot.types.billing import Charge, Payer
from moot.types.chunks import Usage
from tests.support.accounts import ANNA, create_accounts


async def test_add_charges_stores_payer_and_purpose(database: Database) -> None:
    await create_accounts(database)
    payer = Payer(tenant=ANNA, account=ANNA)
    new = Charge(purpose="title", model="a/b", usage=Usage(3, 4), cost_usd=0.5)
    async with database.write() as connection:
        await add_charges(database, connection, payer, [new])
        await add_charges(database, connection, payer, [])
    async with database.read() as connection:
        rows = (await connection.execute(select(charge))).mappings().all()
    assert [(row["account"], row["purpose"], row["usage"], row["cost_usd"]) for row in rows] == [
        (ANNA, "title", Usage(3, 4), 0.5)
    ]


@pytest.mark.parametrize(
    ("usage", "cost", "written"),
    [
        (Usage(), 0.0, 0),
        (Usage(), None, 0),
        (Usage(), 0.01, 1),
        (Usage(1), 0.0, 1),
        (Usage(1), None, 1),
        (Usage(estimated=True), None, 1),
    ],
)
async def test_charge_without_usage_and_cost_is_not_stored(
    database: Database, usage: Usage, cost: float | None, written: int
) -> None:
    await create_accounts(database)
    payer = Payer(tenant=ANNA, account=ANNA)
    await record_charges(database, payer, Charge(purpose="answer", model="a/b", usage=usage, cost_usd=cost))
    async with database.read() as connection:
        assert (await connection.execute(select(func.count()).select_from(charge))).scalar() == written


async def test_charge_with_same_id_is_stored_once(database: Database) -> None:
    await create_accounts(database)
    payer = Payer(tenant=ANNA, account=ANNA)
    one, two = (Charge(purpose="export", model="a/b", usage=Usage(3, 4), cost_usd=0.5) for _ in range(2))
    await record_charges(database, payer, one, two, one)
    await record_charges(database, payer, two)
    async with database.read() as connection:
        assert (await connection.execute(select(func.sum(charge.c.cost_usd)))).scalar() == 1.0

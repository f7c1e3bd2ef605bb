import pytest
from sqlalchemy import select

from moot.engine.errands import Errands
from moot.engine.purses import Purses
from moot.model.accounts import Caller
from moot.model.chunks import Usage
from moot.model.errors import OverBudget
from moot.model.money import Charge
from moot.store.budgets import Budgets
from moot.store.database import Database
from moot.store.schema import charge
from tests.engine.tables import SPEAKER
from tests.store.people import ANNA, settle

ME = Caller(account=ANNA, tenant=ANNA, name="anna", kind="token")
PAID = Charge(purpose="answer", model="x/y", usage=Usage(input=1), cost=1.0)


async def test_an_account_pays_once_and_not_more_than_it_has(database: Database) -> None:
    await settle(database)
    budgets = Budgets(database)
    purse = Purses(database, Errands(database, SPEAKER, budgets)).of(ME)
    await budgets.set(ANNA, 0.5)
    async with purse.open():
        await purse.pay([PAID])
        await purse.pay([PAID])
    async with database.read() as connection:
        rows = (await connection.execute(select(charge.c.account, charge.c.cost))).all()
    assert [tuple(row) for row in rows] == [(ANNA, 1.0)]
    with pytest.raises(OverBudget):
        async with purse.open():
            pass

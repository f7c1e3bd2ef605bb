from sqlalchemy import select

from moot.model.chunks import Usage
from moot.model.money import Charge, Payer
from moot.store.charges import add_charges
from moot.store.database import Database
from moot.store.schema import charge
from tests.store.people import ANNA, settle


async def test_every_call_has_a_row_with_whom_and_what_it_was_for(database: Database) -> None:
    await settle(database)
    payer = Payer(tenant=ANNA, account=ANNA)
    paid = Charge(purpose="title", model="a/b", usage=Usage(3, 4), cost=0.5)
    async with database.write() as connection:
        await add_charges(connection, payer, [paid])
        await add_charges(connection, payer, [])
    async with database.read() as connection:
        rows = (await connection.execute(select(charge))).mappings().all()
    assert [(row["account"], row["purpose"], row["usage"], row["cost"]) for row in rows] == [
        (ANNA, "title", Usage(3, 4), 0.5)
    ]

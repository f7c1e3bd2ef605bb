"""What was paid: a row for every charge, which outlives what it was paid for."""

import time
from collections.abc import Sequence

from msgspec.structs import asdict
from sqlalchemy import insert, select
from sqlalchemy.ext.asyncio import AsyncConnection

from moot.model.chunks import Usage
from moot.model.money import Charge, Payer
from moot.store.database import Database
from moot.store.schema import charge


async def add_charges(connection: AsyncConnection, payer: Payer, charges: Sequence[Charge]) -> None:
    """Write down what was paid; what is there already is not paid twice.

    What used nothing and cost nothing is no charge: nobody was asked, or whoever was asked refused.
    """
    new = {one.id: one for one in charges if one.usage != Usage() or one.cost}
    if not new:
        return
    for known in (await connection.execute(select(charge.c.id).where(charge.c.id.in_(new)))).scalars():
        del new[known]
    now = time.time()
    rows = [{**asdict(payer), **asdict(one), "created_at": now} for one in new.values()]
    if rows:
        await connection.execute(insert(charge), rows)


async def pay(database: Database, payer: Payer, *charges: Charge) -> None:
    """Write down what was paid outside of a run, by itself."""
    async with database.write() as connection:
        await add_charges(connection, payer, charges)

"""What was paid: a row for every charge, which outlives what it was paid for."""

import time
from collections.abc import Sequence

from msgspec.structs import asdict
from sqlalchemy.ext.asyncio import AsyncConnection

from moot.store.database import Database
from moot.store.schema import charge
from moot.types.billing import Charge, Payer
from moot.types.chunks import Usage


async def add_charges(
    database: Database, connection: AsyncConnection, payer: Payer, charges: Sequence[Charge]
) -> None:
    """Write down what was paid; what is there already is not paid twice.

    What used nothing and cost nothing is no charge: nobody was asked, or whoever was asked refused.
    """
    now = time.time()
    paid = [one for one in charges if one.usage != Usage() or one.cost]
    rows = [{**asdict(payer), **asdict(one), "created_at": now} for one in paid]
    if rows:
        await connection.execute(database.insert_into(charge).on_conflict_do_nothing(), rows)


async def record_charges(database: Database, payer: Payer, *charges: Charge) -> None:
    """Write down what was paid outside of a run, by itself."""
    async with database.write() as connection:
        await add_charges(database, connection, payer, charges)

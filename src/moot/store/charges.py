"""What was paid for: a row for every call of a model, which outlives what it was paid for."""

import time
from collections.abc import Sequence

from msgspec import Struct
from msgspec.structs import asdict
from sqlalchemy import insert, select
from sqlalchemy.ext.asyncio import AsyncConnection

from moot.model.chunks import Usage
from moot.model.money import Charge, Payer
from moot.store.database import Database
from moot.store.schema import charge


async def add_charges(connection: AsyncConnection, payer: Payer, charges: Sequence[Charge]) -> None:
    """Write down what was paid; what is there already is not paid twice."""
    new = {one.id: one for one in charges}
    if not new:
        return
    for known in (await connection.execute(select(charge.c.id).where(charge.c.id.in_(new)))).scalars():
        del new[known]
    now = time.time()
    rows = [{**asdict(payer), **asdict(one), "created_at": now} for one in new.values()]
    if rows:
        await connection.execute(insert(charge), rows)


class Spent(Struct, frozen=True, kw_only=True):
    """What calls came to; `unpriced` are those whose price nobody knows."""

    usage: Usage
    cost: float
    unpriced: int


async def spent_on(database: Database, run: str) -> Spent:
    query = select(charge.c.usage, charge.c.cost).where(charge.c.run == run)
    async with database.read() as connection:
        rows = (await connection.execute(query)).all()
    return Spent(
        usage=sum((row.usage for row in rows), Usage()),
        cost=sum(row.cost or 0.0 for row in rows),
        unpriced=sum(row.cost is None for row in rows),
    )

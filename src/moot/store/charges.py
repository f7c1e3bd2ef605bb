"""What was paid for: a row for every call of a model, which outlives what it was paid for."""

import time
from collections.abc import Sequence

from msgspec.structs import asdict
from sqlalchemy import insert
from sqlalchemy.ext.asyncio import AsyncConnection

from moot.model.money import Charge, Payer
from moot.store.schema import charge


async def add_charges(connection: AsyncConnection, payer: Payer, charges: Sequence[Charge]) -> None:
    now = time.time()
    rows = [{**asdict(payer), **asdict(one), "created_at": now} for one in charges]
    if rows:
        await connection.execute(insert(charge), rows)

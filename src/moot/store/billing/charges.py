"""Charges for model calls. They stay when the discussion is deleted."""

import time
from collections.abc import Sequence

from msgspec.structs import asdict
from sqlalchemy.ext.asyncio import AsyncConnection

from moot.store.database import Database
from moot.store.retry import retry_while_unavailable
from moot.store.schema.billing import charge
from moot.types.billing import Charge, Payer
from moot.types.chunks import Usage


async def add_charges(database: Database, connection: AsyncConnection, payer: Payer, charges: Sequence[Charge]) -> None:
    """Insert charges. Idempotent by charge id, because a batch may be written twice.

    A charge without usage and cost is ignored: no model was called, or the provider rejected the request.
    """
    now = time.time()
    billable = [one for one in charges if one.usage != Usage() or one.cost_usd]
    rows = [{**asdict(payer), **asdict(one), "created_at": now} for one in billable]
    if rows:
        await connection.execute(database.insert_into(charge).on_conflict_do_nothing(), rows)


@retry_while_unavailable
async def record_charges(database: Database, payer: Payer, *charges: Charge) -> None:
    """Store charges of calls outside a run, in their own transaction."""
    async with database.write() as connection:
        await add_charges(database, connection, payer, charges)

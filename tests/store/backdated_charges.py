"""Charges with a chosen time."""

from types import SimpleNamespace
from unittest.mock import patch

from moot.store.billing import usage
from moot.store.billing.usage import add_charges
from moot.store.database import Database
from moot.types.billing import Charge, Payer


async def add_charge_at_time(database: Database, payer: Payer, charge: Charge, charged_at: float) -> None:
    with patch.object(usage, "time", SimpleNamespace(time=lambda: charged_at)):
        async with database.write() as connection:
            await add_charges(database, connection, payer, [charge])

"""Parallel: everybody answers at the same time, and nobody sees the others' answers before the next message."""

from moot.context.views import blind
from moot.modes.table import Table


async def parallel(table: Table) -> None:
    await table.all_speak(view=blind)

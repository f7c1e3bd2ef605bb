"""Parallel: everybody answers at the same time, and nobody sees the others' answers before the next message."""

from moot.modes.table import Table
from moot.prompts.visibility import blind


async def parallel(table: Table) -> None:
    await table.all_speak(view=blind)

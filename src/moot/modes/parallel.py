"""Parallel mode: participants answer concurrently and see other answers only after the next user message."""

from moot.modes.table import Table
from moot.prompts.visibility import blind


async def parallel(table: Table) -> None:
    await table.all_speak(view=blind)

"""Single mode: only the first addressed participant answers."""

from moot.modes.table import Table


async def single(table: Table) -> None:
    await table.speak(table.plan.responding_participants[0])

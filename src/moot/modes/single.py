"""Single: the first of those who are spoken to answers."""

from moot.modes.table import Table


async def single(table: Table) -> None:
    await table.speak(table.plan.responding_participants[0])

"""What was found out in runs, and what a table was told of itself: the events that told of it."""

from collections.abc import Collection

import msgspec
from sqlalchemy import select

from moot.model.events import Finding, Notice
from moot.store.database import Database
from moot.store.schema import finding

NOTICE = "notice/"  # and its number: by this it is kept, as it rests on nothing
_decode = msgspec.json.Decoder(Finding | Notice).decode


async def findings_of(database: Database, run: str) -> list[Finding]:
    return await findings_in(database, [run])


async def findings_in(database: Database, runs: Collection[str]) -> list[Finding]:
    return [one for one in await told_in(database, runs) if not isinstance(one, Notice)]


async def told_in(database: Database, runs: Collection[str]) -> list[Finding | Notice]:
    """Return all of it, for each run in the order in which it was told."""
    async with database.read() as connection:
        bodies = await connection.execute(select(finding.c.body).where(finding.c.run.in_(runs)))
        told = [_decode(body) for body in bodies.scalars()]
    return sorted(told, key=lambda one: (one.run, one.seq))

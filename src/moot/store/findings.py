"""What was found out in runs: the events that told of it."""

from collections.abc import Collection

import msgspec
from sqlalchemy import select

from moot.model.events import Finding
from moot.store.database import Database
from moot.store.schema import finding

_decode = msgspec.json.Decoder(Finding).decode


async def findings_of(database: Database, run: str) -> list[Finding]:
    return await findings_in(database, [run])


async def findings_in(database: Database, runs: Collection[str]) -> list[Finding]:
    async with database.read() as connection:
        bodies = await connection.execute(select(finding.c.body).where(finding.c.run.in_(runs)))
        return [_decode(body) for body in bodies.scalars()]

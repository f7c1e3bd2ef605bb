"""What was found out in runs, and what a table was told of itself: the events that told of it."""

from collections.abc import Collection

import msgspec
from sqlalchemy import or_, select

from moot.store.database import Database
from moot.store.schema import finding
from moot.types.events import Finding, Notice

Told = Finding | Notice
NOTICE = "notice/"  # and its number: by this it is kept, as it rests on nothing
_decode = msgspec.json.Decoder(Told).decode


async def told_in(database: Database, runs: Collection[str], *kinds: type[Told]) -> list[Told]:
    """Return all of it, or what is of some kinds, for each run in the order in which it was told."""
    query = select(finding.c.body).where(finding.c.run.in_(runs))
    if kinds:
        query = query.where(
            or_(*(finding.c.body.startswith(_beginning(kind), autoescape=True) for kind in kinds))
        )
    async with database.read() as connection:
        told = [_decode(body) for body in (await connection.execute(query)).scalars()]
    return sorted(told, key=lambda one: (one.run, one.seq))


def _beginning(kind: type[Told]) -> str:
    """Return how the row of an event begins."""
    return f'{{"type":"{kind.__struct_config__.tag}",'

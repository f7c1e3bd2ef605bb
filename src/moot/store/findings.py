"""What was found out in runs, and what a table was told of itself: the events that told of it."""

from collections.abc import Collection

import msgspec
from sqlalchemy import select

from moot.model.events import Finding, Notice, Recapped
from moot.store.database import Database
from moot.store.schema import finding, run_event

_decode = msgspec.json.Decoder(Finding).decode
_decode_notice = msgspec.json.Decoder(Notice).decode
_A_NOTICE = '{"type":"notice",'  # how its row in the log begins


async def findings_of(database: Database, run: str) -> list[Finding]:
    return await findings_in(database, [run])


async def findings_in(database: Database, runs: Collection[str]) -> list[Finding]:
    async with database.read() as connection:
        bodies = await connection.execute(select(finding.c.body).where(finding.c.run.in_(runs)))
        return [_decode(body) for body in bodies.scalars()]


async def notices_of(database: Database, run: str) -> list[Notice]:
    """Return what was told of a run as a whole, in the order in which it was told."""
    return [one for one in await _notices_in(database, [run]) if one.participant is None]


async def told_in(database: Database, runs: Collection[str]) -> list[Notice | Recapped]:
    """Return what was told in runs besides what was said: notices, and what other discussions came to."""
    recaps = [one for one in await findings_in(database, runs) if isinstance(one, Recapped)]
    return [*await _notices_in(database, runs), *recaps]


async def _notices_in(database: Database, runs: Collection[str]) -> list[Notice]:
    is_one = run_event.c.body.startswith(_A_NOTICE, autoescape=True)
    query = select(run_event.c.body).where(run_event.c.run.in_(runs), is_one)
    async with database.read() as connection:
        bodies = await connection.execute(query.order_by(run_event.c.run, run_event.c.seq))
        return [_decode_notice(body) for body in bodies.scalars()]

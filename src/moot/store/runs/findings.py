"""What was found out in runs, and what a table was told of itself: the events that told of it."""

from collections.abc import Collection

import msgspec
from sqlalchemy import or_, select

from moot.store.database import Database
from moot.store.schema import finding
from moot.types.events import AnalysisResult, Notice

ResultOrNotice = AnalysisResult | Notice
NOTICE_KEY_PREFIX = "notice/"  # and its number: by this it is kept, as it rests on nothing
_decode_event = msgspec.json.Decoder(ResultOrNotice).decode


async def load_results_and_notices(
    database: Database, runs: Collection[str], *kinds: type[ResultOrNotice]
) -> list[ResultOrNotice]:
    """Return all of it, or what is of some kinds, for each run in the order in which it was told."""
    query = select(finding.c.body).where(finding.c.run.in_(runs))
    if kinds:
        query = query.where(
            or_(*(finding.c.body.startswith(_body_prefix(kind), autoescape=True) for kind in kinds))
        )
    async with database.read() as connection:
        told = [_decode_event(body) for body in (await connection.execute(query)).scalars()]
    return sorted(told, key=lambda one: (one.run, one.seq))


def _body_prefix(kind: type[ResultOrNotice]) -> str:
    """Return how the row of an event begins."""
    return f'{{"type":"{kind.__struct_config__.tag}",'

"""Analysis results and notices of runs, stored as JSON of their events."""

from collections.abc import Collection

import msgspec
from sqlalchemy import or_, select

from moot.store.database import Database
from moot.store.schema.runs import analysis_result
from moot.types.events import AnalysisResult, Notice

ResultOrNotice = AnalysisResult | Notice
NOTICE_KEY_PREFIX = "notice/"  # followed by the seq, because a notice has no cache key
_decode_event = msgspec.json.Decoder(ResultOrNotice).decode


async def load_results_and_notices(
    database: Database, runs: Collection[str], *kinds: type[ResultOrNotice]
) -> list[ResultOrNotice]:
    """Return the events of these types, or of all types by default, sorted by run and seq."""
    query = select(analysis_result.c.body).where(analysis_result.c.run.in_(runs))
    if kinds:
        query = query.where(
            or_(*(analysis_result.c.body.startswith(_body_prefix(kind), autoescape=True) for kind in kinds))
        )
    async with database.read() as connection:
        events = [_decode_event(body) for body in (await connection.execute(query)).scalars()]
    return sorted(events, key=lambda one: (one.run, one.seq))


def _body_prefix(kind: type[ResultOrNotice]) -> str:
    """Return the start of the JSON: the tag is always the first field."""
    return f'{{"type":"{kind.__struct_config__.tag}",'

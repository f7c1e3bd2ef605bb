"""The lanes of a debate: how far each participant has come. One function makes every change."""

from collections.abc import Iterable, Mapping, Sequence

from sqlalchemy import insert, select, update
from sqlalchemy.ext.asyncio import AsyncConnection

from moot.model.debates import Lane, LaneStatus
from moot.store.database import Database
from moot.store.schema import lane

FIELDS = [lane.c[name] for name in Lane.__struct_fields__]
BEFORE: Mapping[LaneStatus, Sequence[LaneStatus]] = {
    "initial": (),
    "debate": ("initial",),
    "complete": ("initial", "debate"),
    "error": ("initial", "debate"),
}


class Lanes:
    def __init__(self, database: Database) -> None:
        self._database = database

    async def of(self, run: str) -> dict[str, Lane]:
        query = select(*FIELDS).where(lane.c.run == run)
        async with self._database.read() as connection:
            rows = (await connection.execute(query)).mappings()
            return {row["participant"]: Lane(**row) for row in rows}


async def add_lanes(connection: AsyncConnection, run: str, participants: Iterable[str]) -> None:
    rows = [{"run": run, "participant": who, "status": "initial", "late": False} for who in participants]
    await connection.execute(insert(lane), rows)


async def move(connection: AsyncConnection, run: str, to: Lane, *, retry: bool = False) -> bool:
    """Bring a lane to another state, if it may go there from where it is; tell whether it did.

    Only a retry leads out of an error: so a lane that failed is never complete unless it was tried again.
    """
    before = ("error",) if retry else BEFORE[to.status]
    moved = (
        update(lane)
        .where(lane.c.run == run, lane.c.participant == to.participant, lane.c.status.in_(before))
        .values(status=to.status, error=to.error, late=to.late)
    )
    return (await connection.execute(moved)).rowcount == 1

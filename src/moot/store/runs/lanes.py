"""Lanes of a debate: the state of each participant. Only `move_lane` changes a state."""

from collections.abc import Iterable, Mapping, Sequence

from sqlalchemy import insert, select, update
from sqlalchemy.ext.asyncio import AsyncConnection

from moot.store.database import Database
from moot.store.schema.runs import lane
from moot.types.debate import Lane, LaneStatus

LANE_COLUMNS = [lane.c[name] for name in Lane.__struct_fields__]
ALLOWED_PREVIOUS: Mapping[LaneStatus, Sequence[LaneStatus]] = {
    "initial": (),
    "debate": ("initial",),
    "complete": ("initial", "debate"),
    "error": ("initial", "debate", "complete"),  # a complete lane may still debate, and fail
}
UNFINISHED_ERROR = "The run ended before this participant answered."


class Lanes:
    def __init__(self, database: Database) -> None:
        self._database = database

    async def lanes_by_participant(self, run: str) -> dict[str, Lane]:
        query = select(*LANE_COLUMNS).where(lane.c.run == run)
        async with self._database.read() as connection:
            rows = (await connection.execute(query)).mappings()
            return {row["participant"]: Lane(**row) for row in rows}


async def add_lanes(connection: AsyncConnection, run: str, participants: Iterable[str]) -> None:
    rows = [{"run": run, "participant": who, "status": "initial", "late": False} for who in participants]
    await connection.execute(insert(lane), rows)


async def fail_open_lanes(connection: AsyncConnection, run: str) -> None:
    """Set unfinished lanes of an ended run to `error`, so that a user can retry them."""
    unfinished = select(lane.c.participant).where(lane.c.run == run, lane.c.status.in_(("initial", "debate")))
    for participant in (await connection.execute(unfinished)).scalars().all():
        await move_lane(connection, run, Lane(participant=participant, status="error", error=UNFINISHED_ERROR))


async def move_lane(connection: AsyncConnection, run: str, new_lane: Lane, *, retry: bool = False) -> bool:
    """Return whether the state changed. A transition that is not allowed changes nothing.

    Only a retry leaves the `error` state, so a late answer cannot complete a failed lane.
    """
    before = ("error",) if retry else ALLOWED_PREVIOUS[new_lane.status]
    moved = (
        update(lane)
        .where(lane.c.run == run, lane.c.participant == new_lane.participant, lane.c.status.in_(before))
        .values(status=new_lane.status, error=new_lane.error, late=new_lane.late)
    )
    return (await connection.execute(moved)).rowcount == 1

"""A discussion as it stood at one moment: which turns people were shown of it, to be read later, some at a time."""

from collections.abc import Sequence

from msgspec import Struct
from sqlalchemy import select

from moot.model.discussions import Message
from moot.model.versions import Turn, unfolded
from moot.store.database import Database
from moot.store.schema import message
from moot.store.versions import MESSAGE_FIELDS, versions_in


class Snapshot(Struct, frozen=True):
    """The numbers of the turns, in their order, and the highest `upto` which there was anything, also versions of them."""

    discussion: str
    turns: tuple[int, ...]
    upto: int


class Snapshots:
    def __init__(self, database: Database) -> None:
        self._database = database

    async def of(self, discussion: str) -> Snapshot:
        is_turn = (message.c.version_of.is_(None) & message.c.hidden.is_(False)).label("is_turn")
        query = select(message.c.number, is_turn).where(message.c.discussion == discussion)
        async with self._database.read() as connection:
            rows = (await connection.execute(query.order_by(message.c.place, message.c.number))).all()
        turns = tuple(row.number for row in rows if row.is_turn)
        return Snapshot(discussion, turns, max((row.number for row in rows), default=0))

    async def read(self, snapshot: Snapshot, turns: Sequence[int]) -> tuple[Turn, ...]:
        """Return some of the turns, with all versions that there were then; what was deleted since is left out."""
        mine = (message.c.discussion == snapshot.discussion, message.c.number.in_(turns))
        query = select(*MESSAGE_FIELDS).where(*mine).order_by(message.c.place, message.c.number)
        async with self._database.read() as connection:
            firsts = [Message(**row) for row in (await connection.execute(query)).mappings()]
            ids = [one.id for one in firsts]
            later = await versions_in(connection, snapshot.discussion, ids, snapshot.upto)
            return unfolded([*firsts, *later])

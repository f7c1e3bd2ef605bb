"""A discussion as it stood at one moment: which turns people were shown of it, to be read later, some at a time.

Who spoke at the same time is told in the order of the seats, and not in the order in which they came to an end.
"""

from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import Any

from msgspec import Struct
from sqlalchemy import Row, select

from moot.store.database import Database
from moot.store.discussions.messages import MESSAGE_COLUMNS, load_later_versions
from moot.store.schema import message
from moot.types.discussions import Message
from moot.types.versions import VersionedTurn, turns_with_versions


class DiscussionSnapshot(Struct, frozen=True):
    """The numbers of the turns, in their order, and the highest `upto` which there was anything, also versions of them."""

    discussion: str
    turn_numbers: tuple[int, ...]
    visible_until: int


class DiscussionSnapshots:
    def __init__(self, database: Database) -> None:
        self._database = database

    async def take_snapshot(self, discussion: str, participant_order: Sequence[str]) -> DiscussionSnapshot:
        """Look at a discussion, at whose table participants sit in this order."""
        is_turn = (message.c.version_of.is_(None) & message.c.hidden.is_(False)).label("is_turn")
        together = (message.c.run, message.c.stage, message.c.round)
        query = select(message.c.number, message.c.participant, *together, is_turn)
        query = query.where(message.c.discussion == discussion).order_by(message.c.place, message.c.number)
        async with self._database.read() as connection:
            rows = (await connection.execute(query)).all()
        turns = _order_turns(
            [row for row in rows if row.is_turn], {id: place for place, id in enumerate(participant_order)}
        )
        return DiscussionSnapshot(discussion, turns, max((row.number for row in rows), default=0))

    async def read_turns(
        self, snapshot: DiscussionSnapshot, turn_numbers: Sequence[int]
    ) -> tuple[VersionedTurn, ...]:
        """Return some of the turns, with all versions that there were then; what was deleted since is left out."""
        mine = (message.c.discussion == snapshot.discussion, message.c.number.in_(turn_numbers))
        places = {number: place for place, number in enumerate(turn_numbers)}
        async with self._database.read() as connection:
            rows = (await connection.execute(select(*MESSAGE_COLUMNS).where(*mine))).mappings()
            firsts = sorted((Message(**row) for row in rows), key=lambda one: places[one.number])
            ids = [one.id for one in firsts]
            later = await load_later_versions(connection, snapshot.discussion, ids, snapshot.visible_until)
            return turns_with_versions([*firsts, *later])


def _order_turns(turns: Sequence[Row[Any]], positions: Mapping[str, int]) -> tuple[int, ...]:
    return tuple(
        turn.number
        for _, together in groupby(turns, key=lambda turn: (turn.run, turn.stage, turn.round))
        for turn in sorted(together, key=lambda turn: positions.get(turn.participant, len(positions)))
    )

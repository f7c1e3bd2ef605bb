"""Snapshots of a discussion: a list of its visible turns at one moment, to be read later in pages.

Concurrent turns are in the order of the participants, not in the order in which they ended.
"""

from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import Any

from msgspec import Struct
from sqlalchemy import Row, select

from moot.store.database import Database
from moot.store.discussions.discussions import MESSAGE_COLUMNS, load_later_versions
from moot.store.schema.discussions import message
from moot.types.discussions import Message
from moot.types.versions import VersionedTurn, turns_with_versions


class DiscussionSnapshot(Struct, frozen=True):
    discussion: str
    turn_seqs: tuple[int, ...]  # `seq` of each turn, in display order
    visible_until: int  # highest `seq`, including versions


class DiscussionSnapshots:
    def __init__(self, database: Database) -> None:
        self._database = database

    async def take_snapshot(self, discussion: str, participant_order: Sequence[str]) -> DiscussionSnapshot:
        """`participant_order` is the list of ids that sorts concurrent turns."""
        is_turn = (message.c.version_of.is_(None) & message.c.hidden.is_(False)).label("is_turn")
        together = (message.c.run, message.c.stage, message.c.round)
        query = select(message.c.seq, message.c.participant, *together, is_turn)
        query = query.where(message.c.discussion == discussion).order_by(message.c.position, message.c.seq)
        rows = await self._database.fetch_all(query)
        turns = _order_turns(
            [row for row in rows if row.is_turn], {id: index for index, id in enumerate(participant_order)}
        )
        return DiscussionSnapshot(discussion, turns, max((row.seq for row in rows), default=0))

    async def read_turns(self, snapshot: DiscussionSnapshot, turn_seqs: Sequence[int]) -> tuple[VersionedTurn, ...]:
        """Return turns with the versions that existed at the snapshot. The result omits deleted turns."""
        mine = (message.c.discussion == snapshot.discussion, message.c.seq.in_(turn_seqs))
        positions = {seq: index for index, seq in enumerate(turn_seqs)}
        async with self._database.read() as connection:
            rows = (await connection.execute(select(*MESSAGE_COLUMNS).where(*mine))).mappings()
            firsts = sorted((Message(**row) for row in rows), key=lambda one: positions[one.seq])
            ids = [one.id for one in firsts]
            later = await load_later_versions(connection, snapshot.discussion, ids, snapshot.visible_until)
            return turns_with_versions([*firsts, *later])


def _order_turns(turns: Sequence[Row[Any]], positions: Mapping[str, int]) -> tuple[int, ...]:
    return tuple(
        turn.seq
        for _, together in groupby(turns, key=lambda turn: (turn.run, turn.stage, turn.round))
        for turn in sorted(together, key=lambda turn: positions.get(turn.participant, len(positions)))
    )

"""Edits of messages by users: new text, or an earlier version selected again.

Each edit adds a row; rows never change. Edits are rejected during a live run, because its participants have read the
messages as they were at its start.
"""

import time
from collections.abc import Callable, Sequence

from msgspec.structs import replace
from sqlalchemy import insert, select, update
from sqlalchemy.ext.asyncio import AsyncConnection

from moot.store.database import Database
from moot.store.discussions.discussions import (
    load_turn_versions,
    lock_discussions,
    message_values,
    notify_discussion_change,
    reject_if_live,
)
from moot.store.schema.discussions import discussion, message
from moot.types.discussions import Message
from moot.types.errors import NotFound
from moot.types.primitives import new_id
from moot.types.versions import Versions, current_version, list_versions

MakeVersion = Callable[[Sequence[Message]], Message | None]
COPIED_FIELDS = ("participant", "name", "stage", "round", "visible_to", "thread", "provider", "model")
CLEARED_FIELDS = {"run": None, "view": None, "visible_until": None, "instructions": None, "files": None}


class MessageEdits:
    def __init__(self, database: Database) -> None:
        self._database = database

    async def list_versions(self, discussion_id: str, id: str) -> Versions:
        async with self._database.read() as connection:
            return list_versions(await _load_turn(connection, discussion_id, id))

    async def edit_message(
        self, tenant: str, discussion_id: str, id: str, content: str, lesson_items: str | None = None
    ) -> Message:
        """Return the turn unchanged if the text is the current one. Raises Conflict during a live run."""

        def make_edited_version(turn: Sequence[Message]) -> Message | None:
            current = current_version(turn)
            if current.content == content:
                return None
            edited = Message(
                id="", discussion=discussion_id, role=current.role, content=content, lesson_items=lesson_items
            )
            return replace(edited, **{name: getattr(current, name) for name in COPIED_FIELDS})

        return await self._add_version(tenant, discussion_id, id, make_edited_version)

    async def select_version(self, tenant: str, discussion_id: str, id: str, version: str) -> Message:
        """Add a copy of an earlier version, which makes it current. Raises Conflict during a live run."""

        def make_selected_version(turn: Sequence[Message]) -> Message | None:
            own = {one.id: one for one in turn if one.copy_of is None}
            if version not in own:
                raise NotFound(f"version: {version!r} is no version of this turn.")
            is_current = version == (turn[-1].copy_of or turn[-1].id)
            return None if is_current else replace(own[version], copy_of=version, **CLEARED_FIELDS)

        return await self._add_version(tenant, discussion_id, id, make_selected_version)

    async def _add_version(self, tenant: str, discussion_id: str, id: str, make_version: MakeVersion) -> Message:
        """Add the version that `make_version` returns; None means no change. Returns the current version."""
        async with self._database.write() as connection:
            await lock_discussions(connection, [discussion_id])
            await reject_if_live(connection, discussion_id)
            turn = await _load_turn(connection, discussion_id, id)
            new = make_version(turn)
            if new is None:
                return current_version(turn)
            now = time.time()
            new = replace(new, id=new_id("msg"), version_of=turn[0].id, created_at=now)
            place = select(message.c.position).where(message.c.id == turn[0].id).scalar_subquery()
            values = message_values(tenant, new, 0) | {"position": place}
            query = insert(message).values(values).returning(message.c.seq)
            seq = int((await connection.execute(query)).scalar_one())
            touched = update(discussion).where(discussion.c.id == discussion_id).values(updated_at=now)
            await connection.execute(touched)
            await notify_discussion_change(self._database, connection, tenant, discussion_id)
        return current_version([*turn, replace(new, seq=seq)])


async def _load_turn(connection: AsyncConnection, discussion_id: str, id: str) -> Sequence[Message]:
    mine = message.c.discussion == discussion_id
    return await load_turn_versions(connection, id, mine, f"There is no turn {id!r} in this discussion.")

"""Making versions of what was said by hand: other words, or an earlier version again. Rows are only ever added.

Never while the table speaks: whoever is speaking has read what was there when the run began.
"""

import time
from collections.abc import Callable, Sequence

from msgspec.structs import replace
from sqlalchemy import insert, select, update
from sqlalchemy.ext.asyncio import AsyncConnection

from moot.store.database import Database
from moot.store.discussions.discussions import hold, message_values, refuse_if_live, tell_change
from moot.store.discussions.messages import turn_of
from moot.store.schema import discussion, message
from moot.types.discussions import Message
from moot.types.errors import NotFound
from moot.types.primitives import new_id
from moot.types.versions import Versions, current, listed

Revised = Callable[[Sequence[Message]], Message | None]
KEPT = ("participant", "name", "stage", "round", "audience", "thread", "provider", "model")
BY_HAND = {"run": None, "view": None, "upto": None, "instruction": None, "files": None}


class Edits:
    def __init__(self, database: Database) -> None:
        self._database = database

    async def versions(self, of: str, id: str) -> Versions:
        """List the versions of a turn in a discussion."""
        async with self._database.read() as connection:
            return listed(await _turn(connection, of, id))

    async def edit(self, tenant: str, of: str, id: str, words: str, script: str | None = None) -> Message:
        """Put other words in the place of those that are current."""

        def edited(turn: Sequence[Message]) -> Message | None:
            now = current(turn)
            if now.content == words:
                return None
            plain = Message(id="", discussion=of, role=now.role, content=words, script=script)
            return replace(plain, **{name: getattr(now, name) for name in KEPT})

        return await self._revise(tenant, of, id, edited)

    async def choose(self, tenant: str, of: str, id: str, version: str) -> Message:
        """Let an earlier version be current again."""

        def chosen(turn: Sequence[Message]) -> Message | None:
            own = {one.id: one for one in turn if one.copy_of is None}
            if version not in own:
                raise NotFound(f"version: {version!r} is no version of this turn.")
            is_current = version == (turn[-1].copy_of or turn[-1].id)
            return None if is_current else replace(own[version], copy_of=version, **BY_HAND)

        return await self._revise(tenant, of, id, chosen)

    async def _revise(self, tenant: str, of: str, id: str, revised: Revised) -> Message:
        """Add the version that is made of all until now, unless there is nothing to change."""
        async with self._database.write() as connection:
            await hold(connection, [of])
            await refuse_if_live(connection, of)
            turn = await _turn(connection, of, id)
            new = revised(turn)
            if new is None:
                return current(turn)
            now = time.time()
            new = replace(new, id=new_id("msg"), version_of=turn[0].id, created_at=now)
            place = select(message.c.place).where(message.c.id == turn[0].id).scalar_subquery()
            values = message_values(tenant, new, 0) | {"place": place}
            query = insert(message).values(values).returning(message.c.number)
            number = int((await connection.execute(query)).scalar_one())
            touched = update(discussion).where(discussion.c.id == of).values(updated_at=now)
            await connection.execute(touched)
            await tell_change(self._database, connection, tenant, of)
        return current([*turn, replace(new, number=number)])


async def _turn(connection: AsyncConnection, of: str, id: str) -> Sequence[Message]:
    mine = message.c.discussion == of
    return await turn_of(connection, id, mine, f"There is no turn {id!r} in this discussion.")

"""Accepting the best round of a trial, and undoing that: the persona, who plays it and the trial change together."""

import time

from msgspec.structs import replace
from sqlalchemy import or_, select, update
from sqlalchemy.ext.asyncio import AsyncConnection

from moot.model.errors import Conflict
from moot.model.participants import Participant
from moot.model.personas import PersonaDraft
from moot.model.trials import Acceptance, Trial
from moot.store.database import Database
from moot.store.discussions import hold, tell_change
from moot.store.personas import add_persona, drop_persona
from moot.store.schema import discussion, message, persona
from moot.store.trials import Trials, locked, refuse_if_held, write

CHANGED = "The persona was changed or deleted since: it stays as it is."
ANOTHER_PART = "This participant is gone from the discussion, or plays another part by now: it stays so."


class Acceptances:
    """`worker` is who asks: what it held before it was started anew, nobody holds."""

    def __init__(self, database: Database, worker: str) -> None:
        self._database = database
        self._worker = worker
        self._trials = Trials(database)

    async def accept(self, tenant: str, id: str, wanted: Acceptance, draft: PersonaDraft | None) -> Trial:
        """Change the persona, or make the one that is drafted and let the participant play it; once."""
        async with self._database.write() as connection:
            row, now = await locked(connection, tenant, id)
            if now.acceptance is None:
                if now.held_by != self._worker:
                    await refuse_if_held(connection, now)
                if draft is None:
                    await _change_text(connection, tenant, wanted, before=wanted.before, after=wanted.after)
                else:
                    wanted = replace(wanted, persona=await add_persona(connection, tenant, draft))
                    await self._let_play(
                        connection, tenant, row["message"], wanted, wanted.replaced, wanted.persona
                    )
                await write(connection, id, replace(now, acceptance=wanted), accepted_at=time.time())
        return await self._trials.get(tenant, id)

    async def undo(self, tenant: str, id: str) -> Trial:
        """Put back what was there before, unless it was changed since."""
        async with self._database.write() as connection:
            row, now = await locked(connection, tenant, id)
            done = now.acceptance
            if done is None:
                raise Conflict("Nothing of this trial is accepted: there is nothing to undo.")
            if done.made:
                await _refuse_if_changed(connection, tenant, done, done.after)
                await self._let_play(connection, tenant, row["message"], done, done.persona, done.replaced)
                await _drop_unless_used(connection, tenant, done.persona)
            else:
                await _change_text(connection, tenant, done, before=done.after, after=done.before)
            await write(connection, id, replace(now, acceptance=None), accepted_at=None)
        return await self._trials.get(tenant, id)

    async def _let_play(
        self,
        connection: AsyncConnection,
        tenant: str,
        answer: str,
        wanted: Acceptance,
        now: str | None,
        then: str | None,
    ) -> None:
        """Give a participant another persona, if it still has the one that it is known to have."""
        found = await connection.execute(select(message.c.discussion).where(message.c.id == answer))
        id = found.scalar_one()
        await hold(connection, [id])
        query = select(discussion.c.participants).where(discussion.c.id == id)
        seated: tuple[Participant, ...] = (await connection.execute(query)).scalar_one()
        if not any((who.id, who.persona) == (wanted.participant, now) for who in seated):
            raise Conflict(ANOTHER_PART)
        others = tuple(replace(who, persona=then) if who.id == wanted.participant else who for who in seated)
        changed = update(discussion).where(discussion.c.id == id)
        await connection.execute(changed.values(participants=others, updated_at=time.time()))
        await tell_change(self._database, connection, tenant, id)


async def _refuse_if_changed(connection: AsyncConnection, tenant: str, of: Acceptance, text: str) -> None:
    column = persona.c[of.field]
    mine = select(column).where(persona.c.id == of.persona, persona.c.tenant == tenant)
    if (await connection.execute(mine.with_for_update())).scalar() != text:
        raise Conflict(CHANGED)


async def _change_text(
    connection: AsyncConnection, tenant: str, of: Acceptance, *, before: str, after: str
) -> None:
    await _refuse_if_changed(connection, tenant, of, before)
    changed = update(persona).where(persona.c.id == of.persona, persona.c.tenant == tenant)
    await connection.execute(changed.values({of.field: after}))


async def _drop_unless_used(connection: AsyncConnection, tenant: str, id: str) -> None:
    """Delete a persona that was made here, unless somebody plays it elsewhere."""
    plays = or_(discussion.c.persona == id, discussion.c.participants.contains(id, autoescape=True))
    used = select(discussion.c.id).where(discussion.c.tenant == tenant, plays).limit(1)
    if (await connection.execute(used)).first() is None:
        await drop_persona(connection, tenant, id)

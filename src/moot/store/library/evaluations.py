"""Stored trials of answers, and the improvements that were accepted."""

import time

from msgspec.structs import replace
from sqlalchemy import RowMapping, Select, insert, or_, select, update
from sqlalchemy.ext.asyncio import AsyncConnection

from moot.store.database import Database
from moot.store.discussions.discussions import hold, tell_change
from moot.store.library.personas import add_persona, drop_persona
from moot.store.schema import discussion, message, persona, trial, worker
from moot.types.errors import Conflict, NotFound
from moot.types.evaluations import Acceptance, Improvement, Round, Trial, with_round
from moot.types.participants import Participant
from moot.types.personas import PersonaDraft

NEWEST = 100  # trials of a message that are listed
ACCEPTED = "This trial is accepted already: ask again and judge the new answer, or undo it first."
BUSY = "This trial is being improved already: wait for that to end, or leave its stream to stop it."


class Trials:
    def __init__(self, database: Database) -> None:
        self._database = database

    async def add(self, tenant: str, new: Trial) -> None:
        values = {name: getattr(new, name) for name in Trial.__struct_fields__ if name in trial.c}
        values["rounds"] = None
        async with self._database.write() as connection:
            await connection.execute(insert(trial).values(**values, tenant=tenant))

    async def get(self, tenant: str, id: str) -> Trial:
        async with self._database.read() as connection:
            return _trial(await _row(connection, id, _of(tenant, id)))

    async def of_message(self, tenant: str, message: str) -> tuple[Trial, ...]:
        """Return the trials of an answer, the newest first."""
        mine = select(trial).where(trial.c.message == message, trial.c.tenant == tenant)
        async with self._database.read() as connection:
            rows = await connection.execute(mine.order_by(trial.c.id.desc()).limit(NEWEST))
            return tuple(_trial(row) for row in rows.mappings())

    async def hold(self, tenant: str, id: str, by: str) -> Trial:
        """Let a worker improve a trial; refuse it while another one that lives does."""
        async with self._database.write() as connection:
            row, now = await locked(connection, tenant, id)
            refuse_if_accepted(now)
            if now.held_by != by:
                await refuse_if_held(connection, now)
            await write(connection, id, replace(now, held_by=by))
        return _trial(row)

    async def let_go(self, tenant: str, id: str, by: str) -> None:
        async with self._database.write() as connection:
            try:
                _, now = await locked(connection, tenant, id)
            except NotFound:  # it was deleted with its discussion
                return
            if now.held_by == by:
                await write(connection, id, replace(now, held_by=None))

    async def keep(self, tenant: str, id: str, by: str, new: Round) -> Trial:
        """Keep a finished round, unless another worker has the trial by now."""
        async with self._database.write() as connection:
            row, now = await locked(connection, tenant, id)
            if now.held_by != by:
                raise Conflict(BUSY)
            more = with_round(_trial(row), new)
            await write(connection, id, replace(now, rounds=more.rounds))
        return more


async def locked(connection: AsyncConnection, tenant: str, id: str) -> tuple[RowMapping, Improvement]:
    """Read a trial that nobody else changes in this transaction."""
    row = await _row(connection, id, _of(tenant, id).with_for_update())
    return row, row["rounds"] or Improvement()


def refuse_if_accepted(trial: Trial | Improvement) -> None:
    """Refuse to improve what is in use already."""
    if trial.acceptance is not None:
        raise Conflict(ACCEPTED)


async def refuse_if_held(connection: AsyncConnection, now: Improvement) -> None:
    """Refuse what cannot be done while a worker that lives improves a trial."""
    alive = select(worker.c.id).where(worker.c.id == now.held_by, worker.c.reaper.is_(None))
    if now.held_by is not None and (await connection.execute(alive)).first() is not None:
        raise Conflict(BUSY)


async def write(connection: AsyncConnection, id: str, now: Improvement, **more: float | None) -> None:
    await connection.execute(update(trial).where(trial.c.id == id).values(rounds=now, **more))


def _of(tenant: str, id: str) -> Select[tuple[object, ...]]:
    return select(trial).where(trial.c.id == id, trial.c.tenant == tenant)


async def _row(connection: AsyncConnection, id: str, query: Select[tuple[object, ...]]) -> RowMapping:
    row = (await connection.execute(query)).mappings().first()
    if row is None:
        raise NotFound(f"There is no trial {id!r}.")
    return row


def _trial(row: RowMapping) -> Trial:
    came: Improvement = row["rounds"] or Improvement()
    own = {name: row[name] for name in Trial.__struct_fields__ if name in trial.c and name != "rounds"}
    return Trial(**own, rounds=came.rounds, acceptance=came.acceptance)


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

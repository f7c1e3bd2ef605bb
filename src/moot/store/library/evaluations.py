"""Evaluations of answers, and improvements that users applied."""

import time

from msgspec.structs import replace
from sqlalchemy import RowMapping, Select, insert, or_, select, update
from sqlalchemy.ext.asyncio import AsyncConnection

from moot.store.database import Database, retry_while_unavailable
from moot.store.discussions.discussions import lock_discussions, notify_discussion_change
from moot.store.library.personas import add_persona, drop_persona
from moot.store.schema.discussions import discussion, message
from moot.store.schema.library import evaluation, persona
from moot.store.schema.runs import worker
from moot.types.errors import Conflict, NotFound, not_found
from moot.types.evaluations import AppliedImprovement, Evaluation, Improvement, ImprovementRound, add_round
from moot.types.participants import Participant
from moot.types.personas import PersonaDraft

MAX_LISTED = 100  # evaluations of one message
APPLIED = "This improvement is applied already. Undo it first, or evaluate a new answer."
BEING_IMPROVED = "This evaluation is being improved already. Wait until that ends, or close its stream to stop it."


class Evaluations:
    def __init__(self, database: Database) -> None:
        self._database = database

    async def add_evaluation(self, tenant: str, new: Evaluation) -> None:
        values = {name: getattr(new, name) for name in Evaluation.__struct_fields__ if name in evaluation.c}
        values["improvement"] = None
        await self._database.execute(insert(evaluation).values(**values, tenant=tenant))

    async def get_evaluation(self, tenant: str, id: str) -> Evaluation:
        async with self._database.read() as connection:
            return _make_evaluation(await _fetch_row(connection, id, _evaluation_query(tenant, id)))

    async def list_evaluations(self, tenant: str, message: str) -> tuple[Evaluation, ...]:
        """Return the evaluations of an answer, newest first, MAX_LISTED at most."""
        mine = select(evaluation).where(evaluation.c.message == message, evaluation.c.tenant == tenant)
        async with self._database.read() as connection:
            rows = await connection.execute(mine.order_by(evaluation.c.id.desc()).limit(MAX_LISTED))
            return tuple(_make_evaluation(row) for row in rows.mappings())

    async def acquire_evaluation(self, tenant: str, id: str, worker_id: str) -> Evaluation:
        """Give the evaluation to a worker. Raises Conflict if it is applied, or if another live worker has it.

        A dead worker never releases it, so only the workers in the registry count.
        """
        async with self._database.write() as connection:
            row, now = await lock_evaluation(connection, tenant, id)
            reject_if_applied(now)
            if now.worker != worker_id:
                await reject_if_being_improved(connection, now)
            await save_improvement(connection, id, replace(now, worker=worker_id))
        return _make_evaluation(row)

    @retry_while_unavailable
    async def release_evaluation(self, tenant: str, id: str, worker_id: str) -> None:
        async with self._database.write() as connection:
            try:
                _, now = await lock_evaluation(connection, tenant, id)
            except NotFound:  # deleted with its discussion
                return
            if now.worker == worker_id:
                await save_improvement(connection, id, replace(now, worker=None))

    @retry_while_unavailable
    async def add_round(self, tenant: str, id: str, worker_id: str, new: ImprovementRound) -> Evaluation:
        """Store a finished round. Raises Conflict if another worker has the evaluation by now."""
        async with self._database.write() as connection:
            row, now = await lock_evaluation(connection, tenant, id)
            if now.worker != worker_id:
                raise Conflict(BEING_IMPROVED)
            more = add_round(_make_evaluation(row), new)
            await save_improvement(connection, id, replace(now, rounds=more.rounds))
        return more


async def lock_evaluation(connection: AsyncConnection, tenant: str, id: str) -> tuple[RowMapping, Improvement]:
    """Lock the row until the transaction ends. Raises NotFound."""
    row = await _fetch_row(connection, id, _evaluation_query(tenant, id).with_for_update())
    return row, row["improvement"] or Improvement()


def reject_if_applied(state: Evaluation | Improvement) -> None:
    if state.applied_improvement is not None:
        raise Conflict(APPLIED)


async def reject_if_being_improved(connection: AsyncConnection, improvement: Improvement) -> None:
    """Raise Conflict if a live worker has the evaluation."""
    alive = select(worker.c.id).where(worker.c.id == improvement.worker, worker.c.successor.is_(None))
    if improvement.worker is not None and (await connection.execute(alive)).first() is not None:
        raise Conflict(BEING_IMPROVED)


async def save_improvement(
    connection: AsyncConnection, id: str, improvement: Improvement, **columns: float | None
) -> None:
    await connection.execute(update(evaluation).where(evaluation.c.id == id).values(improvement=improvement, **columns))


def _evaluation_query(tenant: str, id: str) -> Select[tuple[object, ...]]:
    return select(evaluation).where(evaluation.c.id == id, evaluation.c.tenant == tenant)


async def _fetch_row(connection: AsyncConnection, id: str, query: Select[tuple[object, ...]]) -> RowMapping:
    row = (await connection.execute(query)).mappings().first()
    if row is None:
        raise not_found("evaluation", id)
    return row


def _make_evaluation(row: RowMapping) -> Evaluation:
    improvement: Improvement = row["improvement"] or Improvement()
    own = {name: row[name] for name in Evaluation.__struct_fields__ if name in evaluation.c}
    return Evaluation(**own, rounds=improvement.rounds, applied_improvement=improvement.applied_improvement)


PERSONA_CHANGED = "The persona was changed or deleted since. It stays as it is."
PARTICIPANT_CHANGED = "This participant was removed or has another persona by now. It stays as it is."


class AppliedImprovements:
    """`worker` is the id of this worker. Evaluations that it had before a restart do not block it."""

    def __init__(self, database: Database, worker: str) -> None:
        self._database = database
        self._worker = worker
        self._evaluations = Evaluations(database)

    async def apply_improvement(
        self, tenant: str, id: str, applied: AppliedImprovement, draft: PersonaDraft | None
    ) -> Evaluation:
        """Change the text of the persona, or create the persona `draft` and assign it to the participant.

        Idempotent. Raises Conflict if the persona or the participant was changed since.
        """
        async with self._database.write() as connection:
            row, now = await lock_evaluation(connection, tenant, id)
            if now.applied_improvement is None:
                if now.worker != self._worker:
                    await reject_if_being_improved(connection, now)
                if draft is None:
                    await _replace_persona_text(connection, tenant, applied, before=applied.before, after=applied.after)
                else:
                    applied = replace(applied, persona=await add_persona(connection, tenant, draft))
                    await self._assign_persona(
                        connection, tenant, row["message"], applied, applied.previous_persona, applied.persona
                    )
                await save_improvement(
                    connection, id, replace(now, applied_improvement=applied), applied_at=time.time()
                )
        return await self._evaluations.get_evaluation(tenant, id)

    async def undo_improvement(self, tenant: str, id: str) -> Evaluation:
        """Restore the previous persona. Raises Conflict if it was changed since."""
        async with self._database.write() as connection:
            row, now = await lock_evaluation(connection, tenant, id)
            done = now.applied_improvement
            if done is None:
                raise Conflict("No improvement is applied. There is nothing to undo.")
            if done.is_new_persona:
                await _reject_if_changed(connection, tenant, done, done.after)
                await self._assign_persona(
                    connection, tenant, row["message"], done, done.persona, done.previous_persona
                )
                await _delete_unused_persona(connection, tenant, done.persona)
            else:
                await _replace_persona_text(connection, tenant, done, before=done.after, after=done.before)
            await save_improvement(connection, id, replace(now, applied_improvement=None), applied_at=None)
        return await self._evaluations.get_evaluation(tenant, id)

    async def _assign_persona(
        self,
        connection: AsyncConnection,
        tenant: str,
        message_id: str,
        applied: AppliedImprovement,
        expected_persona: str | None,
        new_persona: str | None,
    ) -> None:
        """Raise Conflict if the participant does not have `expected_persona` any more."""
        found = await connection.execute(select(message.c.discussion).where(message.c.id == message_id))
        id = found.scalar_one()
        await lock_discussions(connection, [id])
        query = select(discussion.c.participants).where(discussion.c.id == id)
        before: tuple[Participant, ...] = (await connection.execute(query)).scalar_one()
        if not any((one.id, one.persona) == (applied.participant, expected_persona) for one in before):
            raise Conflict(PARTICIPANT_CHANGED)
        after = tuple(replace(one, persona=new_persona) if one.id == applied.participant else one for one in before)
        changed = update(discussion).where(discussion.c.id == id)
        await connection.execute(changed.values(participants=after, updated_at=time.time()))
        await notify_discussion_change(self._database, connection, tenant, id)


async def _reject_if_changed(connection: AsyncConnection, tenant: str, applied: AppliedImprovement, text: str) -> None:
    column = persona.c[applied.field]
    mine = select(column).where(persona.c.id == applied.persona, persona.c.tenant == tenant)
    if (await connection.execute(mine.with_for_update())).scalar() != text:
        raise Conflict(PERSONA_CHANGED)


async def _replace_persona_text(
    connection: AsyncConnection, tenant: str, applied: AppliedImprovement, *, before: str, after: str
) -> None:
    await _reject_if_changed(connection, tenant, applied, before)
    changed = update(persona).where(persona.c.id == applied.persona, persona.c.tenant == tenant)
    await connection.execute(changed.values({applied.field: after}))


async def _delete_unused_persona(connection: AsyncConnection, tenant: str, id: str) -> None:
    """Delete a persona that an improvement created, unless a discussion uses it."""
    in_discussion = or_(discussion.c.persona == id, discussion.c.participants.contains(id, autoescape=True))
    used = select(discussion.c.id).where(discussion.c.tenant == tenant, in_discussion).limit(1)
    if (await connection.execute(used)).first() is None:
        await drop_persona(connection, tenant, id)

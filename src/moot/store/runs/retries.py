"""Retries of failed participants, in live and in ended runs."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, NamedTuple

import msgspec
from sqlalchemy import delete, or_, select, tuple_, update
from sqlalchemy.ext.asyncio import AsyncConnection

from moot.store.database import Database
from moot.store.discussions.discussions import RUN_COLUMNS, lock_discussions, notify_discussion_change
from moot.store.runs.runs import lock_worker, move_lane
from moot.store.schema.discussions import message
from moot.store.schema.runs import lane, run
from moot.types.debate import Lane, LaneStatus
from moot.types.discussions import LIVE_STATUSES, Run
from moot.types.errors import Conflict, NotFound, not_found
from moot.types.events import ANSWERED_STATUSES
from moot.types.model_info import ModelLimits
from moot.types.run_plan import RunPlan

ReserveBudget = Callable[[AsyncConnection], Awaitable[None]]
RETRY_COLUMNS = [*RUN_COLUMNS, run.c.plan, run.c.stop_reason, run.c.stopped_participants, run.c.retries]


class RetriedRun(NamedTuple):
    run: Run
    restarts: bool  # the run had ended


class Retries:
    """`worker` is the id of this worker, which executes a run that had ended."""

    def __init__(self, database: Database, worker: str) -> None:
        self._database = database
        self._worker = worker

    async def retry_run(
        self,
        tenant: str,
        id: str,
        participant: str | None = None,
        model: str | None = None,
        reserve: ReserveBudget | None = None,
        model_limits: Mapping[str, ModelLimits] | None = None,
    ) -> RetriedRun:
        """Retry one participant, optionally with another model, or by default all that failed.

        `reserve` runs in the same transaction and raises if the budget is too small. `model_limits` are the limits of
        the model. Raises NotFound, or Conflict if the run is being stopped or there is nothing to retry.
        """
        async with self._database.write() as connection:
            row = await self._lock_run(connection, tenant, id)
            plan: RunPlan = row["plan"]
            participants = _select_participants(
                plan, participant, await _find_failed_participants(connection, id, plan)
            )
            if model is not None and participant is not None:
                plan = plan.with_model(participant, model, model_limits)
            run = await self._mark_for_retry(connection, tenant, row, plan, participants)
            if reserve is not None:
                await reserve(connection)
            return RetriedRun(run, restarts=row["status"] not in LIVE_STATUSES)

    async def _lock_run(self, connection: AsyncConnection, tenant: str, id: str) -> Mapping[str, Any]:
        """Lock the discussion first and then the run, in the order that all transactions use."""
        mine = (run.c.id == id, run.c.tenant == tenant)
        discussion = (await connection.execute(select(run.c.discussion).where(*mine))).scalar()
        if discussion is None:
            raise not_found("run", id)
        await lock_discussions(connection, [discussion])
        row = (await connection.execute(select(*RETRY_COLUMNS).where(*mine).with_for_update())).mappings().one()
        await _reject_concurrent_version(connection, dict(row))
        if row["status"] in LIVE_STATUSES and row["stop_reason"] is not None:
            raise Conflict("This run is being stopped. Wait until it ends, then retry.")
        return dict(row)

    async def _mark_for_retry(
        self,
        connection: AsyncConnection,
        tenant: str,
        row: Mapping[str, Any],
        plan: RunPlan,
        participants: Sequence[str],
    ) -> Run:
        """Increment the revision. A live run keeps its worker; an ended run gets this worker and waits for it."""
        id, revision = row["id"], row["revision"] + 1
        for participant in participants:
            await _delete_failed_turns(connection, id, participant)
        changes: dict[str, Any] = {
            "plan": plan,
            "revision": revision,
            "retries": {**(row["retries"] or {}), **dict.fromkeys(participants, revision)},
            "stopped_participants": tuple(one for one in row["stopped_participants"] or () if one not in participants),
        }
        if row["status"] not in LIVE_STATUSES:
            await lock_worker(connection, self._worker)
            changes |= {"status": "waiting", "running_revision": revision, "worker": self._worker, "ended_at": None}
            changes |= {"stop_reason": None, "stopped_participants": (), "reserved_usd": None}
        query = update(run).where(run.c.id == id).values(**changes).returning(*RUN_COLUMNS)
        found = Run(**(await connection.execute(query)).mappings().one())
        await self._database.notify(connection, "moot_control", id)
        await notify_discussion_change(self._database, connection, tenant, found.discussion)
        return found


async def _reject_concurrent_version(connection: AsyncConnection, row: Mapping[str, Any]) -> None:
    """Raise Conflict if another run is live and one of the two regenerates an answer.

    A new version must not appear while another run reads the discussion.
    """
    others = (run.c.discussion == row["discussion"], run.c.id != row["id"], run.c.status.in_(LIVE_STATUSES))
    regenerates = [] if row["regenerates"] else [run.c.regenerates.is_not(None)]
    query = select(run.c.id).where(*others, *regenerates).limit(1)
    if live_run := (await connection.execute(query)).scalar():
        raise Conflict(f"An answer is being regenerated. Wait for run {live_run}, or stop it first.")


async def _find_failed_participants(connection: AsyncConnection, id: str, plan: RunPlan) -> list[str]:
    """Return ids, in the order of the plan, of participants with a failed lane or without an answer in the last turn."""
    lanes = select(lane.c.participant).where(lane.c.run == id, lane.c.status == "error")
    errors = set((await connection.execute(lanes)).scalars())
    turns = select(message.c.participant, message.c.status).where(message.c.run == id)
    rows = await connection.execute(turns.order_by(message.c.seq))
    last = {row.participant: row.status for row in rows}
    return [
        who.id
        for who in plan.responding_participants
        if who.id in errors or last.get(who.id, "completed") not in ANSWERED_STATUSES
    ]


async def _delete_failed_turns(connection: AsyncConnection, id: str, participant: str) -> None:
    """Delete turns without an answer and reopen the lane. The event log keeps their events.

    The instructions of such a turn are deleted too. The retry writes new ones, with newer answers of the others.
    """
    mine = (message.c.run == id, message.c.participant == participant)
    await connection.execute(delete(message).where(*mine, message.c.status.not_in(ANSWERED_STATUSES)))
    answered = select(message.c.stage, message.c.round).where(*mine)
    alone = msgspec.json.encode((participant,)).decode()
    to_participant = or_(message.c.thread == participant, message.c.visible_to == alone)
    instructions = (message.c.run == id, message.c.hidden.is_(True), to_participant)
    unanswered = tuple_(message.c.stage, message.c.round).not_in(answered)
    await connection.execute(delete(message).where(*instructions, unanswered))
    initial_answer = select(message.c.id).where(*mine, message.c.stage == "initial")
    has_initial_answer = (await connection.execute(initial_answer)).first() is not None
    status: LaneStatus = "debate" if has_initial_answer else "initial"
    await move_lane(connection, id, Lane(participant=participant, status=status), retry=True)


def _select_participants(plan: RunPlan, participant: str | None, failed: Sequence[str]) -> Sequence[str]:
    """Raise Conflict if there is nothing to retry, NotFound if the participant is unknown."""
    if participant is None:
        if not failed:
            raise Conflict("No participant has failed in this run. There is nothing to retry.")
        return failed
    who = next((one for one in plan.participants if one.id == participant), None)
    if who is None:
        raise NotFound(f"This run has no participant {participant!r}.")
    if participant not in failed:
        raise Conflict(f"{who.name} has not failed. There is nothing to retry.")
    return [participant]

"""Trying again what failed in a run: while it goes on, and after it has ended."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, NamedTuple

import msgspec
from sqlalchemy import delete, or_, select, tuple_, update
from sqlalchemy.ext.asyncio import AsyncConnection

from moot.store.database import Database
from moot.store.discussions.discussions import RUN_COLUMNS, lock_discussions, notify_discussion_change
from moot.store.runs.lanes import move_lane
from moot.store.runs.workers import lock_worker
from moot.store.schema import lane, message, run
from moot.types.debate import Lane
from moot.types.discussions import LIVE_STATUSES, Run
from moot.types.errors import Conflict, NotFound
from moot.types.events import ANSWERED_STATUSES
from moot.types.model_info import ModelLimits
from moot.types.run_plan import RunPlan

ReserveBudget = Callable[[AsyncConnection], Awaitable[None]]
RETRY_COLUMNS = [*RUN_COLUMNS, run.c.plan, run.c.stop, run.c.stopped, run.c.retried]


class RetriedRun(NamedTuple):
    """A run of which something is tried again; one that had ended `begins` anew."""

    run: Run
    restarts: bool


class Retries:
    """`worker` is who takes up a run that had ended."""

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
        measures: Mapping[str, ModelLimits] | None = None,
    ) -> RetriedRun:
        """Let one participant of a run try again, perhaps with another model, or all that failed.

        It goes on for whoever can `reserve` what that costs; `measures` are what is known of the model.
        """
        async with self._database.write() as connection:
            row = await self._lock_run(connection, tenant, id)
            plan: RunPlan = row["plan"]
            who = _select_participants(
                plan, participant, await _find_failed_participants(connection, id, plan)
            )
            if model is not None and participant is not None:
                plan = plan.with_model(participant, model, measures)
            run = await self._mark_for_retry(connection, tenant, row, plan, who)
            if reserve is not None:
                await reserve(connection)
            return RetriedRun(run, restarts=row["status"] not in LIVE_STATUSES)

    async def _lock_run(self, connection: AsyncConnection, tenant: str, id: str) -> Mapping[str, Any]:
        """Let nobody else change a run, nor its discussion, which is held first."""
        mine = (run.c.id == id, run.c.tenant == tenant)
        discussion = (await connection.execute(select(run.c.discussion).where(*mine))).scalar()
        if discussion is None:
            raise NotFound(f"There is no run {id!r}.")
        await lock_discussions(connection, [discussion])
        row = (
            (await connection.execute(select(*RETRY_COLUMNS).where(*mine).with_for_update())).mappings().one()
        )
        await _reject_concurrent_version(connection, dict(row))
        if row["status"] in LIVE_STATUSES and row["stop"] is not None:
            raise Conflict("This run is being stopped: wait for its end, then try again.")
        return dict(row)

    async def _mark_for_retry(
        self,
        connection: AsyncConnection,
        tenant: str,
        row: Mapping[str, Any],
        plan: RunPlan,
        participants: Sequence[str],
    ) -> Run:
        id, revision = row["id"], row["revision"] + 1
        for participant in participants:
            await _delete_failed_turns(connection, id, participant)
        changes: dict[str, Any] = {
            "plan": plan,
            "revision": revision,
            "retried": {**(row["retried"] or {}), **dict.fromkeys(participants, revision)},
            "stopped": tuple(one for one in row["stopped"] or () if one not in participants),
        }
        if row["status"] not in LIVE_STATUSES:
            await lock_worker(connection, self._worker)
            changes |= {"status": "waiting", "begun": revision, "worker": self._worker, "ended_at": None}
            changes |= {"stop": None, "stopped": (), "reserved": None}
        query = update(run).where(run.c.id == id).values(**changes).returning(*RUN_COLUMNS)
        found = Run(**(await connection.execute(query)).mappings().one())
        await self._database.notify(connection, "moot_control", id)
        await notify_discussion_change(self._database, connection, tenant, found.discussion)
        return found


async def _reject_concurrent_version(connection: AsyncConnection, row: Mapping[str, Any]) -> None:
    """Let no version of an answer be made while others read the discussion, nor the other way round."""
    beside = (run.c.discussion == row["discussion"], run.c.id != row["id"], run.c.status.in_(LIVE_STATUSES))
    one_is = [] if row["again"] else [run.c.again.is_not(None)]
    if speaking := (await connection.execute(select(run.c.id).where(*beside, *one_is).limit(1))).scalar():
        raise Conflict(f"An answer is given anew: wait for run {speaking}, or stop it first.")


async def _find_failed_participants(connection: AsyncConnection, id: str, plan: RunPlan) -> list[str]:
    """List who has an error in its lane, or a turn without an answer and none that came after it."""
    lanes = select(lane.c.participant).where(lane.c.run == id, lane.c.status == "error")
    errors = set((await connection.execute(lanes)).scalars())
    turns = select(message.c.participant, message.c.status).where(message.c.run == id)
    spoken = await connection.execute(turns.order_by(message.c.number))
    last = {row.participant: row.status for row in spoken}
    return [
        who.id
        for who in plan.responding_participants
        if who.id in errors or last.get(who.id, "completed") not in ANSWERED_STATUSES
    ]


async def _delete_failed_turns(connection: AsyncConnection, id: str, participant: str) -> None:
    """Delete the turns that are to be spoken anew, of which the log still tells, and open the lane again.

    What was told before such a turn goes too: it is told anew, with what the others have answered since.
    """
    mine = (message.c.run == id, message.c.participant == participant)
    await connection.execute(delete(message).where(*mine, message.c.status.not_in(ANSWERED_STATUSES)))
    answered = select(message.c.stage, message.c.round).where(*mine)
    alone = msgspec.json.encode((participant,)).decode()
    to_it = or_(message.c.thread == participant, message.c.audience == alone)
    told = (message.c.run == id, message.c.hidden.is_(True), to_it)
    unanswered = tuple_(message.c.stage, message.c.round).not_in(answered)
    await connection.execute(delete(message).where(*told, unanswered))
    first = select(message.c.id).where(*mine, message.c.stage == "initial")
    begun = (await connection.execute(first)).first() is not None
    await move_lane(
        connection, id, Lane(participant=participant, status="debate" if begun else "initial"), retry=True
    )


def _select_participants(plan: RunPlan, participant: str | None, failed: Sequence[str]) -> Sequence[str]:
    """Say who tries again, if anybody may."""
    if participant is None:
        if not failed:
            raise Conflict("Nobody has failed in this run: there is nothing to try again.")
        return failed
    who = next((one for one in plan.participants if one.id == participant), None)
    if who is None:
        raise NotFound(f"Nobody called {participant!r} takes part in this run.")
    if participant not in failed:
        raise Conflict(f"{who.name} has not failed: there is nothing to try again.")
    return [participant]

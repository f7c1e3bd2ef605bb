"""Trying again what failed in a run: while it goes on, and after it has ended."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, NamedTuple

import msgspec
from sqlalchemy import delete, or_, select, tuple_, update
from sqlalchemy.ext.asyncio import AsyncConnection

from moot.store.database import Database
from moot.store.discussions.discussions import RUN_FIELDS, hold, tell_change
from moot.store.runs.lanes import move
from moot.store.runs.workers import hold_worker
from moot.store.schema import lane, message, run
from moot.types.debate import Lane
from moot.types.discussions import LIVE, Run
from moot.types.errors import Conflict, NotFound
from moot.types.events import ANSWERED
from moot.types.model_info import Measure
from moot.types.run_plan import Plan

Reserve = Callable[[AsyncConnection], Awaitable[None]]
FIELDS = [*RUN_FIELDS, run.c.plan, run.c.stop, run.c.stopped, run.c.retried]


class Again(NamedTuple):
    """A run of which something is tried again; one that had ended `begins` anew."""

    run: Run
    begins: bool


class Retries:
    """`worker` is who takes up a run that had ended."""

    def __init__(self, database: Database, worker: str) -> None:
        self._database = database
        self._worker = worker

    async def again(
        self,
        tenant: str,
        id: str,
        participant: str | None = None,
        model: str | None = None,
        reserve: Reserve | None = None,
        measures: Mapping[str, Measure] | None = None,
    ) -> Again:
        """Let one participant of a run try again, perhaps with another model, or all that failed.

        It goes on for whoever can `reserve` what that costs; `measures` are what is known of the model.
        """
        async with self._database.write() as connection:
            row = await self._held(connection, tenant, id)
            plan: Plan = row["plan"]
            who = _chosen(plan, participant, await _failed(connection, id, plan))
            if model is not None and participant is not None:
                plan = plan.with_model(participant, model, measures)
            run = await self._again(connection, tenant, row, plan, who)
            if reserve is not None:
                await reserve(connection)
            return Again(run, begins=row["status"] not in LIVE)

    async def _held(self, connection: AsyncConnection, tenant: str, id: str) -> Mapping[str, Any]:
        """Let nobody else change a run, nor its discussion, which is held first."""
        mine = (run.c.id == id, run.c.tenant == tenant)
        discussion = (await connection.execute(select(run.c.discussion).where(*mine))).scalar()
        if discussion is None:
            raise NotFound(f"There is no run {id!r}.")
        await hold(connection, [discussion])
        row = (await connection.execute(select(*FIELDS).where(*mine).with_for_update())).mappings().one()
        await _refuse_beside(connection, dict(row))
        if row["status"] in LIVE and row["stop"] is not None:
            raise Conflict("This run is being stopped: wait for its end, then try again.")
        return dict(row)

    async def _again(
        self,
        connection: AsyncConnection,
        tenant: str,
        row: Mapping[str, Any],
        plan: Plan,
        participants: Sequence[str],
    ) -> Run:
        id, revision = row["id"], row["revision"] + 1
        for participant in participants:
            await _forget(connection, id, participant)
        changes: dict[str, Any] = {
            "plan": plan,
            "revision": revision,
            "retried": {**(row["retried"] or {}), **dict.fromkeys(participants, revision)},
            "stopped": tuple(one for one in row["stopped"] or () if one not in participants),
        }
        if row["status"] not in LIVE:
            await hold_worker(connection, self._worker)
            changes |= {"status": "waiting", "begun": revision, "worker": self._worker, "ended_at": None}
            changes |= {"stop": None, "stopped": (), "reserved": None}
        query = update(run).where(run.c.id == id).values(**changes).returning(*RUN_FIELDS)
        found = Run(**(await connection.execute(query)).mappings().one())
        await self._database.tell(connection, "moot_control", id)
        await tell_change(self._database, connection, tenant, found.discussion)
        return found


async def _refuse_beside(connection: AsyncConnection, row: Mapping[str, Any]) -> None:
    """Let no version of an answer be made while others read the discussion, nor the other way round."""
    beside = (run.c.discussion == row["discussion"], run.c.id != row["id"], run.c.status.in_(LIVE))
    one_is = [] if row["again"] else [run.c.again.is_not(None)]
    if speaking := (await connection.execute(select(run.c.id).where(*beside, *one_is).limit(1))).scalar():
        raise Conflict(f"An answer is given anew: wait for run {speaking}, or stop it first.")


async def _failed(connection: AsyncConnection, id: str, plan: Plan) -> list[str]:
    """List who has an error in its lane, or a turn without an answer and none that came after it."""
    lanes = select(lane.c.participant).where(lane.c.run == id, lane.c.status == "error")
    errors = set((await connection.execute(lanes)).scalars())
    turns = select(message.c.participant, message.c.status).where(message.c.run == id)
    spoken = await connection.execute(turns.order_by(message.c.number))
    last = {row.participant: row.status for row in spoken}
    return [
        who.id for who in plan.speaking if who.id in errors or last.get(who.id, "completed") not in ANSWERED
    ]


async def _forget(connection: AsyncConnection, id: str, participant: str) -> None:
    """Delete the turns that are to be spoken anew, of which the log still tells, and open the lane again.

    What was told before such a turn goes too: it is told anew, with what the others have answered since.
    """
    mine = (message.c.run == id, message.c.participant == participant)
    await connection.execute(delete(message).where(*mine, message.c.status.not_in(ANSWERED)))
    answered = select(message.c.stage, message.c.round).where(*mine)
    alone = msgspec.json.encode((participant,)).decode()
    to_it = or_(message.c.thread == participant, message.c.audience == alone)
    told = (message.c.run == id, message.c.hidden.is_(True), to_it)
    unanswered = tuple_(message.c.stage, message.c.round).not_in(answered)
    await connection.execute(delete(message).where(*told, unanswered))
    first = select(message.c.id).where(*mine, message.c.stage == "initial")
    begun = (await connection.execute(first)).first() is not None
    await move(
        connection, id, Lane(participant=participant, status="debate" if begun else "initial"), retry=True
    )


def _chosen(plan: Plan, participant: str | None, failed: Sequence[str]) -> Sequence[str]:
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

"""Runs: taken in with the message that starts them, claimed by a worker, stopped, and ended once."""

from collections.abc import Mapping, Sequence
from typing import Any, get_args

import msgspec
from msgspec import Struct
from sqlalchemy import Select, func, insert, select, update
from sqlalchemy.ext.asyncio import AsyncConnection

from moot.store.database import Database
from moot.store.discussions.discussions import RUN_COLUMNS
from moot.store.runs.lanes import add_lanes
from moot.store.runs.workers import lock_worker
from moot.store.schema import permission, run, run_event
from moot.types.billing import Payer
from moot.types.discussions import LIVE_STATUSES, Run
from moot.types.errors import NotFound
from moot.types.events import StopReason
from moot.types.run_plan import RunPlan
from moot.types.tools import ApprovalDecision


class RetryCommand(Struct, frozen=True):
    """Who is to try again, and in which revision each is due; `plan` says with which models."""

    revision: int
    retries: dict[str, int]
    plan: RunPlan


class RunCommands(Struct, frozen=True):
    """What is wished of a run: that it ends, and why; which participants are to end, and which to try again.

    `answers` are those to calls that somebody was asked about.
    """

    stop_reason: StopReason | None
    stopped_participants: tuple[str, ...]
    retry: RetryCommand | None = None
    approval_decisions: Mapping[str, ApprovalDecision] = {}


class RunLease(Struct, frozen=True, kw_only=True):
    """A run as its new owner finds it. Whoever holds an older epoch writes no more.

    `revision` is the one that is executed; what was to be tried again since then is due after it. It `waits` while
    something that was started before it in its discussion is still going on.
    """

    run: str
    tenant: str
    discussion: str
    plan: RunPlan
    epoch: int
    seq: int
    place: int
    revision: int = 0
    account: str | None = None
    must_wait: bool = False


class Runs:
    def __init__(self, database: Database) -> None:
        self._database = database

    async def get_run(self, tenant: str, id: str) -> Run:
        query = select(*RUN_COLUMNS).where(run.c.id == id, run.c.tenant == tenant)
        async with self._database.read() as connection:
            row = (await connection.execute(query)).mappings().first()
        if row is None:
            raise NotFound(f"There is no run {id!r}.")
        return Run(**row)

    async def list_runs(self, tenant: str, discussion: str) -> tuple[Run, ...]:
        """List the runs of a discussion in the order of what they answer."""
        mine = (run.c.discussion == discussion, run.c.tenant == tenant)
        query = select(*RUN_COLUMNS).where(*mine).order_by(run.c.place, run.c.created_at, run.c.id)
        async with self._database.read() as connection:
            return tuple(Run(**row) for row in (await connection.execute(query)).mappings())

    async def get_plan(self, id: str) -> RunPlan:
        async with self._database.read() as connection:
            plan: RunPlan = (await connection.execute(select(run.c.plan).where(run.c.id == id))).scalar_one()
        return plan

    async def acquire_lease(self, id: str, worker: str, revision: int | None = None) -> RunLease | None:
        """Let a worker become the owner of a run; None if it is over, gone, or in another revision by now."""
        mine = [run.c.id == id, run.c.status.in_(LIVE_STATUSES)]
        if revision is not None:
            mine.append(run.c.begun == revision)
        owned = (run.c.tenant, run.c.discussion, run.c.plan, run.c.epoch, run.c.place, run.c.account)
        last = select(func.coalesce(func.max(run_event.c.seq), 0)).where(run_event.c.run == id)
        claimed = (
            update(run)
            .where(*mine)
            .values(epoch=run.c.epoch + 1, worker=worker, status="running")
            .returning(*owned, run.c.begun.label("revision"))
        )
        stands = select(last.scalar_subquery(), _earlier_live_query(id).exists())
        async with self._database.write() as connection:
            await lock_worker(connection, worker)
            row = (await connection.execute(claimed)).mappings().first()
            if row is None:
                return None
            seq, waits = (await connection.execute(stands)).one()
        return RunLease(run=id, seq=seq, must_wait=waits, **row)

    async def waiting_revision(self, id: str, worker: str) -> int | None:
        """Return the revision in which a run of a worker is to go on, if it is to."""
        waiting = (run.c.id == id, run.c.worker == worker, run.c.status == "waiting")
        query = select(run.c.begun).where(*waiting)
        async with self._database.read() as connection:
            revision: int | None = (await connection.execute(query)).scalar()
        return revision

    async def pending_commands(self, id: str) -> RunCommands:
        columns = (run.c.stop, run.c.stopped, run.c.revision, run.c.retried, run.c.plan)
        async with self._database.read() as connection:
            row = (await connection.execute(select(*columns).where(run.c.id == id))).first()
            answers = {one.id: one.answer for one in await connection.execute(_decisions_query(id))}
        if row is None:
            return RunCommands("stopped_by_user", ())
        again = RetryCommand(row.revision, row.retried, row.plan) if row.retried else None
        return RunCommands(row.stop, row.stopped or (), again, answers)

    async def request_stop(self, tenant: str, id: str, participant: str | None = None) -> Run:
        """Note that a run, or one participant of it, is to end; a run that is over stays as it is."""
        mine = (run.c.id == id, run.c.tenant == tenant)
        query = select(*RUN_COLUMNS, run.c.stopped, run.c.plan).where(*mine).with_for_update()
        async with self._database.write() as connection:
            row = (await connection.execute(query)).mappings().first()
            if row is None:
                raise NotFound(f"There is no run {id!r}.")
            found = Run(**{name: row[name] for name in Run.__struct_fields__})
            if participant is not None and participant not in [who.id for who in row["plan"].participants]:
                raise NotFound(f"Nobody called {participant!r} takes part in this run.")
            if found.status not in LIVE_STATUSES:
                return found
            wish: dict[str, Any] = {"stop": "stopped_by_user"}
            if participant is not None:
                wish = {"stopped": tuple(dict.fromkeys([*(row["stopped"] or ()), participant]))}
            await connection.execute(update(run).where(*mine).values(**wish))
            await self._database.notify(connection, "moot_control", id)
        return found

    async def has_earlier_live_run(self, id: str) -> bool:
        """Tell whether something that was started before this run in its discussion is still going on."""
        async with self._database.read() as connection:
            return (await connection.execute(_earlier_live_query(id).limit(1))).first() is not None

    async def list_worker_runs(self, worker: str) -> Sequence[tuple[str, int]]:
        """List the runs that a worker had when it was last seen, and the revisions they are in."""
        query = select(run.c.id, run.c.begun).where(run.c.worker == worker, run.c.status.in_(LIVE_STATUSES))
        async with self._database.read() as connection:
            return [(row.id, row.begun) for row in await connection.execute(query.order_by(run.c.id))]


def _decisions_query(id: str) -> Select[tuple[str, str]]:
    known = permission.c.answer.in_(get_args(ApprovalDecision))
    return select(permission.c.id, permission.c.answer).where(permission.c.run == id, known)


def _earlier_live_query(id: str) -> Select[tuple[str]]:
    this, earlier = run.alias("this"), run.alias("earlier")
    before = (earlier.c.discussion == this.c.discussion) & (earlier.c.place < this.c.place)
    query = select(earlier.c.id).join_from(this, earlier, before)
    return query.where(this.c.id == id, earlier.c.status.in_(LIVE_STATUSES))


async def add_run(connection: AsyncConnection, payer: Payer, new: Run, plan: RunPlan, worker: str) -> None:
    await lock_worker(connection, worker)
    values = msgspec.structs.asdict(new)
    who = {"tenant": payer.tenant, "account": payer.account}
    await connection.execute(insert(run).values(**values, **who, plan=plan, worker=worker))
    if plan.mode == "debate" and plan.again is None:
        await add_lanes(connection, new.id, [one.id for one in plan.responding_participants])


async def interrupt_runs(database: Database, connection: AsyncConnection, discussion: str) -> None:
    """Let a discussion's runs end because something new was said."""
    query = (
        update(run)
        .where(run.c.discussion == discussion, run.c.status.in_(LIVE_STATUSES), run.c.stop.is_(None))
        .values(stop="follow_up_interrupt")
        .returning(run.c.id)
    )
    for id in (await connection.execute(query)).scalars().all():
        await database.notify(connection, "moot_control", id)

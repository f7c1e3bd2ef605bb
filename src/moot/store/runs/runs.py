"""Runs: creation, leases of workers, and commands such as stop and retry."""

from collections.abc import Mapping, Sequence
from typing import Any, get_args

import msgspec
from msgspec import Struct
from sqlalchemy import Select, func, insert, select, update
from sqlalchemy.ext.asyncio import AsyncConnection

from moot.store.database import Database
from moot.store.discussions.discussions import RUN_COLUMNS
from moot.store.retry import retry_while_unavailable
from moot.store.runs.lanes import add_lanes
from moot.store.runs.workers import lock_worker
from moot.store.schema.runs import approval, run, run_event
from moot.types.billing import Payer
from moot.types.discussions import LIVE_STATUSES, Run
from moot.types.errors import NotFound
from moot.types.events import StopReason
from moot.types.run_plan import RunPlan
from moot.types.tools import ApprovalDecision


class RetryCommand(Struct, frozen=True):
    revision: int  # the newest one
    retries: dict[str, int]  # participant id: revision that retries it
    plan: RunPlan  # with the models to use


class RunCommands(Struct, frozen=True):
    """All requests of users for a live run. Its worker reads them when it is notified."""

    stop_reason: StopReason | None  # None: the run continues
    stopped_participants: tuple[str, ...]  # ids
    retry: RetryCommand | None = None
    approval_decisions: Mapping[str, ApprovalDecision] = {}  # tool call id: decision


class RunLease(Struct, frozen=True, kw_only=True):
    """The right of one worker to execute a run. A newer lease has a higher epoch and fences this one."""

    run: str
    tenant: str
    discussion: str
    plan: RunPlan
    epoch: int  # fencing token: with an older epoch, no event is written
    seq: int  # newest event in the log; 0 on the first execution
    position: int  # position of the run in the discussion
    revision: int = 0  # the revision to execute; later retries run after it
    account: str | None = None  # pays for the run
    must_wait: bool = False  # an earlier run of the discussion is still live


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
        """Return the runs in the order of the messages that they answer."""
        mine = (run.c.discussion == discussion, run.c.tenant == tenant)
        query = select(*RUN_COLUMNS).where(*mine).order_by(run.c.position, run.c.created_at, run.c.id)
        async with self._database.read() as connection:
            return tuple(Run(**row) for row in (await connection.execute(query)).mappings())

    async def get_plan(self, id: str) -> RunPlan:
        async with self._database.read() as connection:
            plan: RunPlan = (await connection.execute(select(run.c.plan).where(run.c.id == id))).scalar_one()
        return plan

    @retry_while_unavailable
    async def acquire_lease(self, id: str, worker: str, revision: int | None = None) -> RunLease | None:
        """Make `worker` the owner of a run and fence the previous owner.

        Returns None if the run has ended, was deleted, or has another revision. Raises ShuttingDown if this worker was
        taken over itself.
        """
        mine = [run.c.id == id, run.c.status.in_(LIVE_STATUSES)]
        if revision is not None:
            mine.append(run.c.running_revision == revision)
        owned = (run.c.tenant, run.c.discussion, run.c.plan, run.c.epoch, run.c.position, run.c.account)
        last = select(func.coalesce(func.max(run_event.c.seq), 0)).where(run_event.c.run == id)
        new_lease = (
            update(run)
            .where(*mine)
            .values(epoch=run.c.epoch + 1, worker=worker, status="running")
            .returning(*owned, run.c.running_revision.label("revision"))
        )
        progress = select(last.scalar_subquery(), _earlier_live_query(id).exists())
        async with self._database.write() as connection:
            await lock_worker(connection, worker)
            row = (await connection.execute(new_lease)).mappings().first()
            if row is None:
                return None
            seq, must_wait = (await connection.execute(progress)).one()
        return RunLease(run=id, seq=seq, must_wait=must_wait, **row)

    @retry_while_unavailable
    async def waiting_revision(self, id: str, worker: str) -> int | None:
        """Return the revision to execute next, or None if the run does not wait for this worker."""
        waiting = (run.c.id == id, run.c.worker == worker, run.c.status == "waiting")
        query = select(run.c.running_revision).where(*waiting)
        async with self._database.read() as connection:
            revision: int | None = (await connection.execute(query)).scalar()
        return revision

    @retry_while_unavailable
    async def pending_commands(self, id: str) -> RunCommands:
        columns = (run.c.stop_reason, run.c.stopped_participants, run.c.revision, run.c.retries, run.c.plan)
        async with self._database.read() as connection:
            row = (await connection.execute(select(*columns).where(run.c.id == id))).first()
            decisions = {one.id: one.decision for one in await connection.execute(_decisions_query(id))}
        if row is None:  # deleted
            return RunCommands("stopped_by_user", ())
        retry = RetryCommand(row.revision, row.retries, row.plan) if row.retries else None
        return RunCommands(row.stop_reason, row.stopped_participants or (), retry, decisions)

    async def request_stop(self, tenant: str, id: str, participant: str | None = None) -> Run:
        """Request the stop of a run, or of one participant, and notify its worker.

        Returns an ended run unchanged. Raises NotFound if there is no such run or participant.
        """
        mine = (run.c.id == id, run.c.tenant == tenant)
        query = select(*RUN_COLUMNS, run.c.stopped_participants, run.c.plan).where(*mine).with_for_update()
        async with self._database.write() as connection:
            row = (await connection.execute(query)).mappings().first()
            if row is None:
                raise NotFound(f"There is no run {id!r}.")
            found = Run(**{name: row[name] for name in Run.__struct_fields__})
            if participant is not None and participant not in [who.id for who in row["plan"].participants]:
                raise NotFound(f"This run has no participant {participant!r}.")
            if found.status not in LIVE_STATUSES:
                return found
            values: dict[str, Any] = {"stop_reason": "stopped_by_user"}
            if participant is not None:
                values = {
                    "stopped_participants": tuple(dict.fromkeys([*(row["stopped_participants"] or ()), participant]))
                }
            await connection.execute(update(run).where(*mine).values(**values))
            await self._database.notify(connection, "moot_control", id)
        return found

    @retry_while_unavailable
    async def has_earlier_live_run(self, id: str) -> bool:
        """Return whether an earlier run of the same discussion is still live."""
        async with self._database.read() as connection:
            return (await connection.execute(_earlier_live_query(id).limit(1))).first() is not None

    @retry_while_unavailable
    async def list_worker_runs(self, worker: str) -> Sequence[tuple[str, int]]:
        """Return id and revision of the live runs assigned to a worker."""
        query = select(run.c.id, run.c.running_revision).where(run.c.worker == worker, run.c.status.in_(LIVE_STATUSES))
        async with self._database.read() as connection:
            return [(row.id, row.running_revision) for row in await connection.execute(query.order_by(run.c.id))]


def _decisions_query(id: str) -> Select[tuple[str, str]]:
    known = approval.c.decision.in_(get_args(ApprovalDecision))
    return select(approval.c.id, approval.c.decision).where(approval.c.run == id, known)


def _earlier_live_query(id: str) -> Select[tuple[str]]:
    this, earlier = run.alias("this"), run.alias("earlier")
    before = (earlier.c.discussion == this.c.discussion) & (earlier.c.position < this.c.position)
    query = select(earlier.c.id).join_from(this, earlier, before)
    return query.where(this.c.id == id, earlier.c.status.in_(LIVE_STATUSES))


async def add_run(connection: AsyncConnection, payer: Payer, new: Run, plan: RunPlan, worker: str) -> None:
    await lock_worker(connection, worker)
    values = msgspec.structs.asdict(new)
    who = {"tenant": payer.tenant, "account": payer.account}
    await connection.execute(insert(run).values(**values, **who, plan=plan, worker=worker))
    if plan.spec.in_lanes and plan.regenerate is None:
        await add_lanes(connection, new.id, [one.id for one in plan.responding_participants])


async def interrupt_runs(database: Database, connection: AsyncConnection, discussion: str) -> None:
    """Stop the live runs of a discussion because a user sent a new message."""
    query = (
        update(run)
        .where(run.c.discussion == discussion, run.c.status.in_(LIVE_STATUSES), run.c.stop_reason.is_(None))
        .values(stop_reason="follow_up_interrupt")
        .returning(run.c.id)
    )
    for id in (await connection.execute(query)).scalars().all():
        await database.notify(connection, "moot_control", id)

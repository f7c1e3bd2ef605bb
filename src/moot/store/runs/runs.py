"""Runs: creation, leases of workers, commands such as stop and retry, lanes of debates, and the workers."""

import time
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple, get_args

import msgspec
from msgspec import Struct
from sqlalchemy import Select, delete, func, insert, select, update
from sqlalchemy.ext.asyncio import AsyncConnection

from moot.store.database import Database, retry_while_unavailable
from moot.store.discussions.discussions import RUN_COLUMNS
from moot.store.schema.runs import approval, lane, run, run_event, worker
from moot.types.billing import Payer
from moot.types.debate import Lane, LaneStatus
from moot.types.discussions import LIVE_STATUSES, Run
from moot.types.errors import NotFound, ShuttingDown, not_found
from moot.types.events import StopReason
from moot.types.run_plan import RunPlan
from moot.types.tools import ApprovalDecision

LANE_COLUMNS = [lane.c[name] for name in Lane.__struct_fields__]
ALLOWED_PREVIOUS: Mapping[LaneStatus, Sequence[LaneStatus]] = {
    "initial": (),
    "debate": ("initial",),
    "complete": ("initial", "debate"),
    "error": ("initial", "debate", "complete"),  # a complete lane may still debate, and fail
}
UNFINISHED_ERROR = "The run ended before this participant answered."


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
        if (found := await self._database.fetch_struct(Run, query)) is None:
            raise not_found("run", id)
        return found

    async def list_runs(self, tenant: str, discussion: str) -> tuple[Run, ...]:
        """Return the runs in the order of the messages that they answer."""
        mine = (run.c.discussion == discussion, run.c.tenant == tenant)
        query = select(*RUN_COLUMNS).where(*mine).order_by(run.c.position, run.c.created_at, run.c.id)
        return await self._database.fetch_structs(Run, query)

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
        revision: int | None = await self._database.fetch_value(query)
        return revision

    @retry_while_unavailable
    async def pending_commands(self, id: str) -> RunCommands:
        columns = (run.c.stop_reason, run.c.stopped_participants, run.c.revision, run.c.retries, run.c.plan)
        known = approval.c.decision.in_(get_args(ApprovalDecision))
        decided = select(approval.c.id, approval.c.decision).where(approval.c.run == id, known)
        async with self._database.read() as connection:
            row = (await connection.execute(select(*columns).where(run.c.id == id))).first()
            decisions = {one.id: one.decision for one in await connection.execute(decided)}
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
                raise not_found("run", id)
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
        return await self._database.fetch_first(_earlier_live_query(id).limit(1)) is not None

    @retry_while_unavailable
    async def list_worker_runs(self, worker: str) -> Sequence[tuple[str, int]]:
        """Return id and revision of the live runs assigned to a worker."""
        query = select(run.c.id, run.c.running_revision).where(run.c.worker == worker, run.c.status.in_(LIVE_STATUSES))
        return [(row.id, row.running_revision) for row in await self._database.fetch_all(query.order_by(run.c.id))]


class Lanes:
    """Lanes of a debate: the state of each participant. Only `move_lane` changes a state."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def lanes_by_participant(self, run: str) -> dict[str, Lane]:
        query = select(*LANE_COLUMNS).where(lane.c.run == run)
        return {one.participant: one for one in await self._database.fetch_structs(Lane, query)}


class WorkerState(NamedTuple):
    heartbeats: int  # a counter, because clocks of servers differ
    successor: str | None  # id of the worker that takes over; its own id after it left


class WorkerRegistry:
    """The workers on one Postgres database, with heartbeats and takeovers.

    A transaction that gives a run to a worker holds a shared lock on the row of that worker. A takeover locks the row
    exclusively. Therefore no worker gets a run after its takeover has begun.
    """

    def __init__(self, database: Database) -> None:
        self._database = database

    async def register(self, id: str) -> None:
        await self._database.execute(insert(worker).values(id=id, heartbeats=0, created_at=time.time()))

    async def mark_as_left(self, id: str) -> None:
        """Let other workers take over remaining runs at once, before the lease times out."""
        await self._database.execute(update(worker).where(worker.c.id == id).values(successor=id))

    async def register_as_left(self, id: str) -> None:
        """Register a worker that owns runs but has no row, so that a live worker takes over. Idempotent."""
        left = self._database.insert_into(worker).values(id=id, heartbeats=0, successor=id, created_at=time.time())
        await self._database.execute(left.on_conflict_do_nothing())

    async def send_heartbeat(self, id: str) -> bool:
        """Return False if another worker is taking over: the caller is fenced."""
        mine = update(worker).where(worker.c.id == id, worker.c.successor.is_(None))
        return bool(await self._database.execute(mine.values(heartbeats=worker.c.heartbeats + 1)))

    async def worker_states(self) -> dict[str, WorkerState]:
        query = select(worker.c.id, worker.c.heartbeats, worker.c.successor)
        return {row.id: WorkerState(row.heartbeats, row.successor) for row in await self._database.fetch_all(query)}

    async def begin_takeover(self, id: str, state: WorkerState, successor: str) -> bool:
        """Return whether `successor` may take over.

        It may not if the worker sent a heartbeat since `state`, if another worker was first, or if the row is locked. A
        locked row means that the worker is getting a run, so it is alive.
        """
        same = (worker.c.heartbeats == state.heartbeats, worker.c.successor.is_not_distinct_from(state.successor))
        locked = select(worker.c.id).where(worker.c.id == id, *same).with_for_update(skip_locked=True)
        async with self._database.write() as connection:
            if (await connection.execute(locked)).first() is None:
                return False
            await connection.execute(update(worker).where(worker.c.id == id).values(successor=successor))
        return True

    async def deregister(self, id: str) -> None:
        await self._database.execute(delete(worker).where(worker.c.id == id))


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


async def add_lanes(connection: AsyncConnection, run: str, participants: Iterable[str]) -> None:
    rows = [{"run": run, "participant": who, "status": "initial", "late": False} for who in participants]
    await connection.execute(insert(lane), rows)


async def fail_open_lanes(connection: AsyncConnection, run: str) -> None:
    """Set unfinished lanes of an ended run to `error`, so that a user can retry them."""
    unfinished = select(lane.c.participant).where(lane.c.run == run, lane.c.status.in_(("initial", "debate")))
    for participant in (await connection.execute(unfinished)).scalars().all():
        await move_lane(connection, run, Lane(participant=participant, status="error", error=UNFINISHED_ERROR))


async def move_lane(connection: AsyncConnection, run: str, new_lane: Lane, *, retry: bool = False) -> bool:
    """Return whether the state changed. A transition that is not allowed changes nothing.

    Only a retry leaves the `error` state, so a late answer cannot complete a failed lane.
    """
    before = ("error",) if retry else ALLOWED_PREVIOUS[new_lane.status]
    moved = (
        update(lane)
        .where(lane.c.run == run, lane.c.participant == new_lane.participant, lane.c.status.in_(before))
        .values(status=new_lane.status, error=new_lane.error, late=new_lane.late)
    )
    return (await connection.execute(moved)).rowcount == 1


async def lock_worker(connection: AsyncConnection, id: str) -> None:
    """Block takeovers of this worker until the transaction ends. Raises ShuttingDown if one has begun."""
    if connection.dialect.name == "sqlite":
        return  # one worker per file, without a registry
    mine = select(worker.c.id).where(worker.c.id == id, worker.c.successor.is_(None))
    if (await connection.execute(mine.with_for_update(read=True, key_share=True))).first() is None:
        raise ShuttingDown("This server is shutting down. Try again in a moment.")

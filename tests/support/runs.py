"""Stored and leased runs, for tests of the event log and of fencing."""

import time

from sqlalchemy import insert

from moot.store.database import Database
from moot.store.discussions.discussions import add_message
from moot.store.runs.approvals import RequestedCall
from moot.store.runs.runs import RunLease, Runs, add_run
from moot.store.schema.runs import worker
from moot.types.billing import Payer
from moot.types.discussions import Discussion, Message, Run
from moot.types.primitives import new_id
from moot.types.run_plan import RunPlan
from tests.support.accounts import ANNA, create_accounts, create_discussion

WORKER = "worker-1"
OTHER_WORKER = "worker-2"


async def register_workers(database: Database, *ids: str) -> None:
    async with database.write() as connection:
        for id in ids:
            await connection.execute(insert(worker).values(id=id, heartbeats=0, created_at=0.0))


async def create_run(
    database: Database,
    discussion: Discussion,
    *,
    owner: str = ANNA,
    worker_id: str = WORKER,
    question: str | None = None,
) -> Run:
    """Store a run, and the message that it answers if there is a question."""
    plan = RunPlan(mode=discussion.mode, participants=discussion.participants)
    message_id = new_id("msg") if question else None
    new = Run(
        id=new_id("run"),
        discussion=discussion.id,
        message=message_id,
        mode=discussion.mode,
        status="waiting",
        created_at=time.time(),
    )
    async with database.write() as connection:
        await add_run(connection, Payer(tenant=owner, account=owner), new, plan, worker_id)
        if message_id:
            message = Message(
                id=message_id,
                discussion=discussion.id,
                run=new.id,
                role="user",
                content=question or "",
                created_at=1.0,
            )
            await add_message(connection, owner, message)
    return new


async def create_leased_run(database: Database, discussion: Discussion, *, owner: str = ANNA) -> RunLease:
    return await lease_run(database, (await create_run(database, discussion, owner=owner)).id)


async def lease_run(database: Database, run: str, worker_id: str = WORKER) -> RunLease:
    lease = await Runs(database).acquire_lease(run, worker_id)
    assert lease is not None
    return lease


async def prepare_leased_run(database: Database) -> RunLease:
    """Create accounts and workers, and lease a run."""
    await create_accounts(database)
    await register_workers(database, WORKER, OTHER_WORKER)
    return await create_leased_run(database, await create_discussion(database))


def make_answer(lease: RunLease, content: str = "Round.", *, participant: str = "alpha", round: int = 0) -> Message:
    return Message(
        id=new_id("msg"),
        discussion=lease.discussion,
        run=lease.run,
        role="assistant",
        content=content,
        participant=participant,
        name=participant.title(),
        stage="answer",
        round=round,
        created_at=2.0,
    )


def make_requested_call(run: Run) -> RequestedCall:
    """Return a tool call that needs an approval."""
    return RequestedCall(
        id="call_1",
        tenant=ANNA,
        discussion=run.discussion,
        run=run.id,
        participant="alpha",
        stage="answer",
        round=0,
        attempt="try_1",
        tool="notes/write",
    )

"""Runs that are stored and claimed, for tests of their log and of who may write it."""

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
    """Let workers have joined."""
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
    """Store a run, and the message that it answers if there are words."""
    plan = RunPlan(mode=discussion.mode, participants=discussion.participants)
    asked = new_id("msg") if question else None
    new = Run(
        id=new_id("run"),
        discussion=discussion.id,
        message=asked,
        mode=discussion.mode,
        status="waiting",
        created_at=time.time(),
    )
    async with database.write() as connection:
        await add_run(connection, Payer(tenant=owner, account=owner), new, plan, worker_id)
        if asked:
            said = Message(
                id=asked,
                discussion=discussion.id,
                run=new.id,
                role="user",
                content=question or "",
                created_at=1.0,
            )
            await add_message(connection, owner, said)
    return new


async def create_leased_run(database: Database, discussion: Discussion, *, owner: str = ANNA) -> RunLease:
    """Store a run, and claim it."""
    return await lease_run(database, (await create_run(database, discussion, owner=owner)).id)


async def lease_run(database: Database, run: str, worker_id: str = WORKER) -> RunLease:
    found = await Runs(database).acquire_lease(run, worker_id)
    assert found is not None
    return found


async def prepare_leased_run(database: Database) -> RunLease:
    """Settle a database, and claim the first run in it."""
    await create_accounts(database)
    await register_workers(database, WORKER, OTHER_WORKER)
    return await create_leased_run(database, await create_discussion(database))


def make_answer(lease: RunLease, content: str = "Round.", *, participant: str = "alpha", round: int = 0) -> Message:
    """What a participant said in a run."""
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
    """Describe a call that somebody is to be asked about."""
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

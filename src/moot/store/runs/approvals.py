"""Permissions: calls with effects that somebody was asked about, what was answered, and which of them were begun."""

import time
from collections.abc import Collection

from msgspec import Struct
from msgspec.structs import asdict
from sqlalchemy import ColumnElement, and_, select, update

from moot.store.database import Database
from moot.store.discussions.discussions import notify_discussion_change
from moot.store.schema import permission
from moot.types.accounts import Caller
from moot.types.errors import Conflict, NotFound
from moot.types.tools import ApprovalDecision

VOID = "void"  # nobody waits for an answer any more
IS_OPEN = and_(permission.c.answer.is_(None), permission.c.begun.is_(False))


class RequestedCall(Struct, frozen=True, kw_only=True):
    """A call that somebody wants to make, in which attempt to take which turn."""

    id: str
    tenant: str
    discussion: str
    run: str
    participant: str
    stage: str
    round: int
    attempt: str
    tool: str


class Approvals:
    def __init__(self, database: Database) -> None:
        self._database = database

    async def request_approval(self, call: RequestedCall) -> None:
        """Note a question; from now on it can be answered."""
        await self._upsert_call(call, started=False)

    async def record_call_start(self, call: RequestedCall) -> None:
        """Note that a call begins, whether or not anybody was asked about it."""
        await self._upsert_call(call, started=True)

    async def withdraw_request(self, call: str) -> None:
        """Let nobody answer a question any more that nobody answered."""
        await self._void_open_requests(permission.c.id == call)

    async def withdraw_run_requests(self, run: str) -> None:
        """Let nobody answer what an earlier execution of a run asked."""
        await self._void_open_requests(permission.c.run == run)

    async def runs_awaiting_approval(self, runs: Collection[str]) -> tuple[str, ...]:
        """Return those of some runs in which an answer is waited for."""
        if not runs:
            return ()
        query = select(permission.c.run).where(permission.c.run.in_(runs), IS_OPEN).distinct()
        async with self._database.read() as connection:
            return tuple((await connection.execute(query.order_by(permission.c.run))).scalars())

    async def is_always_allowed(self, discussion: str, tool: str) -> bool:
        """Tell whether a tool was allowed for the rest of a discussion."""
        mine = (permission.c.discussion == discussion, permission.c.tool == tool)
        return await self._has_row(*mine, permission.c.answer == "always")

    async def has_earlier_start(self, call: RequestedCall) -> bool:
        """Tell whether an earlier attempt to take this turn began a call of the same tool."""
        same = ("run", "participant", "stage", "round", "tool")
        return await self._has_row(
            *(permission.c[name] == getattr(call, name) for name in same),
            permission.c.attempt != call.attempt,
            permission.c.begun.is_(True),
        )

    async def resolve_approval(self, caller: Caller, run: str, call: str, decision: ApprovalDecision) -> None:
        """Answer a question, once; whoever executes the run hears of it."""
        mine = (permission.c.id == call, permission.c.run == run, permission.c.tenant == caller.tenant)
        given = update(permission).where(*mine, IS_OPEN)
        async with self._database.write() as connection:
            found = (await connection.execute(select(permission.c.discussion).where(*mine))).scalar()
            if found is None:
                raise NotFound(f"There is no call {call!r} in this run that waits for an answer.")
            done = await connection.execute(given.values(answer=decision, account=caller.account))
            if not done.rowcount:
                raise Conflict("Nobody waits for this answer any more.")
            await self._database.notify(connection, "moot_control", run)
            await notify_discussion_change(self._database, connection, caller.tenant, found)

    async def _upsert_call(self, call: RequestedCall, *, started: bool) -> None:
        values = {**asdict(call), "begun": started, "created_at": time.time()}
        query = self._database.insert_into(permission).values(**values)
        query = query.on_conflict_do_update(index_elements=["id"], set_={"begun": started})
        async with self._database.write() as connection:
            await connection.execute(query)
            if not started:
                await notify_discussion_change(self._database, connection, call.tenant, call.discussion)

    async def _void_open_requests(self, condition: ColumnElement[bool]) -> None:
        query = update(permission).where(condition, IS_OPEN).values(answer=VOID)
        query = query.returning(permission.c.tenant, permission.c.discussion)
        async with self._database.write() as connection:
            for tenant, discussion in set((await connection.execute(query)).all()):
                await notify_discussion_change(self._database, connection, tenant, discussion)

    async def _has_row(self, *conditions: ColumnElement[bool]) -> bool:
        async with self._database.read() as connection:
            query = select(permission.c.id).where(*conditions).limit(1)
            return (await connection.execute(query)).first() is not None

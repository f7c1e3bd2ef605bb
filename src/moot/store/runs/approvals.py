"""Approvals of tool calls with side effects: pending requests, decisions and started calls."""

import time
from collections.abc import Collection

from msgspec import Struct
from msgspec.structs import asdict
from sqlalchemy import ColumnElement, and_, select, update

from moot.store.database import Database, retry_while_unavailable
from moot.store.discussions.discussions import notify_discussion_change
from moot.store.schema.runs import approval
from moot.types.accounts import Caller
from moot.types.errors import Conflict, NotFound
from moot.types.tools import ApprovalDecision

VOID = "void"  # withdrawn; no task waits for a decision
IS_OPEN = and_(approval.c.decision.is_(None), approval.c.started.is_(False))


class RequestedCall(Struct, frozen=True, kw_only=True):
    """A tool call that may need approval."""

    id: str
    tenant: str
    discussion: str
    run: str
    participant: str
    stage: str
    round: int
    attempt: str  # id of the attempt at this turn; a restarted turn has another
    tool: str


class Approvals:
    def __init__(self, database: Database) -> None:
        self._database = database

    @retry_while_unavailable
    async def request_approval(self, call: RequestedCall) -> None:
        await self._upsert_call(call, started=False)

    @retry_while_unavailable
    async def record_call_start(self, call: RequestedCall) -> None:
        """Store that the call starts, also if it needed no approval."""
        await self._upsert_call(call, started=True)

    async def withdraw_request(self, call: str) -> None:
        """Reject later decisions on a pending request. Decided requests stay unchanged."""
        await self._void_open_requests(approval.c.id == call)

    @retry_while_unavailable
    async def withdraw_run_requests(self, run: str) -> None:
        """Withdraw pending requests of an earlier execution, which no task waits for any more."""
        await self._void_open_requests(approval.c.run == run)

    async def runs_awaiting_approval(self, runs: Collection[str]) -> tuple[str, ...]:
        """Return the ids of runs with a pending request, sorted."""
        if not runs:
            return ()
        query = select(approval.c.run).where(approval.c.run.in_(runs), IS_OPEN).distinct()
        return tuple(await self._database.fetch_values(query.order_by(approval.c.run)))

    @retry_while_unavailable
    async def is_always_allowed(self, discussion: str, tool: str) -> bool:
        """Return whether a user allowed the tool for the rest of the discussion."""
        mine = (approval.c.discussion == discussion, approval.c.tool == tool)
        return await self._has_row(*mine, approval.c.decision == "always")

    @retry_while_unavailable
    async def has_earlier_start(self, call: RequestedCall) -> bool:
        """Return whether an earlier attempt at this turn started a call of the same tool.

        That call may have had side effects before the process died.
        """
        same = ("run", "participant", "stage", "round", "tool")
        return await self._has_row(
            *(approval.c[name] == getattr(call, name) for name in same),
            approval.c.attempt != call.attempt,
            approval.c.started.is_(True),
        )

    async def resolve_approval(self, caller: Caller, run: str, call: str, decision: ApprovalDecision) -> None:
        """Store the decision and notify the worker of the run.

        Raises Conflict if the request was decided or withdrawn, NotFound if there is none.
        """
        mine = (approval.c.id == call, approval.c.run == run, approval.c.tenant == caller.tenant)
        decided = update(approval).where(*mine, IS_OPEN)
        async with self._database.write() as connection:
            found = (await connection.execute(select(approval.c.discussion).where(*mine))).scalar()
            if found is None:
                raise NotFound(f"This run has no tool call {call!r} that needs approval.")
            done = await connection.execute(decided.values(decision=decision, account=caller.account))
            if not done.rowcount:
                raise Conflict("This tool call no longer waits for approval.")
            await self._database.notify(connection, "moot_control", run)
            await notify_discussion_change(self._database, connection, caller.tenant, found)

    async def _upsert_call(self, call: RequestedCall, *, started: bool) -> None:
        values = {**asdict(call), "started": started, "created_at": time.time()}
        query = self._database.insert_into(approval).values(**values)
        query = query.on_conflict_do_update(index_elements=["id"], set_={"started": started})
        async with self._database.write() as connection:
            await connection.execute(query)
            if not started:
                await notify_discussion_change(self._database, connection, call.tenant, call.discussion)

    async def _void_open_requests(self, condition: ColumnElement[bool]) -> None:
        query = update(approval).where(condition, IS_OPEN).values(decision=VOID)
        query = query.returning(approval.c.tenant, approval.c.discussion)
        async with self._database.write() as connection:
            for tenant, discussion in set((await connection.execute(query)).all()):
                await notify_discussion_change(self._database, connection, tenant, discussion)

    async def _has_row(self, *conditions: ColumnElement[bool]) -> bool:
        return await self._database.fetch_first(select(approval.c.id).where(*conditions).limit(1)) is not None

"""Permissions: calls with effects that somebody was asked about, what was answered, and which of them were begun."""

import time

from msgspec import Struct
from msgspec.structs import asdict
from sqlalchemy import ColumnElement, select, update

from moot.model.accounts import Caller
from moot.model.errors import Conflict, NotFound
from moot.model.tools import Decision
from moot.store.database import Database
from moot.store.schema import permission

VOID = "void"  # nobody waits for an answer any more


class Call(Struct, frozen=True, kw_only=True):
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


class Permissions:
    def __init__(self, database: Database) -> None:
        self._database = database

    async def ask(self, call: Call) -> None:
        """Note a question; from now on it can be answered."""
        await self._add(call, begun=False)

    async def begin(self, call: Call) -> None:
        """Note that a call begins, whether or not anybody was asked about it."""
        await self._add(call, begun=True)

    async def withdraw(self, call: str) -> None:
        """Let nobody answer a question any more that nobody answered."""
        await self._void(permission.c.id == call)

    async def withdraw_all(self, run: str) -> None:
        """Let nobody answer what an earlier execution of a run asked."""
        await self._void(permission.c.run == run)

    async def is_given(self, discussion: str, tool: str) -> bool:
        """Tell whether a tool was allowed for the rest of a discussion."""
        mine = (permission.c.discussion == discussion, permission.c.tool == tool)
        return await self._is_there(*mine, permission.c.answer == "always")

    async def was_begun(self, call: Call) -> bool:
        """Tell whether an earlier attempt to take this turn began a call of the same tool."""
        same = ("run", "participant", "stage", "round", "tool")
        return await self._is_there(
            *(permission.c[name] == getattr(call, name) for name in same),
            permission.c.attempt != call.attempt,
            permission.c.begun.is_(True),
        )

    async def answer(self, caller: Caller, run: str, call: str, answer: Decision) -> None:
        """Answer a question, once; whoever executes the run hears of it."""
        mine = (permission.c.id == call, permission.c.run == run, permission.c.tenant == caller.tenant)
        given = update(permission).where(*mine, permission.c.answer.is_(None))
        given = given.where(permission.c.begun.is_(False))
        async with self._database.write() as connection:
            if (await connection.execute(select(permission.c.id).where(*mine))).first() is None:
                raise NotFound(f"There is no call {call!r} in this run that waits for an answer.")
            done = await connection.execute(given.values(answer=answer, account=caller.account))
            if not done.rowcount:
                raise Conflict("Nobody waits for this answer any more.")
            await self._database.tell(connection, "moot_control", run)

    async def _add(self, call: Call, *, begun: bool) -> None:
        values = {**asdict(call), "begun": begun, "created_at": time.time()}
        query = self._database.insert(permission).values(**values)
        query = query.on_conflict_do_update(index_elements=["id"], set_={"begun": begun})
        async with self._database.write() as connection:
            await connection.execute(query)

    async def _void(self, *which: ColumnElement[bool]) -> None:
        query = update(permission).where(*which, permission.c.answer.is_(None), permission.c.begun.is_(False))
        async with self._database.write() as connection:
            await connection.execute(query.values(answer=VOID))

    async def _is_there(self, *which: ColumnElement[bool]) -> bool:
        async with self._database.read() as connection:
            query = select(permission.c.id).where(*which).limit(1)
            return (await connection.execute(query)).first() is not None

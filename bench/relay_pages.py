"""Whether listing and opening discussions takes longer where there are more of them.

Two people use one server: one has few discussions, the other many, and one of these is long. They ask in turns, so
that other load on the machine affects both equally.
"""

import time
from collections.abc import Sequence
from statistics import median
from typing import Any

import aiohttp
from msgspec import Struct
from msgspec.structs import asdict
from sqlalchemy import Table, insert, text

from bench.databases import Workspace
from bench.processes import moot_serve
from moot.store.accounts.accounts import Accounts
from moot.store.database import Database
from moot.store.discussions.discussions import message_values
from moot.store.migrate import migrate
from moot.store.schema.discussions import discussion, message
from moot.types.accounts import Account
from moot.types.discussions import Discussion, Message
from moot.types.participants import make_participants
from moot.types.primitives import new_id

FEW, MANY = 100, 10_000
PASSWORD = "measured and found wanting"  # noqa: S105 - of an account that lives for a minute
WARM_UP = 10
ROWS_AT_ONCE = 500


class Times(Struct, frozen=True):
    """Milliseconds, medians."""

    what: str
    few_ms: float
    many_ms: float

    @property
    def ratio(self) -> float:
        return self.many_ms / self.few_ms


class Person(Struct, frozen=True):
    token: str
    newest: str
    older: str


async def measure_pages(workspace: Workspace, rounds: int) -> list[Times]:
    async with Database(workspace.url) as database:
        await migrate(database)
        few = await _create_person(database, "few", FEW, FEW, FEW)
        many = await _create_person(database, "many", MANY, FEW, MANY)
        if database.is_postgres:
            async with database.write() as connection:
                await connection.execute(text("ANALYZE"))  # as Postgres does by itself within a minute
    async with moot_serve(workspace.folder, workspace.url, auth="accounts") as server:
        await server.wait_until_answered("/readyz")
        list_, open_ = f"{server.url}/api/discussions", f"{server.url}/api/discussions/"
        async with aiohttp.ClientSession() as http:
            listed = await _median_times(http, rounds, (few.token, list_), (many.token, list_))
            opened = await _median_times(
                http, rounds, (many.token, open_ + many.older), (many.token, open_ + many.newest)
            )
    return [Times("list discussions", *listed), Times("open a discussion", *opened)]


async def _median_times(http: aiohttp.ClientSession, rounds: int, *requests: tuple[str, str]) -> list[float]:
    found: list[list[float]] = [[] for _ in requests]
    for _ in range(rounds + WARM_UP):
        for (token, url), times in zip(requests, found, strict=True):
            began = time.perf_counter()
            async with http.get(url, headers={"Authorization": f"Bearer {token}"}) as response:
                body = await response.read()
            times.append(time.perf_counter() - began)
            assert response.status == 200, body
    return [1e3 * median(times[WARM_UP:]) for times in found]


async def _create_person(database: Database, name: str, discussions: int, older: int, newest: int) -> Person:
    """Add an account with so many discussions, and messages in the two newest of them."""
    accounts = Accounts(database)
    account = await accounts.create_account(name, PASSWORD)
    _, caller = await accounts.login(name, PASSWORD)
    token, _ = await accounts.create_token(caller, "bench")
    rows = [_discussion_row(account, number) for number in range(discussions)]
    await _insert_rows(database, discussion, rows)
    for row, count in ((rows[-2], older), (rows[-1], newest)):
        await _insert_rows(database, message, [_message_row(account, row["id"], number) for number in range(count)])
    return Person(token, rows[-1]["id"], rows[-2]["id"])


async def _insert_rows(database: Database, table: Table, rows: Sequence[dict[str, Any]]) -> None:
    async with database.write() as connection:
        for start in range(0, len(rows), ROWS_AT_ONCE):
            await connection.execute(insert(table), list(rows[start : start + ROWS_AT_ONCE]))


def _discussion_row(account: Account, number: int) -> dict[str, Any]:
    new = Discussion(
        id=new_id("dis"),
        title=f"What is discussed in number {number}",
        status="active",
        mode="parallel",
        participants=make_participants(("scripted/echo", "scripted/echo")),
        rounds=2,
        persona=None,
        project=None,
        language="en",
        model=None,
        summary=None,
        usefulness=None,
        exported_at=None,
        created_at=float(number),
        updated_at=float(number),
    )
    return {**asdict(new), "tenant": account.tenant, "account": account.id}


def _message_row(account: Account, discussion: str, number: int) -> dict[str, Any]:
    new = Message(
        id=new_id("msg"),
        discussion=discussion,
        role="assistant" if number % 2 else "user",
        content=f"This is message number {number}, in a sentence or two. " * 5,
        created_at=float(number),
    )
    return message_values(account.tenant, new, position=number)

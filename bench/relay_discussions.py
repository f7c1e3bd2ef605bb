"""Measure the requests that list and open discussions, for few and for many rows in the database.

One server has two accounts: one with few discussions, and one with many, of which one is long. The client alternates
between the requests, so that other processes affect all of them equally.
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
from bench.processes import run_moot_server
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
PASSWORD = "a password for the benchmark"  # noqa: S105 - a temporary account
WARM_UP_REQUESTS = 10
ROWS_PER_INSERT = 500


class RequestTimes(Struct, frozen=True):
    """Median response times of a request, in milliseconds."""

    name: str
    few_ms: float
    many_ms: float

    @property
    def ratio(self) -> float:
        return self.many_ms / self.few_ms


class BenchmarkAccount(Struct, frozen=True):
    """An API token, and the ids of the two newest discussions."""

    token: str
    newest: str
    older: str


async def measure_discussion_requests(workspace: Workspace, rounds: int) -> list[RequestTimes]:
    async with Database(workspace.url) as database:
        await migrate(database)
        few = await _create_account(database, "few", FEW, FEW, FEW)
        many = await _create_account(database, "many", MANY, FEW, MANY)
        if database.is_postgres:
            async with database.write() as connection:
                await connection.execute(text("ANALYZE"))  # Postgres runs this as a background task within a minute
    async with run_moot_server(workspace.folder, workspace.url, auth="accounts") as server:
        await server.wait_for_response("/readyz")
        list_url, open_url = f"{server.url}/api/discussions", f"{server.url}/api/discussions/"
        async with aiohttp.ClientSession() as http:
            listed = await _measure_medians(http, rounds, (few.token, list_url), (many.token, list_url))
            opened = await _measure_medians(
                http, rounds, (many.token, open_url + many.older), (many.token, open_url + many.newest)
            )
    return [RequestTimes("list discussions", *listed), RequestTimes("open a discussion", *opened)]


async def _measure_medians(http: aiohttp.ClientSession, rounds: int, *requests: tuple[str, str]) -> list[float]:
    durations: list[list[float]] = [[] for _ in requests]
    for _ in range(rounds + WARM_UP_REQUESTS):
        for (token, url), times in zip(requests, durations, strict=True):
            start_time = time.perf_counter()
            async with http.get(url, headers={"Authorization": f"Bearer {token}"}) as response:
                body = await response.read()
            times.append(time.perf_counter() - start_time)
            assert response.status == 200, body
    return [1e3 * median(times[WARM_UP_REQUESTS:]) for times in durations]


async def _create_account(database: Database, name: str, discussions: int, older: int, newest: int) -> BenchmarkAccount:
    """Create an account with this number of discussions, and insert messages into the two newest ones."""
    accounts = Accounts(database)
    account = await accounts.create_account(name, PASSWORD)
    _, caller = await accounts.login(name, PASSWORD)
    token, _ = await accounts.create_token(caller, "bench")
    rows = [_build_discussion_row(account, number) for number in range(discussions)]
    await _insert_rows(database, discussion, rows)
    for row, count in ((rows[-2], older), (rows[-1], newest)):
        await _insert_rows(
            database, message, [_build_message_row(account, row["id"], number) for number in range(count)]
        )
    return BenchmarkAccount(token, rows[-1]["id"], rows[-2]["id"])


async def _insert_rows(database: Database, table: Table, rows: Sequence[dict[str, Any]]) -> None:
    async with database.write() as connection:
        for start in range(0, len(rows), ROWS_PER_INSERT):
            await connection.execute(insert(table), list(rows[start : start + ROWS_PER_INSERT]))


def _build_discussion_row(account: Account, number: int) -> dict[str, Any]:
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


def _build_message_row(account: Account, discussion: str, number: int) -> dict[str, Any]:
    new = Message(
        id=new_id("msg"),
        discussion=discussion,
        role="assistant" if number % 2 else "user",
        content=f"This is message number {number}, in a sentence or two. " * 5,
        created_at=float(number),
    )
    return message_values(account.tenant, new, position=number)

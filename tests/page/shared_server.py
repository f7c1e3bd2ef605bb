"""One server for many tests: each test has an account and a tenant of its own.

A test that kills its server, or gives it settings of its own, starts one with `visiting`.
"""

import copy
import secrets
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from itertools import count
from pathlib import Path

from msgspec import Struct
from playwright.async_api import Page
from sqlalchemy import insert, select

from moot.server.auth import SESSION_COOKIE
from moot.store.accounts.accounts import SESSION_SECONDS, hash_secret
from moot.store.database import Database
from moot.store.schema.accounts import account, session, tenant
from moot.store.schema.runs import run
from moot.types.primitives import new_id
from tests.page.dedicated_server import leave_server, write_script_settings
from tests.support.databases import migrated_database_url
from tests.support.moot_server import MootServer, run_moot_server

ACCOUNT_NUMBERS = count(1)


class SharedServer(Struct, frozen=True):
    server: MootServer
    database: Database


@asynccontextmanager
async def run_shared_server(
    folder: Path, *, settings: str = "", scripts: str = "", **environment: str
) -> AsyncIterator[SharedServer]:
    """Serve until the block ends, for callers who have an account."""
    settings = write_script_settings(folder, settings, scripts)
    async with (
        migrated_database_url("sqlite", folder) as url,
        Database(url) as database,
        run_moot_server(folder, url, settings=settings, MOOT_AUTH="accounts", **environment) as server,
    ):
        yield SharedServer(server, database)


@asynccontextmanager
async def log_in_new_account(
    shared_server: SharedServer, page: Page, budget: float | None = None
) -> AsyncIterator[MootServer]:
    """Log a new account in, on the page and in every call; stop what it has left running when the block ends."""
    home, secret = new_id("tenant"), secrets.token_urlsafe(32)
    await _insert_account(shared_server.database, home, secret, budget)
    server = copy.copy(shared_server.server)
    server.headers = {"Cookie": f"{SESSION_COOKIE}={secret}"}
    await page.context.add_cookies([{"name": SESSION_COOKIE, "value": secret, "url": server.url}])
    yield server
    await leave_server(page)
    going_on = select(run.c.id).where(run.c.tenant == home, run.c.ended_at.is_(None))
    async with shared_server.database.read() as connection:
        runs = (await connection.execute(going_on)).scalars().all()
    for one in runs:
        await server.post(f"/api/runs/{one}/stop")


async def _insert_account(database: Database, tenant_id: str, secret: str, budget: float | None) -> None:
    """Write an account and its session as they are after a login, without the slow hash of a password."""
    now, id, name = time.time(), new_id("account"), f"guest{next(ACCOUNT_NUMBERS)}"
    person = {"id": id, "tenant": tenant_id, "name": name, "weekly_budget_usd": budget, "created_at": now}
    until = now + SESSION_SECONDS
    async with database.write() as connection:
        await connection.execute(insert(tenant).values(id=tenant_id, name=name, created_at=now))
        await connection.execute(insert(account).values(**person))
        logged_in = {"hash": hash_secret(secret), "account": id, "created_at": now, "expires_at": until}
        await connection.execute(insert(session).values(**logged_in))

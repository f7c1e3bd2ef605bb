"""One server for many journeys: each test is its guest, with an account and a tenant of its own.

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
from moot.store.accounts.accounts import SESSION_SECONDS
from moot.store.accounts.credentials import hash_secret
from moot.store.database import Database
from moot.store.schema import account, run, session, tenant
from moot.types.primitives import new_id
from tests.databases import migrated_url
from tests.page.visiting import left, prepared
from tests.serving import MootServer, serving

NUMBERS = count(1)


class House(Struct, frozen=True):
    server: MootServer
    database: Database


@asynccontextmanager
async def hosting(
    folder: Path, *, settings: str = "", voices: str = "", **environment: str
) -> AsyncIterator[House]:
    """Serve until the block ends, for callers who have an account."""
    settings = prepared(folder, settings, voices)
    async with (
        migrated_url("sqlite", folder) as url,
        Database(url) as database,
        serving(folder, url, settings=settings, MOOT_AUTH="accounts", **environment) as server,
    ):
        yield House(server, database)


@asynccontextmanager
async def guest(house: House, page: Page, budget: float | None = None) -> AsyncIterator[MootServer]:
    """Log a new account in, on the page and in every call; stop what it has left running when the block ends."""
    home, secret = new_id("tenant"), secrets.token_urlsafe(32)
    await _add(house.database, home, secret, budget)
    server = copy.copy(house.server)
    server.headers = {"Cookie": f"{SESSION_COOKIE}={secret}"}
    await page.context.add_cookies([{"name": SESSION_COOKIE, "value": secret, "url": server.url}])
    yield server
    await left(page)
    going_on = select(run.c.id).where(run.c.tenant == home, run.c.ended_at.is_(None))
    async with house.database.read() as connection:
        runs = (await connection.execute(going_on)).scalars().all()
    for one in runs:
        await server.post(f"/api/runs/{one}/stop")


async def _add(database: Database, home: str, secret: str, budget: float | None) -> None:
    """Write an account and its session as they are after a login, without the slow hash of a password."""
    now, id, name = time.time(), new_id("account"), f"guest{next(NUMBERS)}"
    person = {"id": id, "tenant": home, "name": name, "budget": budget, "created_at": now}
    until = now + SESSION_SECONDS
    async with database.write() as connection:
        await connection.execute(insert(tenant).values(id=home, name=name, created_at=now))
        await connection.execute(insert(account).values(**person))
        logged_in = {"hash": hash_secret(secret), "account": id, "created_at": now, "expires_at": until}
        await connection.execute(insert(session).values(**logged_in))

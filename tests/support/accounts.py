"""Two tenants with something in the database, for tests of what is stored and of who may see it."""

import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from sqlalchemy import insert

from moot.store.database import Database
from moot.store.discussions.discussions import add_discussion, add_message
from moot.store.schema.accounts import account, tenant
from moot.types.discussions import Discussion, Message
from moot.types.participants import make_participants
from moot.types.primitives import new_id
from tests.support.databases import DatabaseKind, open_migrated_database

ANNA = "tenant_anna"
BERT = "tenant_bert"


async def create_accounts(database: Database) -> None:
    """Make the two tenants, with an account of the same name in each."""
    async with database.write() as connection:
        for name in (ANNA, BERT):
            await connection.execute(insert(tenant).values(id=name, name=name, created_at=0.0))
            await connection.execute(insert(account).values(id=name, tenant=name, name=name, created_at=0.0))


async def create_discussion(
    database: Database,
    owner: str = ANNA,
    *messages: str,
    title: str = "A table",
    project: str | None = None,
    model: str = "scripted/echo",
) -> Discussion:
    """Store a discussion in which the person and Alpha take turns."""
    now = time.time()
    new = Discussion(
        id=new_id("dis"),
        title=title,
        status="active",
        mode="single",
        participants=make_participants((model,)),
        rounds=2,
        persona=None,
        project=project,
        language="en",
        model=None,
        summary=None,
        usefulness=None,
        exported_at=None,
        created_at=now,
        updated_at=now,
    )
    async with database.write() as connection:
        await add_discussion(connection, owner, owner, new)
        for place, words in enumerate(messages):
            await add_message(connection, owner, _make_message(new.id, place, words))
    return new


def _make_message(discussion: str, position: int, content: str) -> Message:
    answer = position % 2
    return Message(
        id=new_id("msg"),
        discussion=discussion,
        role="assistant" if answer else "user",
        content=content,
        participant="alpha" if answer else None,
        name="Alpha" if answer else None,
        created_at=time.time(),
    )


@asynccontextmanager
async def database_with_accounts(kind: DatabaseKind, folder: Path) -> AsyncIterator[Database]:
    """A database of its own for a test, with the two tenants in it."""
    async with open_migrated_database(kind, folder) as database:
        await create_accounts(database)
        yield database

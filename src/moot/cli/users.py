"""`moot user …`: who may log in. Each command opens the database, does one thing, and says so in a line."""

import getpass
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from datetime import UTC, datetime

from moot.channels.terminal import safe
from moot.cli import loop
from moot.model.accounts import check_name, check_password
from moot.model.errors import UsageError
from moot.store.accounts import Accounts
from moot.store.database import Database
from moot.store.migration import migrate

PasswordSource = Callable[[], str]


def typed_password() -> str:
    """Ask for a password twice, unseen; where nobody sits at a terminal, read one line."""
    if not sys.stdin.isatty():
        return sys.stdin.readline().rstrip("\r\n")
    password = getpass.getpass("Password: ")
    if getpass.getpass("Again: ") != password:
        raise UsageError("The two passwords differ; nothing was changed.")
    return password


def add(
    name: str, tenant: str | None, database_url: str, password_source: PasswordSource = typed_password
) -> int:
    check_name(name)
    return loop.run(_add(name, tenant, database_url, _checked(password_source)))


def show(database_url: str) -> int:
    return loop.run(_show(database_url))


def remove(name: str, database_url: str) -> int:
    return loop.run(_remove(name, database_url))


def set_password(name: str, database_url: str, password_source: PasswordSource = typed_password) -> int:
    return loop.run(_set_password(name, database_url, _checked(password_source)))


async def _add(name: str, tenant: str | None, database_url: str, password: str) -> int:
    async with _accounts(database_url) as accounts:
        new = await accounts.add(name, password, tenant)
    return _say(f"Added {new.name} to the tenant {new.tenant}.")


async def _show(database_url: str) -> int:
    async with _accounts(database_url) as accounts:
        for known in await accounts.all():
            since = datetime.fromtimestamp(known.created_at, UTC).date()
            _say(f"{known.name}  {known.tenant}  since {since}")
    return 0


async def _remove(name: str, database_url: str) -> int:
    async with _accounts(database_url) as accounts:
        gone = await accounts.remove(name)
    return _say(f"Removed {gone.name}; what the tenant {gone.tenant} has is kept.")


async def _set_password(name: str, database_url: str, password: str) -> int:
    async with _accounts(database_url) as accounts:
        await accounts.set_password(name, password)
    return _say(f"Changed the password of {name}; sessions and tokens made before are over.")


@asynccontextmanager
async def _accounts(database_url: str) -> AsyncIterator[Accounts]:
    async with Database(database_url) as database:
        await migrate(database)
        yield Accounts(database)


def _checked(password_source: PasswordSource) -> str:
    password = password_source()
    check_password(password)
    return password


def _say(words: str) -> int:
    sys.stdout.write(f"{safe(words)}\n")
    return 0

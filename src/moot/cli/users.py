"""`moot user …`: who may log in. Each command opens the database, does one thing, and says so in a line."""

import getpass
import sys
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime

from moot.app import event_loop
from moot.store.accounts.accounts import Accounts
from moot.store.billing.budgets import Budgets
from moot.store.database import Database
from moot.store.migrate import migrate
from moot.terminal.readers import safe
from moot.types.accounts import check_name, check_password
from moot.types.billing import MOST_DOLLARS, dollars
from moot.types.errors import UsageError

PasswordSource = Callable[[], str]
Action = Callable[[Database], Awaitable[list[str]]]


def typed_password() -> str:
    """Ask for a password twice, unseen; where nobody sits at a terminal, read one line."""
    if sys.stdin is None:
        raise UsageError("There is nothing to read a password from: type it at a terminal, or pipe it in.")
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
    password = _checked(password_source)

    async def action(database: Database) -> list[str]:
        new = await Accounts(database).add(name, password, tenant)
        return [f"Added {new.name} to the tenant {new.tenant}."]

    return _done(database_url, action)


def show(database_url: str) -> int:
    async def action(database: Database) -> list[str]:
        known = [(one, datetime.fromtimestamp(one.created_at, UTC)) for one in await Accounts(database).all()]
        own = await Budgets(database).own()
        budgets = {id: f"  {dollars(budget)} a week" for id, budget in own.items()}
        return [
            f"{one.name}  {one.tenant}  since {since.date()}{budgets.get(one.id, '')}" for one, since in known
        ]

    return _done(database_url, action)


def set_budget(name: str, budget: float | None, database_url: str) -> int:
    if budget is not None and not 0 <= budget <= MOST_DOLLARS:
        raise UsageError(f"A budget is a number of US dollars from 0 to {MOST_DOLLARS:,}.")

    async def action(database: Database) -> list[str]:
        await Budgets(database).set(name, budget)
        if budget is None:
            return [f"{name} has no budget of its own any more."]
        return [f"{name} may spend {dollars(budget)} a week."]

    return _done(database_url, action)


def remove(name: str, database_url: str) -> int:
    async def action(database: Database) -> list[str]:
        gone = await Accounts(database).remove(name)
        return [f"Removed {gone.name}; what the tenant {gone.tenant} has is kept."]

    return _done(database_url, action)


def set_password(name: str, database_url: str, password_source: PasswordSource = typed_password) -> int:
    password = _checked(password_source)

    async def action(database: Database) -> list[str]:
        await Accounts(database).set_password(name, password)
        return [f"Changed the password of {name}; sessions and tokens made before are over."]

    return _done(database_url, action)


def _done(database_url: str, action: Action) -> int:
    """Let something be done with a database, and say what was done."""

    async def do() -> list[str]:
        async with Database(database_url) as database:
            await migrate(database)
            return await action(database)

    sys.stdout.write("".join(f"{safe(line)}\n" for line in event_loop.run(do())))
    return 0


def _checked(password_source: PasswordSource) -> str:
    password = password_source()
    check_password(password)
    return password

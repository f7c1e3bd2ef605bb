"""`moot user`: account management, directly on the database."""

import getpass
import sys
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime

from moot.app import event_loop
from moot.store.accounts.accounts import Accounts
from moot.store.billing.budgets import Budgets
from moot.store.database import Database
from moot.store.migrate import migrate
from moot.terminal.readers import strip_control_chars
from moot.types.accounts import check_account_name, check_password
from moot.types.billing import MAX_AMOUNT_USD, format_usd
from moot.types.errors import UsageError

PasswordSource = Callable[[], str]
DatabaseAction = Callable[[Database], Awaitable[list[str]]]


def prompt_password() -> str:
    """Prompt twice without echo on a terminal; else read one line from standard input."""
    if sys.stdin is None:
        raise UsageError("password: standard input is closed. Run this in a terminal, or pipe the password in.")
    if not sys.stdin.isatty():
        return sys.stdin.readline().rstrip("\r\n")
    password = getpass.getpass("Password: ")
    if getpass.getpass("Again: ") != password:
        raise UsageError("The passwords differ. Nothing was changed.")
    return password


def add_account(
    name: str, tenant: str | None, database_url: str, password_source: PasswordSource = prompt_password
) -> int:
    check_account_name(name)
    password = _read_valid_password(password_source)

    async def action(database: Database) -> list[str]:
        new = await Accounts(database).create_account(name, password, tenant)
        return [f"Added {new.name} to the tenant {new.tenant}."]

    return _run_with_database(database_url, action)


def list_accounts(database_url: str) -> int:
    async def action(database: Database) -> list[str]:
        known = [(one, datetime.fromtimestamp(one.created_at, UTC)) for one in await Accounts(database).list_accounts()]
        own = await Budgets(database).account_limits()
        budgets = {id: f"  {format_usd(budget)} a week" for id, budget in own.items()}
        return [f"{one.name}  {one.tenant}  since {since.date()}{budgets.get(one.id, '')}" for one, since in known]

    return _run_with_database(database_url, action)


def update_account_budget(name: str, budget: float | None, database_url: str) -> int:
    if budget is not None and not 0 <= budget <= MAX_AMOUNT_USD:
        raise UsageError(f"budget: out of range. Use US dollars from 0 to {MAX_AMOUNT_USD:,}.")

    async def action(database: Database) -> list[str]:
        await Budgets(database).set_limit(name, budget)
        if budget is None:
            return [f"Removed the budget of {name}."]
        return [f"{name} may spend {format_usd(budget)} a week."]

    return _run_with_database(database_url, action)


def remove_account(name: str, database_url: str) -> int:
    async def action(database: Database) -> list[str]:
        account = await Accounts(database).delete_account(name)
        return [f"Removed {account.name}. The discussions of the tenant {account.tenant} are kept."]

    return _run_with_database(database_url, action)


def change_account_password(name: str, database_url: str, password_source: PasswordSource = prompt_password) -> int:
    password = _read_valid_password(password_source)

    async def action(database: Database) -> list[str]:
        await Accounts(database).set_password(name, password)
        return [f"Changed the password of {name}. Its sessions and tokens are revoked."]

    return _run_with_database(database_url, action)


def _run_with_database(database_url: str, action: DatabaseAction) -> int:
    """Migrate the database, run the action, and print the lines it returns."""

    async def run_action() -> list[str]:
        async with Database(database_url) as database:
            await migrate(database)
            return await action(database)

    sys.stdout.write("".join(f"{strip_control_chars(line)}\n" for line in event_loop.run_coroutine(run_action())))
    return 0


def _read_valid_password(password_source: PasswordSource) -> str:
    password = password_source()
    check_password(password)
    return password

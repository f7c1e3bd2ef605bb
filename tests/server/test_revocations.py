import asyncio

import pytest

from moot.model.accounts import Caller
from moot.model.errors import StoreUnavailable
from moot.server.revocations import SECONDS, Revocations
from moot.store.accounts import Accounts
from moot.store.database import Database

PASSWORD = "correct horse"


@pytest.fixture
async def accounts(database: Database) -> Accounts:
    accounts = Accounts(database)
    await accounts.add("ada", PASSWORD)
    return accounts


async def test_only_what_lost_its_credential_is_ended_and_once(accounts: Accounts) -> None:
    _, here = await accounts.login("ada", PASSWORD)
    _, there = await accounts.login("ada", PASSWORD)
    revocations = Revocations(accounts)
    ended: list[str] = []
    with (
        revocations.watching(here, lambda: ended.append("here")),
        revocations.watching(here, lambda: ended.append("here too")),
        revocations.watching(there, lambda: ended.append("there")),
    ):
        await revocations.check()
        assert ended == []
        await accounts.logout(here)
        await revocations.check()
        await revocations.check()
        assert ended == ["here", "here too"]


@pytest.mark.parametrize("how", ["token dropped", "password changed", "account removed"])
async def test_every_way_to_lose_a_token_is_seen(accounts: Accounts, how: str) -> None:
    _, session = await accounts.login("ada", PASSWORD)
    secret, token = await accounts.make_token(session, "laptop")
    caller = await accounts.caller_of_token(secret)
    assert caller is not None
    revocations = Revocations(accounts)
    ended = asyncio.Event()
    with revocations.watching(caller, ended.set):
        match how:
            case "token dropped":
                await accounts.drop_token(caller.account, token.id)
            case "password changed":
                await accounts.set_password("ada", "battery staple")
            case _:
                await accounts.remove("ada")
        await revocations.check()
    assert ended.is_set()


async def test_what_is_closed_is_not_watched_any_more(accounts: Accounts) -> None:
    _, caller = await accounts.login("ada", PASSWORD)
    revocations = Revocations(accounts)
    ended: list[str] = []
    with revocations.watching(caller, lambda: ended.append("ended")):
        pass
    await accounts.logout(caller)
    await revocations.check()
    assert ended == []


async def test_whoever_comes_while_the_others_are_checked_is_left_alone(accounts: Accounts) -> None:
    _, first = await accounts.login("ada", PASSWORD)
    _, second = await accounts.login("ada", PASSWORD)
    revocations = Revocations(accounts)
    ended: list[str] = []
    with revocations.watching(first, lambda: ended.append("first")):
        checking = asyncio.create_task(revocations.check())
        await asyncio.sleep(0)
        with revocations.watching(second, lambda: ended.append("second")):
            await checking
    assert ended == []


async def test_the_user_of_this_machine_cannot_be_shut_out(accounts: Accounts) -> None:
    revocations = Revocations(accounts)
    ended: list[str] = []
    with revocations.watching(await accounts.ensure_local(), lambda: ended.append("ended")):
        await revocations.check()
    assert ended == []


class Failing(Accounts):
    """A database that is away for the first check."""

    checks = 0

    async def still_valid(self, credentials: set[str]) -> set[str]:
        self.checks += 1
        if self.checks == 1:
            raise StoreUnavailable("away")
        return await super().still_valid(credentials)


async def test_it_goes_on_checking_by_itself_even_if_the_database_was_away(database: Database) -> None:
    accounts = Failing(database)
    gone = Caller(account="a", tenant="t", name="n", kind="session", credential="gone")
    revocations = Revocations(accounts, seconds=0.01)
    ended = asyncio.Event()
    with revocations.watching(gone, ended.set):
        running = asyncio.create_task(revocations.run())
        async with asyncio.timeout(60):
            await ended.wait()
    running.cancel()
    assert accounts.checks >= 2


def test_two_checks_fit_into_the_time_that_is_promised() -> None:
    assert 2 * SECONDS < 5

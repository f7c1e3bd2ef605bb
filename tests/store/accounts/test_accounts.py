import asyncio
from pathlib import Path

import pytest
from sqlalchemy import delete, func, insert, select, update

from moot.store.accounts.accounts import MAX_API_TOKENS, SESSION_SECONDS, Accounts, Passwords, hash_secret
from moot.store.database import Database
from moot.store.schema.accounts import account, session, tenant, token
from moot.types.accounts import Account, Caller
from moot.types.errors import Conflict, NotFound, Unauthorized, UsageError
from tests.support.database_files import read_database_files
from tests.support.databases import open_migrated_database
from tests.support.fast_passwords import fast_password_hashing

__all__ = ["fast_password_hashing"]

PASSWORD = "correct horse"
OTHER_PASSWORD = "battery staple"


async def create_and_log_in(accounts: Accounts, name: str = "ada") -> tuple[Account, str, Caller]:
    added = await accounts.create_account(name, PASSWORD)
    secret, caller = await accounts.login(name, PASSWORD)
    return added, secret, caller


async def test_create_account_makes_new_tenant_unless_one_is_given(database: Database) -> None:
    accounts = Accounts(database)
    ada = await accounts.create_account("ada", PASSWORD)
    bob = await accounts.create_account("bob", PASSWORD)
    by_name = await accounts.create_account("cleo", PASSWORD, tenant="ada")
    by_id = await accounts.create_account("dora", PASSWORD, tenant=bob.tenant)
    assert len({ada.tenant, bob.tenant}) == 2
    assert (by_name.tenant, by_id.tenant) == (ada.tenant, bob.tenant)
    assert list(await accounts.list_accounts()) == [ada, bob, by_name, by_id]


async def test_create_account_rejects_name_in_use(database: Database) -> None:
    accounts = Accounts(database)
    await accounts.create_account("ada", PASSWORD)
    with pytest.raises(Conflict, match="already"):
        await accounts.create_account("ada", OTHER_PASSWORD)
    async with database.read() as connection:
        assert (await connection.execute(select(func.count()).select_from(tenant))).scalar() == 1
    assert await accounts.login("ada", PASSWORD)


async def test_has_no_logins_until_an_account_has_a_password(database: Database) -> None:
    accounts = Accounts(database)
    assert await accounts.has_no_logins()
    await accounts.ensure_local_account()
    assert await accounts.has_no_logins(), "the account of this machine has no password"
    await accounts.create_account("ada", PASSWORD)
    assert not await accounts.has_no_logins()


async def test_create_account_rejects_invalid_input_and_stores_nothing(database: Database) -> None:
    accounts = Accounts(database)
    with pytest.raises(NotFound, match="moot user list"):
        await accounts.create_account("ada", PASSWORD, tenant="nowhere")
    with pytest.raises(UsageError, match="1 to 64"):
        await accounts.create_account(" ada", PASSWORD)
    with pytest.raises(UsageError, match="Choose another"):
        await accounts.create_account("ada", "short")
    with pytest.raises(Conflict, match="account of this machine"):
        await accounts.create_account("local", PASSWORD)
    assert list(await accounts.list_accounts()) == []


async def test_create_account_rejects_reused_tenant_name_but_accepts_tenant_id(database: Database) -> None:
    accounts = Accounts(database)
    first = await accounts.create_account("ada", PASSWORD)
    await accounts.delete_account("ada")
    second = await accounts.create_account("ada", PASSWORD)
    assert first.tenant != second.tenant
    with pytest.raises(Conflict, match="by its id"):
        await accounts.create_account("bob", PASSWORD, tenant="ada")
    assert (await accounts.create_account("bob", PASSWORD, tenant=first.tenant)).tenant == first.tenant


async def test_session_secret_identifies_caller_until_session_expires(database: Database) -> None:
    accounts = Accounts(database)
    added, secret, caller = await create_and_log_in(accounts)
    assert (caller.account, caller.tenant, caller.kind) == (added.id, added.tenant, "session")
    assert await accounts.caller_of_session(secret) == caller
    assert await accounts.caller_of_session(caller.credential) is None, "the stored hash is no secret"
    assert await accounts.caller_of_token(secret) is None
    async with database.write() as connection:
        await connection.execute(update(session).values(expires_at=session.c.expires_at - SESSION_SECONDS))
    assert await accounts.caller_of_session(secret) is None


async def test_login_deletes_expired_sessions(database: Database) -> None:
    accounts = Accounts(database)
    await create_and_log_in(accounts)
    async with database.write() as connection:
        await connection.execute(update(session).values(expires_at=1.0))
    await accounts.login("ada", PASSWORD)
    async with database.read() as connection:
        assert (await connection.execute(select(func.count()).select_from(session))).scalar() == 1


@pytest.mark.parametrize(
    ("name", "password"), [("ada", OTHER_PASSWORD), ("eve", PASSWORD), ("a\x00", PASSWORD), ("", "")]
)
async def test_login_gives_same_error_for_wrong_name_and_wrong_password(
    database: Database, name: str, password: str
) -> None:
    accounts = Accounts(database)
    await accounts.create_account("ada", PASSWORD)
    with pytest.raises(Unauthorized, match=r"^The name or the password is wrong\.$"):
        await accounts.login(name, password)


async def test_logout_ends_only_this_session(database: Database) -> None:
    accounts = Accounts(database)
    _, secret, caller = await create_and_log_in(accounts)
    elsewhere, _ = await accounts.login("ada", PASSWORD)
    await accounts.logout(caller)
    assert await accounts.caller_of_session(secret) is None
    assert await accounts.caller_of_session(elsewhere) is not None


async def test_tokens_are_listed_without_secret_and_deleted_only_by_owner(database: Database) -> None:
    accounts = Accounts(database)
    _, _, ada = await create_and_log_in(accounts)
    _, _, eve = await create_and_log_in(accounts, "eve")
    secret, made = await accounts.create_token(ada, "laptop")
    assert secret.startswith("moot_")
    assert list(await accounts.list_tokens(ada.account)) == [made]
    assert list(await accounts.list_tokens(eve.account)) == []
    caller = await accounts.caller_of_token(secret)
    assert caller is not None
    assert (caller.account, caller.kind) == (ada.account, "token")
    assert await accounts.caller_of_session(secret) is None
    for other in (made.id, "token_none", "\x00"):
        with pytest.raises(NotFound):
            await accounts.delete_token(eve.account, other)
    await accounts.delete_token(ada.account, made.id)
    assert await accounts.caller_of_token(secret) is None


async def test_create_token_rejects_more_than_maximum(database: Database) -> None:
    accounts = Accounts(database)
    _, _, caller = await create_and_log_in(accounts)
    rows = [
        {"id": f"t{n}", "account": caller.account, "hash": f"h{n}", "name": "t", "created_at": 0.0}
        for n in range(MAX_API_TOKENS)
    ]
    async with database.write() as connection:
        await connection.execute(insert(token), rows)
    with pytest.raises(Conflict, match="Delete one"):
        await accounts.create_token(caller, "one more")


async def test_set_password_revokes_sessions_and_tokens(database: Database) -> None:
    accounts = Accounts(database)
    _, secret, caller = await create_and_log_in(accounts)
    api, _ = await accounts.create_token(caller, "laptop")
    _, _, eve = await create_and_log_in(accounts, "eve")
    await accounts.set_password("ada", OTHER_PASSWORD)
    assert await accounts.caller_of_session(secret) is None
    assert await accounts.caller_of_token(api) is None
    with pytest.raises(Unauthorized):
        await accounts.login("ada", PASSWORD)
    await accounts.login("ada", OTHER_PASSWORD)
    assert await accounts.valid_credentials({eve.credential, caller.credential}) == {eve.credential}


async def test_delete_account_revokes_credentials_and_keeps_tenant(database: Database) -> None:
    accounts = Accounts(database)
    added, secret, caller = await create_and_log_in(accounts)
    api, _ = await accounts.create_token(caller, "laptop")
    assert await accounts.delete_account("ada") == added
    assert await accounts.caller_of_session(secret) is None
    assert await accounts.caller_of_token(api) is None
    with pytest.raises(Unauthorized):
        await accounts.create_token(caller, "too late")
    async with database.read() as connection:
        assert (await connection.execute(select(tenant.c.id))).scalars().all() == [added.tenant]


async def test_set_password_and_delete_reject_unknown_account(database: Database) -> None:
    accounts = Accounts(database)
    with pytest.raises(NotFound, match="'eve'"):
        await accounts.set_password("eve", PASSWORD)
    with pytest.raises(NotFound, match="'eve'"):
        await accounts.delete_account("eve")


class ObservedPasswords(Passwords):
    """Records when a password check ends."""

    def __init__(self) -> None:
        super().__init__()
        self.checked = asyncio.Event()

    async def verify_password(self, hash: str | None, password: str) -> bool:
        right = await super().verify_password(hash, password)
        self.checked.set()
        return right


async def test_login_is_rejected_when_password_changes_concurrently(database: Database) -> None:
    accounts = Accounts(database)
    await accounts.create_account("ada", PASSWORD)
    accounts._passwords = noticed = ObservedPasswords()
    async with database.write() as connection:
        await connection.execute(update(account).values(password="another hash"))
        logging_in = asyncio.create_task(accounts.login("ada", PASSWORD))
        await noticed.checked.wait()
        await connection.execute(delete(session))
    with pytest.raises(Unauthorized):
        await logging_in
    async with database.read() as connection:
        assert (await connection.execute(select(session.c.hash))).all() == []


async def test_create_token_is_rejected_when_password_changes_concurrently(database: Database) -> None:
    accounts = Accounts(database)
    _, _, caller = await create_and_log_in(accounts)
    async with database.write() as connection:
        await connection.execute(update(account).values(password="another hash"))
        await connection.execute(delete(session))
        await connection.execute(delete(token))
        making = asyncio.create_task(accounts.create_token(caller, "laptop"))
        await asyncio.sleep(0.05)
    with pytest.raises(Unauthorized):
        await making
    assert list(await accounts.list_tokens(caller.account)) == []


async def test_valid_credentials_checks_thousands_at_once(database: Database) -> None:
    accounts = Accounts(database)
    _, _, caller = await create_and_log_in(accounts)
    many = {hash_secret(str(n)) for n in range(20_000)}
    assert await accounts.valid_credentials(many | {caller.credential}) == {caller.credential}
    assert await accounts.valid_credentials(set()) == set()


async def test_ensure_local_account_creates_one_account_concurrently(database: Database) -> None:
    accounts = Accounts(database)
    callers = await asyncio.gather(*(accounts.ensure_local_account() for _ in range(5)))
    assert set(callers) == {Caller(account="local", tenant="local", name="local", kind="local")}
    with pytest.raises(Unauthorized):
        await accounts.login("local", "")
    await accounts.set_password("local", PASSWORD)
    _, known = await accounts.login("local", PASSWORD)
    assert known.tenant == "local"


async def test_database_files_contain_no_secrets(tmp_path: Path) -> None:
    async with open_migrated_database("sqlite", tmp_path) as database:
        accounts = Accounts(database)
        _, secret, caller = await create_and_log_in(accounts)
        api, _ = await accounts.create_token(caller, "laptop")
        stored = read_database_files(tmp_path)
    assert caller.credential.encode() in stored
    for shown in (PASSWORD, secret, api):
        assert shown.encode() not in stored

import asyncio

from sqlalchemy import insert

from moot.store.accounts.accounts import (
    DUMMY_HASH,
    HASHER,
    Passwords,
    hash_secret,
    is_credential_valid,
    lock_account,
    session_owner_query,
    token_owner_query,
    valid_hashes_query,
)
from moot.store.database import Database
from moot.store.schema.accounts import account, session, token
from moot.types.accounts import Caller
from tests.support.accounts import ANNA, BERT, create_accounts

FAR_FUTURE = 1e11


async def add_credentials(database: Database) -> None:
    """Give Anna a session, an expired session and a token. Bert has nothing."""
    await create_accounts(database)
    async with database.write() as connection:
        for secret, until in (("here", FAR_FUTURE), ("over", 1.0)):
            await connection.execute(
                insert(session).values(hash=hash_secret(secret), account=ANNA, created_at=0.0, expires_at=until)
            )
        await connection.execute(
            insert(token).values(id="token_1", account=ANNA, hash=hash_secret("tok"), name="t", created_at=0.0)
        )


async def test_session_and_token_are_found_only_by_own_hash(database: Database) -> None:
    await add_credentials(database)
    async with database.read() as connection:
        assert (await connection.execute(session_owner_query(hash_secret("here")))).all() == [(ANNA, ANNA, ANNA)]
        assert (await connection.execute(token_owner_query(hash_secret("tok")))).all() == [(ANNA, ANNA, ANNA)]
        for query in (
            session_owner_query(hash_secret("over")),
            session_owner_query(hash_secret("tok")),
            token_owner_query(hash_secret("here")),
            session_owner_query("here"),
        ):
            assert (await connection.execute(query)).all() == []


async def test_valid_hashes_query_checks_many_hashes_at_once(database: Database) -> None:
    await add_credentials(database)
    asked = {hash_secret(secret) for secret in ("here", "over", "tok", "never")}
    async with database.read() as connection:
        found = set((await connection.execute(valid_hashes_query(asked))).scalars())
    assert found == {hash_secret("here"), hash_secret("tok")}


async def test_lock_account_requires_matching_conditions(database: Database) -> None:
    await add_credentials(database)
    async with database.write() as connection:
        assert await lock_account(connection, ANNA)
        assert await lock_account(connection, ANNA, account.c.password.is_(None))
        assert not await lock_account(connection, ANNA, account.c.password == "other")
        assert not await lock_account(connection, "nobody")


async def test_credential_is_valid_while_it_exists(database: Database) -> None:
    await add_credentials(database)

    def caller(secret: str) -> Caller:
        return Caller(account=ANNA, tenant=ANNA, name=ANNA, kind="session", credential=hash_secret(secret))

    async with database.write() as connection:
        assert await is_credential_valid(connection, caller("here"))
        assert not await is_credential_valid(connection, caller("over"))
        assert await is_credential_valid(connection, Caller(account=BERT, tenant=BERT, name=BERT, kind="local"))


async def test_verify_password_accepts_only_matching_password() -> None:
    passwords = Passwords()
    hashed = await passwords.hash_password("correct horse")
    assert "correct" not in hashed
    assert hashed.startswith("$argon2id$")
    assert await passwords.verify_password(hashed, "correct horse")
    assert not await passwords.verify_password(hashed, "Correct horse")


async def test_verify_password_rejects_account_without_password() -> None:
    assert not await Passwords().verify_password(None, "nobody at all")
    assert HASHER.verify(DUMMY_HASH, "nobody at all"), "the hash that stands in for none is a real one"


def test_dummy_hash_costs_as_much_as_a_real_one() -> None:
    assert not HASHER.check_needs_rehash(DUMMY_HASH)


async def test_hash_password_does_not_block_event_loop() -> None:
    hashing = asyncio.create_task(Passwords().hash_password("correct horse"))
    turns = 0
    while not hashing.done():
        await asyncio.sleep(0)
        turns += 1
    assert turns > 2

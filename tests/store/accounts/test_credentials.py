import asyncio

from sqlalchemy import insert

from moot.store.accounts.credentials import (
    HASHER,
    NOBODY,
    Passwords,
    counts,
    digest,
    hold,
    of_session,
    of_token,
    valid,
)
from moot.store.database import Database
from moot.store.schema import account, session, token
from moot.types.accounts import Caller
from tests.store.people import ANNA, BERT, settle

FAR = 1e11


async def hand_out(database: Database) -> None:
    """Anna has a session, a session that is over, and a token; Bert has nothing."""
    await settle(database)
    async with database.write() as connection:
        for secret, until in (("here", FAR), ("over", 1.0)):
            await connection.execute(
                insert(session).values(hash=digest(secret), account=ANNA, created_at=0.0, expires_at=until)
            )
        await connection.execute(
            insert(token).values(id="token_1", account=ANNA, hash=digest("tok"), name="t", created_at=0.0)
        )


async def test_each_kind_is_found_by_its_own_hash_only(database: Database) -> None:
    await hand_out(database)
    async with database.read() as connection:
        assert (await connection.execute(of_session(digest("here")))).all() == [(ANNA, ANNA, ANNA)]
        assert (await connection.execute(of_token(digest("tok")))).all() == [(ANNA, ANNA, ANNA)]
        for query in (
            of_session(digest("over")),
            of_session(digest("tok")),
            of_token(digest("here")),
            of_session("here"),
        ):
            assert (await connection.execute(query)).all() == []


async def test_many_are_asked_for_at_once(database: Database) -> None:
    await hand_out(database)
    asked = {digest(secret) for secret in ("here", "over", "tok", "never")}
    async with database.read() as connection:
        found = set((await connection.execute(valid(asked))).scalars())
    assert found == {digest("here"), digest("tok")}


async def test_an_account_is_held_only_as_it_should_be(database: Database) -> None:
    await hand_out(database)
    async with database.write() as connection:
        assert await hold(connection, ANNA)
        assert await hold(connection, ANNA, account.c.password.is_(None))
        assert not await hold(connection, ANNA, account.c.password == "other")
        assert not await hold(connection, "nobody")


async def test_a_credential_counts_as_long_as_it_is_there(database: Database) -> None:
    await hand_out(database)

    def caller(secret: str) -> Caller:
        return Caller(account=ANNA, tenant=ANNA, name=ANNA, kind="session", credential=digest(secret))

    async with database.write() as connection:
        assert await counts(connection, caller("here"))
        assert not await counts(connection, caller("over"))
        assert await counts(connection, Caller(account=BERT, tenant=BERT, name=BERT, kind="local"))


async def test_a_password_matches_its_own_hash_and_no_other() -> None:
    passwords = Passwords()
    hashed = await passwords.hash("correct horse")
    assert "correct" not in hashed
    assert hashed.startswith("$argon2id$")
    assert await passwords.match(hashed, "correct horse")
    assert not await passwords.match(hashed, "Correct horse")


async def test_who_has_no_password_matches_none() -> None:
    assert not await Passwords().match(None, "nobody at all")
    assert HASHER.verify(NOBODY, "nobody at all"), "the hash that stands in for none is a real one"


def test_a_name_that_nobody_has_costs_as_much_as_any_other() -> None:
    assert not HASHER.check_needs_rehash(NOBODY)


async def test_hashing_lets_the_loop_go_on() -> None:
    hashing = asyncio.create_task(Passwords().hash("correct horse"))
    turns = 0
    while not hashing.done():
        await asyncio.sleep(0)
        turns += 1
    assert turns > 2

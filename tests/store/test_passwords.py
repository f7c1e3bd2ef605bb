import asyncio

from moot.store.passwords import HASHER, NOBODY, Passwords


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

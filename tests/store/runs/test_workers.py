from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from moot.store.database import Database
from moot.store.runs.workers import Roll, Sign, hold_worker
from moot.types.errors import Leaving
from tests.databases import migrated


@pytest.fixture
async def database(tmp_path: Path) -> AsyncIterator[Database]:
    async with migrated("postgres", tmp_path) as database:
        yield database


async def test_who_has_joined_beats_until_somebody_takes_over(database: Database) -> None:
    roll = Roll(database)
    await roll.join("one")
    assert await roll.beat("one")
    assert await roll.signs() == {"one": Sign(1, None)}
    assert await roll.claim("one", Sign(1, None), "other")
    assert not await roll.beat("one")
    await roll.strike_off("one")
    assert await roll.signs() == {}
    assert not await roll.beat("one")


async def test_one_becomes_the_reaper_and_only_of_who_gave_no_sign(database: Database) -> None:
    roll = Roll(database)
    await roll.join("one")
    seen = (await roll.signs())["one"]
    await roll.beat("one")
    assert not await roll.claim("one", seen, "other")
    seen = (await roll.signs())["one"]
    assert [await roll.claim("one", seen, name) for name in ("other", "third")] == [True, False]
    assert await roll.signs() == {"one": Sign(1, "other")}


async def test_who_has_left_and_who_was_never_here_are_noted_alike(database: Database) -> None:
    roll = Roll(database)
    await roll.join("one")
    await roll.leave("one")
    await roll.note_as_left("stranger")
    assert await roll.signs() == {"one": Sign(0, "one"), "stranger": Sign(0, "stranger")}


async def test_who_is_being_taken_over_is_given_nothing_more(database: Database) -> None:
    roll = Roll(database)
    await roll.join("one")
    async with database.write() as connection:
        await hold_worker(connection, "one")
    await roll.leave("one")
    for name in ("one", "nobody"):
        async with database.write() as connection:
            with pytest.raises(Leaving):
                await hold_worker(connection, name)

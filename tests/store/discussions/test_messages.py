"""Versions are read with their turns, and never as turns."""

import pytest
from msgspec.structs import replace
from sqlalchemy import select, update

from moot.store.database import Database
from moot.store.discussions.discussions import Discussions, message_values
from moot.store.discussions.edits import Edits
from moot.store.discussions.messages import is_shown, turn_of, versions_in
from moot.store.library.summaries import Recaps
from moot.store.schema import message
from moot.types.discussions import Message
from moot.types.errors import NotFound
from tests.store.people import ANNA, BERT, discuss, settle


async def spoken(database: Database) -> tuple[str, list[Message]]:
    await settle(database)
    id = (await discuss(database, ANNA, "Why?", "Because.", "And?", "So.")).id
    return id, list(await Discussions(database).messages(id))


async def test_a_turn_is_found_by_the_id_of_any_of_its_versions(database: Database) -> None:
    id, (_, answer, *_) = await spoken(database)
    edited = await Edits(database).edit(ANNA, id, answer.id, "Therefore.")
    async with database.read() as connection:
        for asked in (answer.id, edited.version_id or ""):
            turn = await turn_of(connection, asked, message.c.discussion == id, "No.")
            assert [one.content for one in turn] == ["Because.", "Therefore."]
        for asked, mine in (("msg_none", message.c.tenant == ANNA), (answer.id, message.c.tenant == BERT)):
            with pytest.raises(NotFound, match=r"No\."):
                await turn_of(connection, asked, mine, "No.")


async def test_what_failed_is_found_by_nobody(database: Database) -> None:
    id, (_, answer, *_) = await spoken(database)
    edited = await Edits(database).edit(ANNA, id, answer.id, "Therefore.")
    async with database.write() as connection:
        failed = update(message).where(message.c.id == edited.version_id).values(status="failed")
        await connection.execute(failed)
    with pytest.raises(NotFound):
        await Discussions(database).message(id, edited.version_id or "")
    assert await Discussions(database).message(id, answer.id) == answer


async def test_later_versions_are_those_of_some_turns_or_all_until_a_number(database: Database) -> None:
    id, said = await spoken(database)
    edits = Edits(database)
    numbers = [(await edits.edit(ANNA, id, one.id, f"{one.content}!")).revised for one in said]
    async with database.read() as connection:
        assert len(await versions_in(connection, id)) == 4
        assert [one.content for one in await versions_in(connection, id, [said[1].id])] == ["Because.!"]
        assert len(await versions_in(connection, id, upto=numbers[1])) == 2
    seen = await Discussions(database).messages(id, upto=numbers[1])
    assert [one.content for one in seen] == ["Why?!", "Because.!", "And?", "So."]


async def test_only_the_words_that_are_shown_are_searched(database: Database) -> None:
    id, (_, answer, *_) = await spoken(database)
    await Edits(database).edit(ANNA, id, answer.id, "Therefore.")
    discussions = Discussions(database)
    assert (await discussions.page(ANNA, q="because")).discussions == ()
    assert [one.id for one in (await discussions.page(ANNA, q="therefore")).discussions] == [id]
    await Edits(database).choose(ANNA, id, answer.id, answer.id)
    assert (await discussions.page(ANNA, q="therefore")).discussions == ()
    assert [one.id for one in (await discussions.page(ANNA, q="because")).discussions] == [id]
    async with database.read() as connection:
        shown = (await connection.execute(select(message.c.content).where(is_shown()))).scalars().all()
    assert sorted(shown) == ["And?", "Because.", "So.", "Why?"]


async def test_versions_are_not_counted_as_heard(database: Database) -> None:
    id, (_, answer, *_) = await spoken(database)
    await Edits(database).edit(ANNA, id, answer.id, "Therefore.")
    assert await Recaps(database).heard(id) == 4


async def test_where_words_were_spoken_is_known(database: Database) -> None:
    id, (_, answer, *_) = await spoken(database)
    edited = await Edits(database).edit(ANNA, id, answer.id, "Therefore.")
    discussions = Discussions(database)
    assert await discussions.made_in(replace(answer, run="run_1")) == "run_1"
    assert await discussions.made_in(replace(edited, run="run_1")) == "run_1"


def test_what_is_told_of_all_versions_is_in_no_row() -> None:
    values = message_values(ANNA, Message(id="m", discussion="d", role="user", content=""), 0)
    assert values.keys() <= {column.name for column in message.c}

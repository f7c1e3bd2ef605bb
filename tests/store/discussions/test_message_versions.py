"""Versions are read with their turns, never as turns of their own."""

import pytest
from msgspec.structs import replace
from sqlalchemy import select, update

from moot.store.database import Database
from moot.store.discussions.discussions import (
    Discussions,
    is_current_version,
    load_later_versions,
    load_turn_versions,
    message_values,
)
from moot.store.discussions.edits import MessageEdits
from moot.store.library.summaries import DiscussionSummaries
from moot.store.schema.discussions import message
from moot.types.discussions import Message
from moot.types.errors import NotFound
from tests.support.accounts import ANNA, BERT, create_accounts, create_discussion


async def create_messages(database: Database) -> tuple[str, list[Message]]:
    await create_accounts(database)
    id = (await create_discussion(database, ANNA, "Why?", "Because.", "And?", "So.")).id
    return id, list(await Discussions(database).list_messages(id))


async def test_load_turn_versions_finds_turn_by_id_of_any_version(database: Database) -> None:
    id, (_, answer, *_) = await create_messages(database)
    edited = await MessageEdits(database).edit_message(ANNA, id, answer.id, "Therefore.")
    async with database.read() as connection:
        for asked in (answer.id, edited.version_id or ""):
            turn = await load_turn_versions(connection, asked, message.c.discussion == id, "No.")
            assert [one.content for one in turn] == ["Because.", "Therefore."]
        for asked, mine in (("msg_none", message.c.tenant == ANNA), (answer.id, message.c.tenant == BERT)):
            with pytest.raises(NotFound, match=r"No\."):
                await load_turn_versions(connection, asked, mine, "No.")


async def test_failed_version_is_not_found(database: Database) -> None:
    id, (_, answer, *_) = await create_messages(database)
    edited = await MessageEdits(database).edit_message(ANNA, id, answer.id, "Therefore.")
    async with database.write() as connection:
        failed = update(message).where(message.c.id == edited.version_id).values(status="failed")
        await connection.execute(failed)
    with pytest.raises(NotFound):
        await Discussions(database).get_message(id, edited.version_id or "")
    assert await Discussions(database).get_message(id, answer.id) == answer


async def test_load_later_versions_filters_by_turn_and_visible_until(database: Database) -> None:
    id, messages = await create_messages(database)
    edits = MessageEdits(database)
    numbers = [(await edits.edit_message(ANNA, id, one.id, f"{one.content}!")).revised_seq for one in messages]
    async with database.read() as connection:
        assert len(await load_later_versions(connection, id)) == 4
        assert [one.content for one in await load_later_versions(connection, id, [messages[1].id])] == ["Because.!"]
        assert len(await load_later_versions(connection, id, visible_until=numbers[1])) == 2
    seen = await Discussions(database).list_messages(id, visible_until=numbers[1])
    assert [one.content for one in seen] == ["Why?!", "Because.!", "And?", "So."]


async def test_search_uses_only_current_versions(database: Database) -> None:
    id, (_, answer, *_) = await create_messages(database)
    await MessageEdits(database).edit_message(ANNA, id, answer.id, "Therefore.")
    discussions = Discussions(database)
    assert (await discussions.list_discussions(ANNA, q="because")).discussions == ()
    assert [one.id for one in (await discussions.list_discussions(ANNA, q="therefore")).discussions] == [id]
    await MessageEdits(database).select_version(ANNA, id, answer.id, answer.id)
    assert (await discussions.list_discussions(ANNA, q="therefore")).discussions == ()
    assert [one.id for one in (await discussions.list_discussions(ANNA, q="because")).discussions] == [id]
    async with database.read() as connection:
        shown = (await connection.execute(select(message.c.content).where(is_current_version()))).scalars().all()
    assert sorted(shown) == ["And?", "Because.", "So.", "Why?"]


async def test_public_message_count_ignores_versions(database: Database) -> None:
    id, (_, answer, *_) = await create_messages(database)
    await MessageEdits(database).edit_message(ANNA, id, answer.id, "Therefore.")
    assert await DiscussionSummaries(database).count_public_messages(id) == 4


async def test_origin_run_is_known_for_answers_and_edits(database: Database) -> None:
    id, (_, answer, *_) = await create_messages(database)
    edited = await MessageEdits(database).edit_message(ANNA, id, answer.id, "Therefore.")
    discussions = Discussions(database)
    assert await discussions.origin_run(replace(answer, run="run_1")) == "run_1"
    assert await discussions.origin_run(replace(edited, run="run_1")) == "run_1"


def test_message_values_omit_version_fields() -> None:
    values = message_values(ANNA, Message(id="m", discussion="d", role="user", content=""), 0)
    assert values.keys() <= {column.name for column in message.c}

"""Words that people put in the place of others: rows are added, and nothing is changed."""

import asyncio

import pytest
from sqlalchemy import func, select, update

from moot.store.database import Database
from moot.store.discussions.discussions import Discussions
from moot.store.discussions.edits import MessageEdits
from moot.store.schema import message, run
from moot.types.discussions import Discussion, Message
from moot.types.errors import Conflict, NotFound
from tests.store.hearing import eventually, hearing
from tests.store.people import ANNA, discuss, settle
from tests.store.running import WORKER, employ, start


class Desk:
    def __init__(self, database: Database, discussion: Discussion, asked: Message, answer: Message) -> None:
        self.database = database
        self.edits = MessageEdits(database)
        self.discussion = discussion
        self.asked = asked
        self.answer = answer

    async def edit(self, words: str, of: Message | None = None) -> Message:
        return await self.edits.edit_message(ANNA, self.discussion.id, (of or self.answer).id, words)

    async def choose(self, version: str) -> Message:
        return await self.edits.select_version(ANNA, self.discussion.id, self.answer.id, version)

    async def now(self) -> list[str]:
        return [one.content for one in await Discussions(self.database).list_messages(self.discussion.id)]

    async def rows(self) -> int:
        async with self.database.read() as connection:
            return int((await connection.execute(select(func.count()).select_from(message))).scalar_one())


@pytest.fixture
async def desk(database: Database) -> Desk:
    await settle(database)
    await employ(database, WORKER)
    new = await discuss(database, ANNA, "Why?", "Because.")
    asked, answer = await Discussions(database).list_messages(new.id)
    return Desk(database, new, asked, answer)


async def test_other_words_are_current_from_then_on(desk: Desk) -> None:
    edited = await desk.edit("Therefore.")
    assert (edited.id, edited.content, edited.version, edited.edited) == (
        desk.answer.id,
        "Therefore.",
        2,
        True,
    )
    assert (edited.participant, edited.name, edited.role) == ("alpha", "Alpha", "assistant")
    await desk.edit("How?", desk.asked)
    assert await desk.now() == ["How?", "Therefore."]
    assert edited == await Discussions(desk.database).get_message(desk.discussion.id, desk.answer.id)


async def test_an_earlier_version_is_chosen_and_stays_one(desk: Desk) -> None:
    edited = await desk.edit("Therefore.")
    chosen = await desk.choose(desk.answer.id)
    assert (chosen.content, chosen.version, chosen.versions, chosen.edited) == ("Because.", 1, 2, False)
    assert (await desk.choose(edited.version_id or "")).content == "Therefore."
    listed = await desk.edits.list_versions(desk.discussion.id, desk.answer.id)
    assert (len(listed.versions), listed.current) == (2, edited.version_id)


async def test_what_is_so_already_is_not_done_again(desk: Desk) -> None:
    assert await desk.edit("Because.") == desk.answer
    assert await desk.choose(desk.answer.id) == desk.answer
    await desk.edit("Therefore.")
    await desk.choose(desk.answer.id)
    rows = await desk.rows()
    await desk.choose(desk.answer.id)
    await desk.edit("Because.")
    assert await desk.rows() == rows


async def test_only_a_version_of_the_turn_can_be_chosen(desk: Desk) -> None:
    await desk.edit("Therefore.")
    chosen = await desk.choose(desk.answer.id)
    assert chosen.version_id == desk.answer.id
    for other in ("msg_none", desk.asked.id):
        with pytest.raises(NotFound, match="no version of this turn"):
            await desk.choose(other)


async def test_what_is_not_in_the_discussion_is_not_there(desk: Desk) -> None:
    other = await discuss(desk.database, ANNA, "Elsewhere")
    for asked in (
        desk.edits.edit_message(ANNA, other.id, desk.answer.id, "No."),
        desk.edits.select_version(ANNA, other.id, desk.answer.id, desk.answer.id),
        desk.edits.list_versions(other.id, desk.answer.id),
    ):
        with pytest.raises(NotFound, match=desk.answer.id):
            await asked


async def test_nothing_is_edited_while_somebody_speaks(desk: Desk) -> None:
    going = await start(desk.database, desk.discussion)
    with pytest.raises(Conflict, match=going.id):
        await desk.edit("Therefore.")
    with pytest.raises(Conflict, match=going.id):
        await desk.choose(desk.answer.id)
    async with desk.database.write() as connection:
        await connection.execute(update(run).values(status="completed"))
    await desk.edit("Therefore.")


async def test_whoever_watches_is_told_and_the_discussion_comes_to_the_front(desk: Desk) -> None:
    async with hearing(desk.database, "moot_changes") as heard:
        await desk.edit("Therefore.")
        await eventually(lambda: f"{ANNA} {desk.discussion.id}" in heard)
    touched = await Discussions(desk.database).get_discussion(ANNA, desk.discussion.id)
    assert touched.updated_at > desk.discussion.updated_at


async def test_those_who_edit_at_the_same_time_make_a_version_each(desk: Desk) -> None:
    await asyncio.gather(*(desk.edit(f"So {number}.") for number in range(5)))
    listed = await desk.edits.list_versions(desk.discussion.id, desk.answer.id)
    assert len(listed.versions) == 6
    assert (await desk.now())[1] == listed.versions[-1].content

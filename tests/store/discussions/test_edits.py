"""Edited messages: an edit adds rows and changes none."""

import asyncio

import pytest
from sqlalchemy import func, select, update

from moot.store.database import Database
from moot.store.discussions.discussions import Discussions
from moot.store.discussions.edits import MessageEdits
from moot.store.schema.discussions import message
from moot.store.schema.runs import run
from moot.types.discussions import Discussion, Message
from moot.types.errors import Conflict, NotFound
from tests.support.accounts import ANNA, create_accounts, create_discussion
from tests.support.runs import WORKER, create_run, register_workers
from tests.support.waiting import collect_notifications, wait_until


class EditHarness:
    def __init__(self, database: Database, discussion: Discussion, question: Message, answer: Message) -> None:
        self.database = database
        self.edits = MessageEdits(database)
        self.discussion = discussion
        self.question = question
        self.answer = answer

    async def edit_message(self, content: str, target: Message | None = None) -> Message:
        return await self.edits.edit_message(ANNA, self.discussion.id, (target or self.answer).id, content)

    async def select_version(self, version: str) -> Message:
        return await self.edits.select_version(ANNA, self.discussion.id, self.answer.id, version)

    async def current_contents(self) -> list[str]:
        return [one.content for one in await Discussions(self.database).list_messages(self.discussion.id)]

    async def count_message_rows(self) -> int:
        async with self.database.read() as connection:
            return int((await connection.execute(select(func.count()).select_from(message))).scalar_one())


@pytest.fixture
async def harness(database: Database) -> EditHarness:
    await create_accounts(database)
    await register_workers(database, WORKER)
    new = await create_discussion(database, ANNA, "Why?", "Because.")
    asked, answer = await Discussions(database).list_messages(new.id)
    return EditHarness(database, new, asked, answer)


async def test_edit_message_makes_current_version(harness: EditHarness) -> None:
    edited = await harness.edit_message("Therefore.")
    assert (edited.id, edited.content, edited.version, edited.edited) == (
        harness.answer.id,
        "Therefore.",
        2,
        True,
    )
    assert (edited.participant, edited.name, edited.role) == ("alpha", "Alpha", "assistant")
    await harness.edit_message("How?", harness.question)
    assert await harness.current_contents() == ["How?", "Therefore."]
    assert edited == await Discussions(harness.database).get_message(harness.discussion.id, harness.answer.id)


async def test_select_version_makes_earlier_version_current(harness: EditHarness) -> None:
    edited = await harness.edit_message("Therefore.")
    chosen = await harness.select_version(harness.answer.id)
    assert (chosen.content, chosen.version, chosen.versions, chosen.edited) == ("Because.", 1, 2, False)
    assert (await harness.select_version(edited.version_id or "")).content == "Therefore."
    listed = await harness.edits.list_versions(harness.discussion.id, harness.answer.id)
    assert (len(listed.versions), listed.current) == (2, edited.version_id)


async def test_unchanged_edit_or_selection_adds_no_row(harness: EditHarness) -> None:
    assert await harness.edit_message("Because.") == harness.answer
    assert await harness.select_version(harness.answer.id) == harness.answer
    await harness.edit_message("Therefore.")
    await harness.select_version(harness.answer.id)
    rows = await harness.count_message_rows()
    await harness.select_version(harness.answer.id)
    await harness.edit_message("Because.")
    assert await harness.count_message_rows() == rows


async def test_select_version_rejects_version_of_other_turn(harness: EditHarness) -> None:
    await harness.edit_message("Therefore.")
    chosen = await harness.select_version(harness.answer.id)
    assert chosen.version_id == harness.answer.id
    for other in ("msg_none", harness.question.id):
        with pytest.raises(NotFound, match="no version of this turn"):
            await harness.select_version(other)


async def test_edits_reject_message_of_other_discussion(harness: EditHarness) -> None:
    other = await create_discussion(harness.database, ANNA, "Elsewhere")
    for asked in (
        harness.edits.edit_message(ANNA, other.id, harness.answer.id, "No."),
        harness.edits.select_version(ANNA, other.id, harness.answer.id, harness.answer.id),
        harness.edits.list_versions(other.id, harness.answer.id),
    ):
        with pytest.raises(NotFound, match=harness.answer.id):
            await asked


async def test_edits_are_rejected_while_a_run_is_live(harness: EditHarness) -> None:
    live = await create_run(harness.database, harness.discussion)
    with pytest.raises(Conflict, match=live.id):
        await harness.edit_message("Therefore.")
    with pytest.raises(Conflict, match=live.id):
        await harness.select_version(harness.answer.id)
    async with harness.database.write() as connection:
        await connection.execute(update(run).values(status="completed"))
    await harness.edit_message("Therefore.")


async def test_edit_message_notifies_and_moves_discussion_to_front(harness: EditHarness) -> None:
    async with collect_notifications(harness.database, "moot_changes") as notifications:
        await harness.edit_message("Therefore.")
        await wait_until(lambda: f"{ANNA} {harness.discussion.id}" in notifications)
    touched = await Discussions(harness.database).get_discussion(ANNA, harness.discussion.id)
    assert touched.updated_at > harness.discussion.updated_at


async def test_concurrent_edits_make_one_version_each(harness: EditHarness) -> None:
    await asyncio.gather(*(harness.edit_message(f"So {number}.") for number in range(5)))
    listed = await harness.edits.list_versions(harness.discussion.id, harness.answer.id)
    assert len(listed.versions) == 6
    assert (await harness.current_contents())[1] == listed.versions[-1].content

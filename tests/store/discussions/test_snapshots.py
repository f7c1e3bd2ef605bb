"""Snapshots of a discussion. Later messages and edits do not change a snapshot; deleted messages are missing."""

import pytest
from sqlalchemy import delete

from moot.store.database import Database
from moot.store.discussions.discussions import Discussions
from moot.store.discussions.edits import MessageEdits
from moot.store.discussions.snapshots import DiscussionSnapshot, DiscussionSnapshots
from moot.store.schema.discussions import message
from moot.types.discussions import Discussion
from tests.support.accounts import ANNA, create_accounts, create_discussion
from tests.support.debates import RunWriter, make_instructions, make_turn, prepare_leased_debate
from tests.support.runs import WORKER, create_leased_run, create_run, register_workers

MESSAGES = ("Why?", "Because.", "And then?", "Nothing.")


@pytest.fixture
async def discussion(database: Database) -> Discussion:
    await create_accounts(database)
    await register_workers(database, WORKER)
    await create_discussion(database, ANNA, "Elsewhere?")
    return await create_discussion(database, ANNA, *MESSAGES)


async def snapshot_contents(database: Database, snapshot: DiscussionSnapshot) -> list[str]:
    return [
        turn.current.content for turn in await DiscussionSnapshots(database).read_turns(snapshot, snapshot.turn_seqs)
    ]


async def edit_message_at(database: Database, discussion: Discussion, position: int, content: str) -> int:
    """Edit a message and return the number of the edit."""
    turn = (await Discussions(database).list_messages(discussion.id))[position]
    return (await MessageEdits(database).edit_message(ANNA, discussion.id, turn.id, content)).revised_seq or 0


async def test_read_turns_returns_ranges_in_order(database: Database, discussion: Discussion) -> None:
    now = await DiscussionSnapshots(database).take_snapshot(discussion.id, ())
    assert await snapshot_contents(database, now) == list(MESSAGES)
    middle = await DiscussionSnapshots(database).read_turns(now, now.turn_seqs[1:3])
    assert [turn.current.content for turn in middle] == ["Because.", "And then?"]


async def test_read_turns_returns_version_current_at_snapshot(database: Database, discussion: Discussion) -> None:
    before = await DiscussionSnapshots(database).take_snapshot(discussion.id, ())
    number = await edit_message_at(database, discussion, 0, "How?")
    after = await DiscussionSnapshots(database).take_snapshot(discussion.id, ())
    await edit_message_at(database, discussion, 0, "Who?")
    assert (after.turn_seqs, after.visible_until) == (before.turn_seqs, number)
    assert (await snapshot_contents(database, before))[0] == "Why?"
    assert await snapshot_contents(database, after) == ["How?", *MESSAGES[1:]]
    (turn,) = await DiscussionSnapshots(database).read_turns(after, after.turn_seqs[:1])
    assert [one.content for one in turn.other_versions] == ["Why?"]


async def test_snapshot_excludes_later_messages_and_deleted_ones(database: Database, discussion: Discussion) -> None:
    now = await DiscussionSnapshots(database).take_snapshot(discussion.id, ())
    await create_run(database, discussion, question="And on?")
    async with database.write() as connection:
        await connection.execute(delete(message).where(message.c.seq == now.turn_seqs[1]))
    assert await snapshot_contents(database, now) == ["Why?", "And then?", "Nothing."]


async def test_snapshot_excludes_hidden_messages(database: Database, discussion: Discussion) -> None:
    lease = await create_leased_run(database, discussion)
    await RunWriter(database, lease).write_records([make_instructions(lease, "alpha", "answer", None)])
    assert await snapshot_contents(
        database, await DiscussionSnapshots(database).take_snapshot(discussion.id, ())
    ) == list(MESSAGES)


async def test_snapshot_of_empty_discussion_is_empty(database: Database, discussion: Discussion) -> None:
    empty = await create_discussion(database)
    assert await DiscussionSnapshots(database).take_snapshot(empty.id, ()) == DiscussionSnapshot(empty.id, (), 0)
    assert await DiscussionSnapshots(database).read_turns(DiscussionSnapshot(empty.id, (), 0), ()) == ()


async def test_simultaneous_turns_follow_participant_order(database: Database) -> None:
    run, lease = await prepare_leased_debate(database)
    spoke = [
        ("gamma", "initial"),
        ("alpha", "initial"),
        ("beta", "initial"),
        ("beta", "debate"),
        ("alpha", "debate"),
    ]
    for who, stage in spoke:
        await RunWriter(database, lease).write_records([make_turn(lease, who, stage)])
    now = await DiscussionSnapshots(database).take_snapshot(run.discussion, ("alpha", "beta", "gamma"))
    answers = ["alpha in initial", "beta in initial", "gamma in initial", "alpha in debate", "beta in debate"]
    assert await snapshot_contents(database, now) == ["Why?", *answers]
    some = await DiscussionSnapshots(database).read_turns(now, now.turn_seqs[2:4])
    assert [turn.current.content for turn in some] == answers[1:3]

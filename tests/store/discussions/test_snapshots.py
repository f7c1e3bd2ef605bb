"""A discussion as it stood: what is said, edited or deleted later changes nothing of it but what is gone."""

import pytest
from sqlalchemy import delete

from moot.store.database import Database
from moot.store.discussions.discussions import Discussions
from moot.store.discussions.edits import MessageEdits
from moot.store.discussions.snapshots import DiscussionSnapshot, DiscussionSnapshots
from moot.store.schema import message
from moot.types.discussions import Discussion
from tests.store.debating import Pen, brief, first_debate, turn
from tests.store.people import ANNA, discuss, settle
from tests.store.running import WORKER, claimed, employ, start

SAID = ("Why?", "Because.", "And then?", "Nothing.")


@pytest.fixture
async def table(database: Database) -> Discussion:
    await settle(database)
    await employ(database, WORKER)
    await discuss(database, ANNA, "Elsewhere?")
    return await discuss(database, ANNA, *SAID)


async def words(database: Database, snapshot: DiscussionSnapshot) -> list[str]:
    return [
        turn.current.content
        for turn in await DiscussionSnapshots(database).read_turns(snapshot, snapshot.turn_numbers)
    ]


async def edit(database: Database, table: Discussion, place: int, words: str) -> int:
    """Put other words in the place of what was said, and return the number of that."""
    turn = (await Discussions(database).list_messages(table.id))[place]
    return (await MessageEdits(database).edit_message(ANNA, table.id, turn.id, words)).revised or 0


async def test_turns_are_read_some_at_a_time_in_their_order(database: Database, table: Discussion) -> None:
    now = await DiscussionSnapshots(database).take_snapshot(table.id, ())
    assert await words(database, now) == list(SAID)
    middle = await DiscussionSnapshots(database).read_turns(now, now.turn_numbers[1:3])
    assert [turn.current.content for turn in middle] == ["Because.", "And then?"]


async def test_a_turn_is_read_as_the_version_that_was_current(database: Database, table: Discussion) -> None:
    before = await DiscussionSnapshots(database).take_snapshot(table.id, ())
    number = await edit(database, table, 0, "How?")
    after = await DiscussionSnapshots(database).take_snapshot(table.id, ())
    await edit(database, table, 0, "Who?")
    assert (after.turn_numbers, after.visible_until) == (before.turn_numbers, number)
    assert (await words(database, before))[0] == "Why?"
    assert await words(database, after) == ["How?", *SAID[1:]]
    (turn,) = await DiscussionSnapshots(database).read_turns(after, after.turn_numbers[:1])
    assert [one.content for one in turn.other_versions] == ["Why?"]


async def test_what_is_said_later_is_no_part_of_it_and_what_is_deleted_is_left_out(
    database: Database, table: Discussion
) -> None:
    now = await DiscussionSnapshots(database).take_snapshot(table.id, ())
    await start(database, table, words="And on?")
    async with database.write() as connection:
        await connection.execute(delete(message).where(message.c.number == now.turn_numbers[1]))
    assert await words(database, now) == ["Why?", "And then?", "Nothing."]


async def test_what_people_are_not_shown_is_no_turn(database: Database, table: Discussion) -> None:
    held = await claimed(database, table)
    await Pen(database, held).keep([brief(held, "alpha", "answer", None)])
    assert await words(database, await DiscussionSnapshots(database).take_snapshot(table.id, ())) == list(
        SAID
    )


async def test_nothing_was_said_where_there_is_nothing(database: Database, table: Discussion) -> None:
    empty = await discuss(database)
    assert await DiscussionSnapshots(database).take_snapshot(empty.id, ()) == DiscussionSnapshot(
        empty.id, (), 0
    )
    assert await DiscussionSnapshots(database).read_turns(DiscussionSnapshot(empty.id, (), 0), ()) == ()


async def test_who_speaks_at_the_same_time_is_told_in_the_order_of_the_seats(database: Database) -> None:
    run, held = await first_debate(database)
    spoke = [
        ("gamma", "initial"),
        ("alpha", "initial"),
        ("beta", "initial"),
        ("beta", "debate"),
        ("alpha", "debate"),
    ]
    for who, stage in spoke:
        await Pen(database, held).keep([turn(held, who, stage)])
    now = await DiscussionSnapshots(database).take_snapshot(run.discussion, ("alpha", "beta", "gamma"))
    told = ["alpha in initial", "beta in initial", "gamma in initial", "alpha in debate", "beta in debate"]
    assert await words(database, now) == ["Why?", *told]
    some = await DiscussionSnapshots(database).read_turns(now, now.turn_numbers[2:4])
    assert [turn.current.content for turn in some] == told[1:3]

"""The whiteboard of a discussion at any event, on both databases."""

import asyncio
from collections.abc import AsyncIterator

import msgspec
import pytest

from moot.engine.events.hub import EventHub
from moot.engine.events.writer import EventWriter, RunEventBuffer
from moot.engine.whiteboards import Whiteboards
from moot.store.database import Database
from moot.store.runs.event_log import EventLog
from moot.types.actions import Action
from moot.types.discussions import Run
from moot.types.drawing import OpenWhiteboard
from moot.types.errors import NotFound
from moot.types.events import Event, RunEnded, TextDelta, TurnKey
from moot.whiteboard.state import Board, replay_actions
from tests.support.accounts import ANNA, BERT, create_accounts, create_discussion
from tests.support.runs import WORKER, create_run, lease_run, register_workers
from tests.support.stores import make_stores
from tests.support.table_harness import QUESTION
from tests.support.whiteboard_events import (
    FIRST_TURN,
    SECOND_TURN,
    action_taken,
    draw_text,
    turn_ended,
    turn_fields,
    turn_started,
)


class LessonHarness:
    """Runs of a lesson in one discussion, written to a real event log."""

    def __init__(self, database: Database) -> None:
        self.database = database
        self.whiteboards = Whiteboards(make_stores(database))
        events = EventLog(database)
        self.event_writer = EventWriter(events, EventHub(events), lambda _: None)

    async def start_run(self, discussion: object) -> tuple[Run, RunEventBuffer]:
        run = await create_run(self.database, discussion, question="Why?")  # type: ignore[arg-type]
        return run, self.event_writer.open_run(await lease_run(self.database, run.id))

    async def write_turn(self, event_buffer: RunEventBuffer, run: Run, turn_key: TurnKey, *lines: str | Action) -> None:
        """Write the events of a whole turn."""
        await event_buffer.append_events([turn_started(turn_key)])
        await self.write_actions(event_buffer, turn_key, *lines)
        end = turn_ended(turn_key, *lines)
        message = msgspec.structs.replace(
            QUESTION,
            id=f"msg_{run.id}_{turn_key.participant}",
            discussion=run.discussion,
            run=run.id,
            role="assistant",
            content=end.message.text,
            participant=turn_key.participant,
            lesson_items=end.message.lesson_items,
        )
        await event_buffer.commit(end, message)

    async def write_actions(self, event_buffer: RunEventBuffer, turn_key: TurnKey, *lines: str | Action) -> None:
        for line in lines:
            if not isinstance(line, str):
                await event_buffer.append_events([action_taken(turn_key, line)])
        await self.event_writer.flush_events()


@pytest.fixture
async def lesson(database: Database) -> AsyncIterator[LessonHarness]:
    await create_accounts(database)
    await register_workers(database, WORKER)
    lesson = LessonHarness(database)
    writing = asyncio.create_task(lesson.event_writer.write_forever())
    yield lesson
    writing.cancel()
    await asyncio.gather(writing, return_exceptions=True)


def element_ids(board: Board) -> list[str]:
    return [element.id for element in board.elements]


async def test_whiteboard_persists_across_runs_and_can_be_read_after_each(
    lesson: LessonHarness,
) -> None:
    discussion = await create_discussion(lesson.database)
    first, event_buffer = await lesson.start_run(discussion)
    await lesson.write_turn(event_buffer, first, FIRST_TURN, OpenWhiteboard(), "Look.", draw_text("one", "one"))
    await event_buffer.end_run(RunEnded(status="completed"), 0)
    second, event_buffer = await lesson.start_run(discussion)
    await lesson.write_turn(event_buffer, second, SECOND_TURN, draw_text("two", "two"))
    await event_buffer.end_run(RunEnded(status="completed"), 0)

    now = await lesson.whiteboards.whiteboard_at(ANNA, discussion.id)
    assert (element_ids(now), now.open) == (["one", "two"], True)
    assert [element.participant for element in now.elements] == ["alpha", "beta"]
    assert element_ids(await lesson.whiteboards.whiteboard_at(ANNA, discussion.id, first.id)) == ["one"]
    assert await lesson.whiteboards.whiteboard_at(ANNA, discussion.id, second.id) == now, (
        "the log and what is kept agree"
    )
    assert element_ids(await lesson.whiteboards.whiteboard_at(ANNA, discussion.id, second.id, 0)) == ["one"]


async def test_whiteboard_at_returns_state_after_every_event(lesson: LessonHarness) -> None:
    discussion = await create_discussion(lesson.database)
    run, event_buffer = await lesson.start_run(discussion)
    await lesson.write_turn(
        event_buffer, run, FIRST_TURN, OpenWhiteboard(), draw_text("one", "one"), draw_text("two", "two")
    )
    boards = [await lesson.whiteboards.whiteboard_at(ANNA, discussion.id, run.id, seq) for seq in range(6)]
    assert [(board.open, element_ids(board)) for board in boards] == [
        (False, []),
        (False, []),
        (True, []),
        (True, ["one"]),
        (True, ["one", "two"]),
        (True, ["one", "two"]),
    ]
    assert await lesson.whiteboards.whiteboard_at(ANNA, discussion.id, run.id, 10_000) == boards[-1]


async def test_whiteboard_at_includes_current_attempt_of_running_turn(lesson: LessonHarness) -> None:
    discussion = await create_discussion(lesson.database)
    run, event_buffer = await lesson.start_run(discussion)
    await event_buffer.append_events([turn_started(FIRST_TURN)])
    await lesson.write_actions(event_buffer, FIRST_TURN, draw_text("one", "one"))
    assert element_ids(await lesson.whiteboards.whiteboard_at(ANNA, discussion.id)) == ["one"]
    await event_buffer.append_events([turn_started(FIRST_TURN, 2)])
    await lesson.write_actions(event_buffer, FIRST_TURN, draw_text("another", "another"))
    assert element_ids(await lesson.whiteboards.whiteboard_at(ANNA, discussion.id)) == ["another"]
    assert element_ids(await lesson.whiteboards.whiteboard_at(ANNA, discussion.id, run.id, 2)) == ["one"], (
        "as it was then"
    )


async def test_whiteboard_at_reads_long_event_log_to_end(lesson: LessonHarness) -> None:
    discussion = await create_discussion(lesson.database)
    run, event_buffer = await lesson.start_run(discussion)
    await event_buffer.append_events([turn_started(FIRST_TURN)])
    words: list[Event] = [TextDelta(**turn_fields(FIRST_TURN), text="w ") for _ in range(3000)]  # type: ignore[arg-type]
    await event_buffer.append_events(words)
    await lesson.write_actions(event_buffer, FIRST_TURN, draw_text("late", "late"))
    assert element_ids(await lesson.whiteboards.whiteboard_at(ANNA, discussion.id, run.id)) == ["late"]


async def test_whiteboard_at_raises_not_found_for_missing_or_foreign_discussion(
    lesson: LessonHarness,
) -> None:
    discussion, other = await create_discussion(lesson.database), await create_discussion(lesson.database)
    run, _ = await lesson.start_run(discussion)
    assert await lesson.whiteboards.whiteboard_at(ANNA, discussion.id) == replay_actions([])
    for asked in (
        (BERT, discussion.id),
        (ANNA, "dis_none"),
        (ANNA, discussion.id, "run_none"),
        (ANNA, other.id, run.id),
        (BERT, discussion.id, run.id),
    ):
        with pytest.raises(NotFound):
            await lesson.whiteboards.whiteboard_at(*asked)

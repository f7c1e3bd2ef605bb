"""The board of a discussion at any moment, on both databases."""

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
from moot.types.drawing import Open
from moot.types.errors import NotFound
from moot.types.events import Event, RunEnded, TextDelta, TurnKey
from moot.whiteboard.state import Board, replay_actions
from tests.engine.tables import QUESTION
from tests.store.people import ANNA, BERT, discuss, settle
from tests.store.running import WORKER, claim, employ, start
from tests.whiteboard.acting import FIRST, SECOND, at, does, ended, started, text


class Lesson:
    """Runs of a lesson in one discussion, written to a real log."""

    def __init__(self, database: Database) -> None:
        self.database = database
        self.boards = Whiteboards(database)
        events = EventLog(database)
        self.journal = EventWriter(events, EventHub(events), lambda _: None)

    async def run(self, discussion: object) -> tuple[Run, RunEventBuffer]:
        run = await start(self.database, discussion, words="Why?")  # type: ignore[arg-type]
        return run, self.journal.open_run(await claim(self.database, run.id))

    async def take(self, journal: RunEventBuffer, run: Run, seat: TurnKey, *lines: str | Action) -> None:
        """Take a whole turn."""
        await journal.append_events([started(seat)])
        await self.act(journal, seat, *lines)
        end = ended(seat, *lines)
        message = msgspec.structs.replace(
            QUESTION,
            id=f"msg_{run.id}_{seat.participant}",
            discussion=run.discussion,
            run=run.id,
            role="assistant",
            content=end.message.text,
            participant=seat.participant,
            script=end.message.script,
        )
        await journal.commit(end, message, (), ())

    async def act(self, journal: RunEventBuffer, seat: TurnKey, *lines: str | Action) -> None:
        for line in lines:
            if not isinstance(line, str):
                await journal.append_events([does(seat, line)])
        await self.journal.flush_events()


@pytest.fixture
async def lesson(database: Database) -> AsyncIterator[Lesson]:
    await settle(database)
    await employ(database, WORKER)
    lesson = Lesson(database)
    writing = asyncio.create_task(lesson.journal.write_forever())
    yield lesson
    writing.cancel()
    await asyncio.gather(writing, return_exceptions=True)


def ids(board: Board) -> list[str]:
    return [element.id for element in board.elements]


async def test_a_board_is_kept_from_run_to_run_and_can_be_looked_at_as_each_left_it(lesson: Lesson) -> None:
    discussion = await discuss(lesson.database)
    first, journal = await lesson.run(discussion)
    await lesson.take(journal, first, FIRST, Open(), "Look.", text("one", "one"))
    await journal.end_run(RunEnded(status="completed"), 0)
    second, journal = await lesson.run(discussion)
    await lesson.take(journal, second, SECOND, text("two", "two"))
    await journal.end_run(RunEnded(status="completed"), 0)

    now = await lesson.boards.whiteboard_at(ANNA, discussion.id)
    assert (ids(now), now.open) == (["one", "two"], True)
    assert [element.by for element in now.elements] == ["alpha", "beta"]
    assert ids(await lesson.boards.whiteboard_at(ANNA, discussion.id, first.id)) == ["one"]
    assert await lesson.boards.whiteboard_at(ANNA, discussion.id, second.id) == now, (
        "the log and what is kept agree"
    )
    assert ids(await lesson.boards.whiteboard_at(ANNA, discussion.id, second.id, 0)) == ["one"]


async def test_a_board_can_be_looked_at_after_every_event(lesson: Lesson) -> None:
    discussion = await discuss(lesson.database)
    run, journal = await lesson.run(discussion)
    await lesson.take(journal, run, FIRST, Open(), text("one", "one"), text("two", "two"))
    boards = [await lesson.boards.whiteboard_at(ANNA, discussion.id, run.id, seq) for seq in range(6)]
    assert [(board.open, ids(board)) for board in boards] == [
        (False, []),
        (False, []),
        (True, []),
        (True, ["one"]),
        (True, ["one", "two"]),
        (True, ["one", "two"]),
    ]
    assert await lesson.boards.whiteboard_at(ANNA, discussion.id, run.id, 10_000) == boards[-1]


async def test_while_a_turn_goes_on_the_board_shows_what_it_did_until_now(lesson: Lesson) -> None:
    discussion = await discuss(lesson.database)
    run, journal = await lesson.run(discussion)
    await journal.append_events([started(FIRST)])
    await lesson.act(journal, FIRST, text("one", "one"))
    assert ids(await lesson.boards.whiteboard_at(ANNA, discussion.id)) == ["one"]
    await journal.append_events([started(FIRST, 2)])
    await lesson.act(journal, FIRST, text("another", "another"))
    assert ids(await lesson.boards.whiteboard_at(ANNA, discussion.id)) == ["another"]
    assert ids(await lesson.boards.whiteboard_at(ANNA, discussion.id, run.id, 2)) == ["one"], "as it was then"


async def test_a_long_log_is_read_to_its_end(lesson: Lesson) -> None:
    discussion = await discuss(lesson.database)
    run, journal = await lesson.run(discussion)
    await journal.append_events([started(FIRST)])
    words: list[Event] = [TextDelta(**at(FIRST), text="w ") for _ in range(3000)]  # type: ignore[arg-type]
    await journal.append_events(words)
    await lesson.act(journal, FIRST, text("late", "late"))
    assert ids(await lesson.boards.whiteboard_at(ANNA, discussion.id, run.id)) == ["late"]


async def test_what_is_not_there_or_not_yours_is_not_found(lesson: Lesson) -> None:
    discussion, other = await discuss(lesson.database), await discuss(lesson.database)
    run, _ = await lesson.run(discussion)
    assert await lesson.boards.whiteboard_at(ANNA, discussion.id) == replay_actions([])
    for asked in (
        (BERT, discussion.id),
        (ANNA, "dis_none"),
        (ANNA, discussion.id, "run_none"),
        (ANNA, other.id, run.id),
        (BERT, discussion.id, run.id),
    ):
        with pytest.raises(NotFound):
            await lesson.boards.whiteboard_at(*asked)

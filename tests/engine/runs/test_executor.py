import asyncio

import msgspec
import pytest
from sqlalchemy import text, update

from moot.engine.runs.executor import MAX_EXECUTIONS
from moot.store.discussions.discussions import Discussions
from moot.store.discussions.files import Files
from moot.store.runs.runs import Runs
from moot.store.schema import message
from moot.store.schema import run as runs_table
from moot.types.discussions import LIVE_STATUSES
from moot.types.errors import DatabaseUnavailable
from moot.types.events import Notice, RunStarted, TextDelta, TurnEnded
from moot.types.requests import File
from tests.engine.works import Works
from tests.store.people import ANNA
from tests.store.running import answer, claim

pytestmark = pytest.mark.asyncio(loop_scope="module")


async def test_a_turn_that_was_kept_before_a_crash_is_not_asked_again(works: Works) -> None:
    asked = len(works.provider.asked)
    run = await works.new()
    before = await claim(works.database, run.id)
    await works.journal.open_run(before).commit(
        msgspec.json.decode(ENDED, type=TurnEnded), answer(before, "Said before.")
    )
    works.runs.start_run(run.id)
    assert await works.over(run) == "completed"
    assert await works.answers(run) == [("completed", "Said before.")]
    assert len(works.provider.asked) == asked


@pytest.mark.parametrize("crashes", [1, 2])
async def test_a_turn_that_a_crash_cut_off_is_spoken_again(works: Works, crashes: int) -> None:
    run = await works.new()
    for _ in range(crashes):
        await works.cut_off(run, "Half a")
    works.runs.start_run(run.id)
    assert await works.over(run) == "completed"
    assert await works.answers(run) == [("completed", "Why?")]
    events = await works.events(run)
    assert [event.seq for event in events] == list(range(1, len(events) + 1))
    assert [event.kind for event in events if isinstance(event, Notice)] == ["resumed"]
    assert len([event for event in events if isinstance(event, TurnEnded)]) == 1


async def test_where_a_stop_came_before_it_could_go_on_what_was_seen_is_kept(works: Works) -> None:
    asked = len(works.provider.asked)
    run = await works.new()
    await works.cut_off(run, "Half a")
    await Runs(works.database).request_stop(ANNA, run.id)
    works.runs.start_run(run.id)
    assert await works.over(run) == "stopped"
    assert await works.answers(run) == [("stopped", "Half a")]
    assert len(works.provider.asked) == asked


async def test_a_participant_that_is_stopped_then_keeps_it_too(works: Works) -> None:
    run = await works.new()
    await works.cut_off(run, "Half a")
    await Runs(works.database).request_stop(ANNA, run.id, "alpha")
    works.runs.start_run(run.id)
    assert await works.over(run) == "stopped"
    assert await works.answers(run) == [("stopped", "Half a")]


async def test_a_run_that_is_told_of_a_stop_ends_with_what_was_said(works: Works) -> None:
    works.database.subscribe("moot_control", works.runs.on_command)
    run = await works.new("scripted/forever")
    works.runs.start_run(run.id)
    await works.until(run, TextDelta)
    assert await works.stop(run) == "stopped"
    ((status, words),) = await works.answers(run)
    assert status == "stopped"
    assert words.startswith("On and")


async def test_a_run_that_was_taken_up_too_often_is_given_up(works: Works) -> None:
    run = await works.new()
    await works.cut_off(run, "Half a")
    async with works.database.write() as connection:
        this = update(runs_table).where(runs_table.c.id == run.id)
        await connection.execute(this.values(epoch=MAX_EXECUTIONS))
    works.runs.start_run(run.id)
    assert await works.over(run) == "failed"
    assert await works.answers(run) == [("partial", "Half a")]
    assert "gave_up" in [event.kind for event in await works.events(run) if isinstance(event, Notice)]


async def test_a_mistake_of_ours_ends_the_run_with_words(works: Works) -> None:
    works.trouble = [ZeroDivisionError()]
    run = await works.new()
    works.runs.start_run(run.id)
    assert await works.over(run) == "failed"
    (notice,) = [event for event in await works.events(run) if isinstance(event, Notice)]
    assert "mistake in Moot" in notice.message


async def test_a_mistake_of_ours_leaves_no_turn_without_an_end(
    works: Works, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr(works.provider, "call_cost_usd", broken)
    run = await works.new()
    works.runs.start_run(run.id)
    assert await works.over(run) == "failed"
    assert await works.answers(run) == [("partial", "Why?")]


async def test_a_log_that_cannot_be_read_ends_the_run_with_words_too(works: Works) -> None:
    run = await works.new()
    await works.cut_off(run, "Half a")
    async with works.database.write() as connection:
        damaged = text("UPDATE run_event SET body = '{}' WHERE run = :run AND seq = 1")
        await connection.execute(damaged, {"run": run.id})
    works.runs.start_run(run.id)
    while (status := (await Runs(works.database).get_run(ANNA, run.id)).status) in LIVE_STATUSES:
        await asyncio.sleep(0.01)
    assert status == "failed"


async def test_while_the_database_is_away_a_run_waits(works: Works) -> None:
    works.trouble = [DatabaseUnavailable("Not now."), DatabaseUnavailable("Not now.")]
    run = await works.new()
    works.runs.start_run(run.id)
    assert await works.over(run) == "completed"


async def test_a_new_run_waits_for_the_one_that_it_interrupts(works: Works) -> None:
    old, new = await works.two_in_a_row()
    assert await works.events(new) == []
    assert await works.stop(old) == "stopped"
    await works.until(new, RunStarted)
    assert await works.stop(new) == "stopped"


async def test_a_run_that_waits_for_another_hears_that_it_is_to_stop(works: Works) -> None:
    old, new = await works.two_in_a_row()
    assert await works.stop(new) == "stopped"
    assert await works.stop(old) == "stopped"


async def test_participants_are_given_the_files_of_all_that_they_see(works: Works) -> None:
    files = Files(works.database)
    notes = await files.store_file(ANNA, ANNA, "notes.txt", "text/plain", "1", b"Tables have no head.")
    cat = await files.store_file(ANNA, ANNA, "cat.png", "image/png", "2", b"\x89PNG")
    run = await works.new()
    (earlier,) = await Discussions(works.database).list_messages(run.discussion)
    async with works.database.write() as connection:
        named = update(message).where(message.c.id == earlier.id)
        await connection.execute(named.values(files=(notes.id, cat.id)))
    works.runs.start_run(run.id)
    assert await works.over(run) == "completed"
    assert await works.answers(run) == [("completed", "notes.txt:\n```\nTables have no head.\n```\n\nWhy?")]
    (asked,) = works.provider.asked[-1].messages
    assert asked.parts[1] == File("cat.png", "image/png", b"\x89PNG")


ENDED = (
    '{"type":"turn_ended","participant":"alpha","stage":"answer","round":0,"status":"completed",'
    '"message":{"text":"Said before."},"model":"scripted/echo","usage":{"type":"usage"},"cost":0.0}'
)

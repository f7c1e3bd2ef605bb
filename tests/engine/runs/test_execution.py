import asyncio

import msgspec
import pytest
from sqlalchemy import text, update

from moot.engine.runs.execution import MAX_EXECUTIONS
from moot.store.discussions.discussions import Discussions
from moot.store.discussions.files import Files
from moot.store.runs.runs import Runs
from moot.store.schema.discussions import message
from moot.store.schema.runs import run as runs_table
from moot.types.discussions import LIVE_STATUSES
from moot.types.errors import DatabaseUnavailable
from moot.types.events import Notice, RunStarted, TextDelta, TurnEnded
from moot.types.requests import File
from tests.support.accounts import ANNA
from tests.support.run_harness import RunHarness
from tests.support.runs import lease_run, make_answer

pytestmark = pytest.mark.asyncio(loop_scope="module")


async def test_stored_turn_is_not_called_again_after_crash(run_harness: RunHarness) -> None:
    asked = len(run_harness.provider.requests)
    run = await run_harness.create_run()
    before = await lease_run(run_harness.database, run.id)
    await run_harness.event_writer.open_run(before).commit(
        msgspec.json.decode(TURN_ENDED_JSON, type=TurnEnded), make_answer(before, "Said before.")
    )
    run_harness.run_manager.start_run(run.id)
    assert await run_harness.wait_for_end(run) == "completed"
    assert await run_harness.read_answers(run) == [("completed", "Said before.")]
    assert len(run_harness.provider.requests) == asked


@pytest.mark.parametrize("crashes", [1, 2])
async def test_interrupted_turn_is_called_again_after_crash(run_harness: RunHarness, crashes: int) -> None:
    run = await run_harness.create_run()
    for _ in range(crashes):
        await run_harness.interrupt_run(run, "Half a")
    run_harness.run_manager.start_run(run.id)
    assert await run_harness.wait_for_end(run) == "completed"
    assert await run_harness.read_answers(run) == [("completed", "Why?")]
    events = await run_harness.read_events(run)
    assert [event.seq for event in events] == list(range(1, len(events) + 1))
    assert [event.kind for event in events if isinstance(event, Notice)] == ["resumed"]
    assert len([event for event in events if isinstance(event, TurnEnded)]) == 1


async def test_interrupted_turn_is_stored_as_seen_when_run_is_stopped_before_resuming(
    run_harness: RunHarness,
) -> None:
    asked = len(run_harness.provider.requests)
    run = await run_harness.create_run()
    await run_harness.interrupt_run(run, "Half a")
    await Runs(run_harness.database).request_stop(ANNA, run.id)
    run_harness.run_manager.start_run(run.id)
    assert await run_harness.wait_for_end(run) == "stopped"
    assert await run_harness.read_answers(run) == [("stopped", "Half a")]
    assert len(run_harness.provider.requests) == asked


async def test_interrupted_turn_is_stored_as_seen_when_participant_is_stopped(
    run_harness: RunHarness,
) -> None:
    run = await run_harness.create_run()
    await run_harness.interrupt_run(run, "Half a")
    await Runs(run_harness.database).request_stop(ANNA, run.id, "alpha")
    run_harness.run_manager.start_run(run.id)
    assert await run_harness.wait_for_end(run) == "stopped"
    assert await run_harness.read_answers(run) == [("stopped", "Half a")]


async def test_stop_command_ends_run_with_text_so_far(run_harness: RunHarness) -> None:
    run_harness.database.subscribe("moot_control", run_harness.run_manager.on_command)
    run = await run_harness.create_run("scripted/forever")
    run_harness.run_manager.start_run(run.id)
    await run_harness.wait_for_event(run, TextDelta)
    assert await run_harness.stop_run(run) == "stopped"
    ((status, words),) = await run_harness.read_answers(run)
    assert status == "stopped"
    assert words.startswith("On and")


async def test_run_fails_after_max_executions(run_harness: RunHarness) -> None:
    run = await run_harness.create_run()
    await run_harness.interrupt_run(run, "Half a")
    async with run_harness.database.write() as connection:
        this = update(runs_table).where(runs_table.c.id == run.id)
        await connection.execute(this.values(epoch=MAX_EXECUTIONS))
    run_harness.run_manager.start_run(run.id)
    assert await run_harness.wait_for_end(run) == "failed"
    assert await run_harness.read_answers(run) == [("partial", "Half a")]
    assert "gave_up" in [event.kind for event in await run_harness.read_events(run) if isinstance(event, Notice)]


async def test_internal_error_fails_run_with_notice(run_harness: RunHarness) -> None:
    run_harness.pending_errors = [ZeroDivisionError()]
    run = await run_harness.create_run()
    run_harness.run_manager.start_run(run.id)
    assert await run_harness.wait_for_end(run) == "failed"
    (notice,) = [event for event in await run_harness.read_events(run) if isinstance(event, Notice)]
    assert "internal error in Moot" in notice.message


async def test_internal_error_leaves_no_turn_open(run_harness: RunHarness, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr(run_harness.provider, "call_cost_usd", broken)
    run = await run_harness.create_run()
    run_harness.run_manager.start_run(run.id)
    assert await run_harness.wait_for_end(run) == "failed"
    assert await run_harness.read_answers(run) == [("partial", "Why?")]


async def test_unreadable_event_log_fails_run(run_harness: RunHarness) -> None:
    run = await run_harness.create_run()
    await run_harness.interrupt_run(run, "Half a")
    async with run_harness.database.write() as connection:
        damaged = text("UPDATE run_event SET body = '{}' WHERE run = :run AND seq = 1")
        await connection.execute(damaged, {"run": run.id})
    run_harness.run_manager.start_run(run.id)
    while (status := (await Runs(run_harness.database).get_run(ANNA, run.id)).status) in LIVE_STATUSES:
        await asyncio.sleep(0.01)
    assert status == "failed"


async def test_run_waits_while_database_is_unavailable(run_harness: RunHarness) -> None:
    run_harness.pending_errors = [DatabaseUnavailable("Not now."), DatabaseUnavailable("Not now.")]
    run = await run_harness.create_run()
    run_harness.run_manager.start_run(run.id)
    assert await run_harness.wait_for_end(run) == "completed"


async def test_new_run_waits_for_the_run_it_interrupts(run_harness: RunHarness) -> None:
    old, new = await run_harness.start_two_runs()
    assert await run_harness.read_events(new) == []
    assert await run_harness.stop_run(old) == "stopped"
    await run_harness.wait_for_event(new, RunStarted)
    assert await run_harness.stop_run(new) == "stopped"


async def test_run_waiting_for_earlier_run_can_be_stopped(run_harness: RunHarness) -> None:
    old, new = await run_harness.start_two_runs()
    assert await run_harness.stop_run(new) == "stopped"
    assert await run_harness.stop_run(old) == "stopped"


async def test_participants_receive_files_of_visible_messages(run_harness: RunHarness) -> None:
    files = Files(run_harness.database)
    notes = await files.store_file(ANNA, ANNA, "notes.txt", "text/plain", "1", b"Tables have no head.")
    cat = await files.store_file(ANNA, ANNA, "cat.png", "image/png", "2", b"\x89PNG")
    run = await run_harness.create_run()
    (earlier,) = await Discussions(run_harness.database).list_messages(run.discussion)
    async with run_harness.database.write() as connection:
        named = update(message).where(message.c.id == earlier.id)
        await connection.execute(named.values(files=(notes.id, cat.id)))
    run_harness.run_manager.start_run(run.id)
    assert await run_harness.wait_for_end(run) == "completed"
    assert await run_harness.read_answers(run) == [("completed", "notes.txt:\n```\nTables have no head.\n```\n\nWhy?")]
    (asked,) = run_harness.provider.requests[-1].messages
    assert asked.parts[1] == File("cat.png", "image/png", b"\x89PNG")


TURN_ENDED_JSON = (
    '{"type":"turn_ended","participant":"alpha","stage":"answer","round":0,"status":"completed",'
    '"message":{"text":"Said before."},"model":"scripted/echo","usage":{"type":"usage"},"cost_usd":0.0}'
)

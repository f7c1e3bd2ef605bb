import asyncio
import gc
import sqlite3
import warnings
from collections.abc import AsyncIterator, Callable, Coroutine, Sequence
from contextlib import closing

import msgspec
import pytest
import pytest_asyncio
from sqlalchemy import text, update

from moot.engine import books, durable
from moot.engine.durable import MOST_EXECUTIONS, DurableRuns
from moot.engine.feeds import Feeds
from moot.engine.journal import Journal
from moot.model.discussions import LIVE, Message, Run
from moot.model.errors import StoreUnavailable
from moot.model.events import (
    Event,
    Notice,
    RunEnded,
    RunStarted,
    RunStatus,
    TextDelta,
    TurnEnded,
    TurnStarted,
)
from moot.model.participants import Participant
from moot.providers.keys import KeyRing
from moot.providers.registry import Resolved
from moot.providers.scripts import Script
from moot.store.database import Database
from moot.store.discussions import Discussions
from moot.store.events import Events
from moot.store.runs import Claim, Runs
from moot.store.schema import run as runs_table
from moot.store.schema import worker
from tests.databases import KINDS, migrated
from tests.engine.tables import SPEAKER, Recorded
from tests.store.hearing import SECONDS, eventually
from tests.store.people import ANNA, discuss, settle
from tests.store.running import OTHER, WORKER, answer, claim, employ, start

pytestmark = pytest.mark.asyncio(loop_scope="module")

ENDLESS = Script(answer="On and on. ", fault="endless", pace=0.01)


class Works:
    """Durable runs in this process, whose participants follow scripts."""

    def __init__(self, database: Database) -> None:
        self.database = database
        self.provider = Recorded({"forever": ENDLESS})
        self.ended: list[tuple[Claim, Sequence[Message]]] = []
        self.trouble: list[Exception] = []  # comes before the next answers
        events = Events(database)
        self.journal = Journal(events, Feeds(events), lambda _: None)
        self.runs = DurableRuns(database, WORKER, self.journal, SPEAKER, self._chain, self._note)

    async def _chain(self, _tenant: str, who: Participant) -> Sequence[Resolved]:
        if self.trouble:
            raise self.trouble.pop(0)
        name = who.model.removeprefix("scripted/")
        return [Resolved(who.model, self.provider, name, KeyRing(()))]

    async def _note(self, claim: Claim, turns: Sequence[Message]) -> None:
        self.ended.append((claim, turns))

    async def new(self, model: str = "scripted/echo", of: str = WORKER) -> Run:
        """Store a discussion, a question and the run that is to answer it."""
        return await start(self.database, await discuss(self.database, model=model), of=of, words="Why?")

    async def over(self, run: Run) -> RunStatus:
        """Wait for the end of a run, and return how it ended."""
        events = await self.until(run, RunEnded)
        stored = await Runs(self.database).get(ANNA, run.id)
        assert isinstance(events[-1], RunEnded)
        assert stored.status == events[-1].status
        return events[-1].status

    async def until(self, run: Run, kind: type[Event]) -> list[Event]:
        """Wait for an event of some kind, and return all that came."""
        async with asyncio.timeout(SECONDS):
            while not any(isinstance(event, kind) for event in await self.events(run)):
                await asyncio.sleep(0.01)
        return await self.events(run)

    async def events(self, run: Run) -> list[Event]:
        rows = await Events(self.database).read(run.id, 0)
        return [msgspec.json.decode(body, type=Event) for _, body in rows]

    async def answers(self, run: Run) -> list[tuple[str, str]]:
        said = await Discussions(self.database).messages(run.discussion)
        return [(message.status, message.content) for message in said if message.role == "assistant"]

    async def cut_off(self, run: Run, words: str) -> None:
        """Let somebody else have begun a run, and have died while Alpha was speaking."""
        seat = {"participant": "alpha", "stage": "answer", "round": 0}
        journal = self.journal.open(await claim(self.database, run.id))
        begun = TurnStarted(**seat, attempt=1, model="scripted/echo")  # type: ignore[arg-type]
        await journal.append([begun, TextDelta(**seat, text=words)])  # type: ignore[arg-type]
        await self.journal.written()


@pytest_asyncio.fixture(scope="module", loop_scope="module", params=KINDS)
async def works(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[Works]:
    """The same for all tests, because DBOS takes its time to start and to end."""
    async with migrated(request.param, tmp_path_factory.mktemp("works")) as database:
        await settle(database)
        await employ(database, WORKER, OTHER)
        works = Works(database)
        tasks = [asyncio.create_task(loop) for loop in (works.journal.write_for_ever(), works.runs.launch())]
        yield works
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await works.runs.close()
        with warnings.catch_warnings():  # DBOS leaves connections open when it ends
            warnings.simplefilter("ignore", ResourceWarning)
            gc.collect()


async def test_a_run_is_executed_to_its_end_and_told_of(works: Works) -> None:
    run = await works.new()
    works.runs.start(run.id)
    assert await works.over(run) == "completed"
    assert await works.answers(run) == [("completed", "Why?")]
    kinds = [event.__struct_config__.tag for event in await works.events(run)]
    assert kinds == ["run_started", "turn_started", "text_delta", "turn_ended", "run_ended"]
    await eventually(lambda: any(claim.run == run.id for claim, _ in works.ended))
    (turns,) = [turns for claim, turns in works.ended if claim.run == run.id]
    assert [turn.content for turn in turns] == ["Why?"]


async def test_started_twice_it_runs_once(works: Works) -> None:
    before = len(works.provider.asked)
    run = await works.new()
    works.runs.start(run.id)
    works.runs.start(run.id)
    assert await works.over(run) == "completed"
    works.runs.start(run.id)
    await eventually(lambda: not works.runs.live)
    assert len(works.provider.asked) == before + 1


async def test_a_turn_that_was_kept_before_a_crash_is_not_asked_again(works: Works) -> None:
    asked = len(works.provider.asked)
    run = await works.new()
    before = await claim(works.database, run.id)
    await works.journal.open(before).keep(
        msgspec.json.decode(ENDED, type=TurnEnded), answer(before, "Said before.")
    )
    works.runs.start(run.id)
    assert await works.over(run) == "completed"
    assert await works.answers(run) == [("completed", "Said before.")]
    assert len(works.provider.asked) == asked


async def test_a_turn_that_a_crash_cut_off_is_spoken_anew(works: Works) -> None:
    run = await works.new()
    await works.cut_off(run, "Half a")
    works.runs.start(run.id)
    assert await works.over(run) == "completed"
    assert await works.answers(run) == [("completed", "Why?")]
    events = await works.events(run)
    assert [event.seq for event in events] == list(range(1, len(events) + 1))
    assert [event.kind for event in events if isinstance(event, Notice)] == ["resumed"]


async def test_where_a_stop_came_before_it_could_go_on_what_was_seen_is_kept(works: Works) -> None:
    asked = len(works.provider.asked)
    run = await works.new()
    await works.cut_off(run, "Half a")
    await Runs(works.database).wish_stop(ANNA, run.id)
    works.runs.start(run.id)
    assert await works.over(run) == "stopped"
    assert await works.answers(run) == [("stopped", "Half a")]
    assert len(works.provider.asked) == asked


async def test_a_participant_that_is_stopped_then_keeps_it_too(works: Works) -> None:
    run = await works.new()
    await works.cut_off(run, "Half a")
    await Runs(works.database).wish_stop(ANNA, run.id, "alpha")
    works.runs.start(run.id)
    assert await works.over(run) == "stopped"
    assert await works.answers(run) == [("stopped", "Half a")]


async def test_a_run_that_is_told_of_a_stop_ends_with_what_was_said(works: Works) -> None:
    works.database.listen("moot_control", works.runs.told)
    run = await works.new("scripted/forever")
    works.runs.start(run.id)
    await works.until(run, TextDelta)
    await Runs(works.database).wish_stop(ANNA, run.id)
    works.runs.told(run.id)  # on Postgres nobody listens here
    assert await works.over(run) == "stopped"
    ((status, words),) = await works.answers(run)
    assert status == "stopped"
    assert words.startswith("On and on.")


async def test_a_run_that_was_taken_up_too_often_is_given_up(works: Works) -> None:
    run = await works.new()
    await works.cut_off(run, "Half a")
    async with works.database.write() as connection:
        this = update(runs_table).where(runs_table.c.id == run.id)
        await connection.execute(this.values(epoch=MOST_EXECUTIONS))
    works.runs.start(run.id)
    assert await works.over(run) == "failed"
    assert await works.answers(run) == [("partial", "Half a")]
    assert "gave_up" in [event.kind for event in await works.events(run) if isinstance(event, Notice)]


async def test_a_mistake_of_ours_ends_the_run_with_words(works: Works) -> None:
    works.trouble = [ZeroDivisionError()]
    run = await works.new()
    works.runs.start(run.id)
    assert await works.over(run) == "failed"
    (notice,) = [event for event in await works.events(run) if isinstance(event, Notice)]
    assert "mistake in Moot" in notice.message


async def test_a_log_that_cannot_be_read_ends_the_run_with_words_too(works: Works) -> None:
    run = await works.new()
    await works.cut_off(run, "Half a")
    async with works.database.write() as connection:
        damaged = text("UPDATE run_event SET body = '{}' WHERE run = :run AND seq = 1")
        await connection.execute(damaged, {"run": run.id})
    works.runs.start(run.id)
    while (status := (await Runs(works.database).get(ANNA, run.id)).status) in LIVE:
        await asyncio.sleep(0.01)
    assert status == "failed"


async def test_while_the_database_is_away_a_run_waits(works: Works) -> None:
    works.trouble = [StoreUnavailable("Not now."), StoreUnavailable("Not now.")]
    run = await works.new()
    works.runs.start(run.id)
    assert await works.over(run) == "completed"


async def test_a_new_run_waits_for_the_one_that_it_interrupts(works: Works) -> None:
    old = await works.new("scripted/forever")
    works.runs.start(old.id)
    await works.until(old, RunStarted)
    discussion = await Discussions(works.database).get(ANNA, old.discussion)
    new = await start(works.database, discussion, words="And?")
    works.runs.start(new.id)
    await eventually(lambda: len(works.runs.live) == 2)
    assert await works.events(new) == []
    await Runs(works.database).wish_stop(ANNA, old.id)
    works.runs.told(old.id)
    assert await works.over(old) == "stopped"
    await works.until(new, RunStarted)
    await Runs(works.database).wish_stop(ANNA, new.id)
    works.runs.told(new.id)
    assert await works.over(new) == "stopped"


async def on_books(database: Database, statement: str) -> None:
    """Do something to the books of DBOS behind its back."""
    if database.is_postgres:
        async with database.write() as connection:
            await connection.execute(text("SET LOCAL search_path TO dbos"))
            await connection.execute(text(statement))
        return
    with closing(sqlite3.connect(books.file(database), timeout=30)) as file, file:
        file.execute(statement)


async def test_a_step_that_cannot_be_noted_is_done_all_the_same(works: Works) -> None:
    run = await works.new()
    await on_books(works.database, "ALTER TABLE operation_outputs RENAME TO elsewhere")
    try:
        works.runs.start(run.id)
        assert await works.over(run) == "completed"
    finally:
        await on_books(works.database, "ALTER TABLE elsewhere RENAME TO operation_outputs")
    assert await works.answers(run) == [("completed", "Why?")]


async def test_a_run_begins_as_soon_as_it_can_be_noted(works: Works, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(durable, "AGAIN_SECONDS", 0.02)
    await eventually(lambda: not works.runs.live)
    run = await works.new()
    await on_books(works.database, "ALTER TABLE workflow_status RENAME TO elsewhere")
    try:
        works.runs.start(run.id)
        await asyncio.sleep(0.1)
        assert await works.events(run) == []
    finally:
        await on_books(works.database, "ALTER TABLE elsewhere RENAME TO workflow_status")
    assert await works.over(run) == "completed"


async def test_what_a_dead_worker_had_not_begun_is_begun(works: Works) -> None:
    run = await works.new(of=OTHER)
    await works.runs.take_over(OTHER)
    assert await works.over(run) == "completed"


async def test_what_nobody_has_is_adopted(works: Works) -> None:
    """A worker that was taken over takes a run up once more, and dies when all have forgotten it."""
    only_postgres(works)
    run = await works.new()
    works.runs.start(run.id)
    await works.over(run)
    await eventually(lambda: not works.runs.live)
    async with works.database.write() as connection:
        this = {"run": run.id}
        await connection.execute(text("UPDATE run SET status = 'running' WHERE id = :run"), this)
        await connection.execute(text("DELETE FROM run_event WHERE run = :run"), this)
        await connection.execute(text("DELETE FROM message WHERE run = :run AND role = 'assistant'"), this)
        await connection.execute(text("DELETE FROM dbos.operation_outputs WHERE workflow_uuid = :run"), this)
        await connection.execute(text(GONE), this)
    adopting = asyncio.create_task(works.runs.adopt_for_ever(0.05))
    assert await works.over(run) == "completed"
    adopting.cancel()


async def test_a_worker_that_was_taken_over_does_not_say_that_its_run_is_over(
    works: Works, monkeypatch: pytest.MonkeyPatch
) -> None:
    only_postgres(works)
    run = await works.new()
    async with works.database.write() as connection:
        await connection.execute(update(worker).where(worker.c.id == WORKER).values(reaper=OTHER))
    claims = spied(monkeypatch, Runs, "claim")
    works.runs.start(run.id)
    await eventually(lambda: bool(claims))
    await asyncio.sleep(0.2)
    noted = text("SELECT status FROM dbos.workflow_status WHERE workflow_uuid = :run")
    async with works.database.read() as connection:
        assert (await connection.execute(noted, {"run": run.id})).scalar_one() == "PENDING"


def only_postgres(works: Works) -> None:
    if not works.database.is_postgres:
        pytest.skip("a file has one worker")


def spied(monkeypatch: pytest.MonkeyPatch, owner: type, name: str) -> list[object]:
    """Note the calls of a method."""
    calls: list[object] = []
    method: Callable[..., Coroutine[None, None, object]] = getattr(owner, name)

    async def spy(*arguments: object) -> object:
        calls.append(arguments)
        return await method(*arguments)

    monkeypatch.setattr(owner, name, spy)
    return calls


GONE = "UPDATE dbos.workflow_status SET status = 'PENDING', executor_id = 'gone' WHERE workflow_uuid = :run"
ENDED = (
    '{"type":"turn_ended","participant":"alpha","stage":"answer","round":0,"status":"completed",'
    '"message":{"text":"Said before."},"model":"scripted/echo","usage":{"type":"usage"},"cost":0.0}'
)

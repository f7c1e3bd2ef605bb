import asyncio
from collections.abc import Callable, Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import select

from moot.providers.keys import KeyRing
from moot.providers.registry import ResolvedModel
from moot.providers.scripted.scripts import Script
from moot.services import titles as module
from moot.services.model_tasks import ModelTasks
from moot.services.titles import MAX_TITLE_CHARS, TitleGenerator, clean_title
from moot.store.database import Database
from moot.store.discussions.discussions import Discussions
from moot.store.rate_limits import RateLimiter
from moot.store.schema.billing import charge
from moot.streaming import cancellation
from moot.types.billing import Payer
from moot.types.chunks import Usage
from moot.types.discussions import Discussion
from moot.types.errors import MissingKey
from tests.support.accounts import ANNA, create_accounts, create_discussion
from tests.support.stores import make_stores
from tests.support.table_harness import MODEL_CALLER, RecordingProvider
from tests.support.waiting import collect_notifications, wait_until

FIRST_LINE = "Why are tables round?"


class TitleHarness:
    """A scripted task model and the titles it generated."""

    def __init__(self, database: Database) -> None:
        self.database = database
        self.discussions = Discussions(database)
        self.provider = RecordingProvider(
            {
                "task-model": Script(answer='**"Round tables."**'),
                "mute": Script(answer="\n"),
                "slow": Script(answer="On and on", fault="endless", chunk_interval_seconds=0.01),
            }
        )
        self.resolve_error: Exception | None = None
        self.title_generator = self.make_title_generator(None)

    def make_title_generator(self, budget: float | None) -> TitleGenerator:
        model_tasks = ModelTasks(make_stores(self.database, budget), MODEL_CALLER)
        return TitleGenerator(self.database, self._resolve_model, model_tasks, RateLimiter(self.database))

    async def _resolve_model(self, _tenant: str, model: str) -> Sequence[ResolvedModel]:
        if self.resolve_error is not None:
            raise self.resolve_error
        return [ResolvedModel(model, self.provider, model.removeprefix("scripted/"), KeyRing(()))]

    async def create_untitled_discussion(self, task_model: str | None = "scripted/task-model") -> Discussion:
        new = await create_discussion(self.database, title=FIRST_LINE)
        if task_model is not None:
            new = await self.discussions.update_discussion(ANNA, new.id, {"task_model": task_model})
        return new

    def request_title(self, discussion: Discussion) -> None:
        payer = Payer(tenant=ANNA, account=ANNA, discussion=discussion.id, run="run_1")
        self.title_generator.request_title(payer, discussion, "Why are tables round? And who sits where?")

    async def wait_until_idle(self) -> None:
        await wait_until(lambda: not self.title_generator._tasks)

    async def current_title(self, discussion: Discussion) -> str:
        return (await self.discussions.get_discussion(ANNA, discussion.id)).title

    async def create_and_wait_for_title(self, task_model: str | None = "scripted/task-model") -> str:
        """Create a discussion, wait for the task model, and return the title."""
        new = await self.create_untitled_discussion(task_model)
        self.request_title(new)
        await self.wait_until_idle()
        return await self.current_title(new)

    async def list_charges(self) -> list[tuple[str, str, str, Usage]]:
        async with self.database.read() as connection:
            rows = await connection.execute(select(charge))
            return [(row.purpose, row.model, row.account, row.usage) for row in rows]


@pytest.fixture
async def harness(database: Database) -> TitleHarness:
    await create_accounts(database)
    return TitleHarness(database)


async def test_task_model_generates_title_that_is_notified_and_charged(harness: TitleHarness) -> None:
    new = await harness.create_untitled_discussion()
    async with collect_notifications(harness.database, "moot_changes") as notifications:
        harness.request_title(new)
        await wait_until(lambda: notifications == [f"{ANNA} {new.id}"])
    await harness.wait_until_idle()
    found = await harness.discussions.get_discussion(ANNA, new.id)
    assert found.title == "Round tables"
    assert found.updated_at == new.updated_at, "no new message, so the order of the list stays"
    ((purpose, model, account, usage),) = await harness.list_charges()
    assert (purpose, model, account) == ("title", "scripted/task-model", ANNA)
    assert usage.output > 0
    (asked,) = harness.provider.requests
    assert "three to seven words" in asked.system
    assert str(asked.messages).count("And who sits where?") == 1


async def test_without_task_model_no_title_is_requested(harness: TitleHarness) -> None:
    assert await harness.create_and_wait_for_title(None) == FIRST_LINE
    assert harness.provider.requests == []


async def test_title_changed_meanwhile_is_not_replaced(harness: TitleHarness) -> None:
    new = await harness.create_untitled_discussion()
    await harness.discussions.update_discussion(ANNA, new.id, {"title": "Mine"})
    harness.request_title(new)
    await harness.wait_until_idle()
    assert await harness.current_title(new) == "Mine"
    assert len(await harness.list_charges()) == 1


async def test_title_of_deleted_discussion_is_charged(harness: TitleHarness) -> None:
    new = await harness.create_untitled_discussion()
    await harness.discussions.delete_discussion(ANNA, new.id)
    harness.request_title(new)
    await harness.wait_until_idle()
    assert len(await harness.list_charges()) == 1


@pytest.mark.parametrize(
    ("task_model", "paid"), [("scripted/unauthorized", 0), ("scripted/no_finish", 1), ("scripted/mute", 1)]
)
async def test_failed_title_task_keeps_first_line_and_is_charged(
    harness: TitleHarness, caplog: pytest.LogCaptureFixture, task_model: str, paid: int
) -> None:
    assert await harness.create_and_wait_for_title(task_model) == FIRST_LINE
    assert len(await harness.list_charges()) == paid
    (record,) = [one for one in caplog.records if one.name == module.__name__]
    assert record.message == "title not generated"
    assert record.reason  # type: ignore[attr-defined]


async def test_unavailable_task_model_is_logged(harness: TitleHarness, caplog: pytest.LogCaptureFixture) -> None:
    harness.resolve_error = MissingKey("No key for openai.")
    assert await harness.create_and_wait_for_title() == FIRST_LINE
    assert [record.reason for record in caplog.records] == ["No key for openai."]  # type: ignore[attr-defined]


async def test_internal_error_is_logged_as_error(harness: TitleHarness, caplog: pytest.LogCaptureFixture) -> None:
    harness.resolve_error = ZeroDivisionError()
    assert await harness.create_and_wait_for_title() == FIRST_LINE
    assert [record.levelname for record in caplog.records] == ["ERROR"]


class FakeTimerLoop:
    """Replaces `asyncio` and its loop for titles. Timers fire when the test says so."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.timers: list[tuple[float, Callable[[], object]]] = []
        monkeypatch.setattr(module, "asyncio", self)

    def __getattr__(self, name: str) -> Any:
        return getattr(asyncio, name)

    def get_running_loop(self) -> "FakeTimerLoop":
        return self

    def call_later(self, seconds: float, callback: Callable[[], object]) -> asyncio.TimerHandle:
        self.timers.append((seconds, callback))
        return asyncio.get_running_loop().call_later(600, lambda: None)


async def test_slow_title_task_is_stopped_and_charged(harness: TitleHarness, monkeypatch: pytest.MonkeyPatch) -> None:
    timer_loop = FakeTimerLoop(monkeypatch)
    new = await harness.create_untitled_discussion("scripted/slow")
    harness.request_title(new)
    await wait_until(lambda: bool(harness.provider.requests))
    ((seconds, stop_it),) = timer_loop.timers
    assert seconds == module.TITLE_TIMEOUT_SECONDS
    stop_it()
    await harness.wait_until_idle()
    assert await harness.current_title(new) == FIRST_LINE
    assert harness.provider.closed_streams == 1
    assert len(await harness.list_charges()) == 1


async def test_close_stops_and_charges_running_title_task(
    harness: TitleHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cancellation, "CLOSE_TIMEOUT_SECONDS", 60.0)
    new = await harness.create_untitled_discussion("scripted/slow")
    harness.request_title(new)
    await wait_until(lambda: bool(harness.provider.requests))
    await harness.title_generator.close()
    assert (harness.provider.closed_streams, harness.title_generator._tasks) == (1, {})
    assert await harness.current_title(new) == FIRST_LINE
    assert len(await harness.list_charges()) == 1
    await harness.title_generator.close()


async def test_title_requests_over_the_maximum_keep_first_line(
    harness: TitleHarness, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(module, "MAX_WAITING", 2)
    new = [await harness.create_untitled_discussion() for _ in range(3)]
    for one in new:
        harness.request_title(one)
    await harness.wait_until_idle()
    assert [await harness.current_title(one) for one in new] == ["Round tables", "Round tables", FIRST_LINE]
    assert [record.discussion for record in caplog.records] == [new[2].id]  # type: ignore[attr-defined]


async def test_spent_budget_keeps_first_line(harness: TitleHarness) -> None:
    harness.title_generator = harness.make_title_generator(0.0)
    assert await harness.create_and_wait_for_title() == FIRST_LINE
    assert harness.provider.requests == []


async def test_titles_are_rate_limited_per_account(harness: TitleHarness, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "TITLES_PER_MINUTE", 2)
    assert [await harness.create_and_wait_for_title() for _ in range(3)] == [
        "Round tables",
        "Round tables",
        FIRST_LINE,
    ]
    assert len(harness.provider.requests) == 2


@pytest.mark.parametrize(
    ("answer", "title"),
    [
        ("Round tables", "Round tables"),
        ('  "Round tables."  ', "Round tables"),
        ("**Title:** *Round* `tables`", "Round tables"),
        ("# Title: \u201eRunde Tische\u201c", "Runde Tische"),
        ("\n\nRound tables\n\nThey have no head.", "Round tables"),
        ("Title:\nRound tables", "Round tables"),
        ("'Don't sit there'", "Don't sit there"),
        ("\u00abTables rondes\u00bb", "Tables rondes"),
        ("\u300c\u5186\u5353\u300d", "\u5186\u5353"),
        ("It's C#", "It's C#"),
        (".NET and tables", ".NET and tables"),
        ("Round\0\ttables\u202e", "Round tables"),
        ("w" * 100, "w" * (MAX_TITLE_CHARS - 1) + "…"),
        ('""', ""),
        ("# ", ""),
        ("", ""),
    ],
)
def test_answer_is_cleaned_into_a_title(answer: str, title: str) -> None:
    assert clean_title(answer) == title


@given(st.text())
def test_cleaned_title_is_one_short_printable_line(answer: str) -> None:
    title = clean_title(answer)
    assert len(title) <= MAX_TITLE_CHARS
    assert title == title.strip()
    assert title.isprintable()
    assert '"' not in title

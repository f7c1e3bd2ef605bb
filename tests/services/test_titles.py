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
from moot.store.billing.budgets import Budgets
from moot.store.database import Database
from moot.store.discussions.discussions import Discussions
from moot.store.rate_limits import RateLimiter
from moot.store.schema import charge
from moot.streaming import cancellation
from moot.types.billing import Payer
from moot.types.chunks import Usage
from moot.types.discussions import Discussion
from moot.types.errors import MissingKey
from tests.engine.tables import SPEAKER, Recorded
from tests.store.hearing import eventually, hearing
from tests.store.people import ANNA, discuss, settle

FIRST = "Why are tables round?"


class Desk:
    """Where a clerk sits that follows scripts, and what came of its work."""

    def __init__(self, database: Database) -> None:
        self.database = database
        self.discussions = Discussions(database)
        self.provider = Recorded(
            {
                "clerk": Script(answer='**"Round tables."**'),
                "mute": Script(answer="\n"),
                "slow": Script(answer="On and on", fault="endless", pace=0.01),
            }
        )
        self.refusal: Exception | None = None
        self.titles = self.titles_within(None)

    def titles_within(self, budget: float | None) -> TitleGenerator:
        errands = ModelTasks(self.database, SPEAKER, Budgets(self.database, budget))
        return TitleGenerator(self.database, self._chain, errands, RateLimiter(self.database))

    async def _chain(self, _tenant: str, model: str) -> Sequence[ResolvedModel]:
        if self.refusal is not None:
            raise self.refusal
        return [ResolvedModel(model, self.provider, model.removeprefix("scripted/"), KeyRing(()))]

    async def opened(self, clerk: str | None = "scripted/clerk") -> Discussion:
        new = await discuss(self.database, title=FIRST)
        if clerk is not None:
            new = await self.discussions.update_discussion(ANNA, new.id, {"clerk": clerk})
        return new

    def want(self, new: Discussion) -> None:
        payer = Payer(tenant=ANNA, account=ANNA, discussion=new.id, run="run_1")
        self.titles.request_title(payer, new, "Why are tables round? And who sits where?")

    async def done(self) -> None:
        await eventually(lambda: not self.titles._tasks)

    async def title(self, new: Discussion) -> str:
        return (await self.discussions.get_discussion(ANNA, new.id)).title

    async def titled(self, clerk: str | None = "scripted/clerk") -> str:
        """Open a discussion, wait for the clerk, and return the title that it has then."""
        new = await self.opened(clerk)
        self.want(new)
        await self.done()
        return await self.title(new)

    async def charges(self) -> list[tuple[str, str, str, Usage]]:
        async with self.database.read() as connection:
            rows = await connection.execute(select(charge))
            return [(row.purpose, row.model, row.account, row.usage) for row in rows]


@pytest.fixture
async def desk(database: Database) -> Desk:
    await settle(database)
    return Desk(database)


async def test_a_clerk_finds_a_title_which_is_told_and_paid_for(desk: Desk) -> None:
    new = await desk.opened()
    async with hearing(desk.database, "moot_changes") as heard:
        desk.want(new)
        await eventually(lambda: heard == [f"{ANNA} {new.id}"])
    await desk.done()
    found = await desk.discussions.get_discussion(ANNA, new.id)
    assert found.title == "Round tables"
    assert found.updated_at == new.updated_at, "nobody spoke, so the order of the list stays"
    ((purpose, model, account, usage),) = await desk.charges()
    assert (purpose, model, account) == ("title", "scripted/clerk", ANNA)
    assert usage.output > 0
    (asked,) = desk.provider.asked
    assert "three to seven words" in asked.system
    assert str(asked.messages).count("And who sits where?") == 1


async def test_without_a_clerk_nobody_is_asked(desk: Desk) -> None:
    assert await desk.titled(None) == FIRST
    assert desk.provider.asked == []


async def test_a_title_that_somebody_gave_meanwhile_stays(desk: Desk) -> None:
    new = await desk.opened()
    await desk.discussions.update_discussion(ANNA, new.id, {"title": "Mine"})
    desk.want(new)
    await desk.done()
    assert await desk.title(new) == "Mine"
    assert len(await desk.charges()) == 1


async def test_a_discussion_that_is_gone_is_paid_for(desk: Desk) -> None:
    new = await desk.opened()
    await desk.discussions.delete_discussion(ANNA, new.id)
    desk.want(new)
    await desk.done()
    assert len(await desk.charges()) == 1


@pytest.mark.parametrize(
    ("clerk", "paid"), [("scripted/unauthorized", 0), ("scripted/no_finish", 1), ("scripted/mute", 1)]
)
async def test_whatever_fails_the_first_words_stay_and_what_it_cost_is_kept(
    desk: Desk, caplog: pytest.LogCaptureFixture, clerk: str, paid: int
) -> None:
    assert await desk.titled(clerk) == FIRST
    assert len(await desk.charges()) == paid
    (record,) = [one for one in caplog.records if one.name == module.__name__]
    assert record.message == "the first words stay the title"
    assert record.reason  # type: ignore[attr-defined]


async def test_a_clerk_that_cannot_be_asked_is_told_of_in_the_log(
    desk: Desk, caplog: pytest.LogCaptureFixture
) -> None:
    desk.refusal = MissingKey("No key for openai.")
    assert await desk.titled() == FIRST
    assert [record.reason for record in caplog.records] == ["No key for openai."]  # type: ignore[attr-defined]


async def test_a_mistake_of_ours_is_logged_as_one(desk: Desk, caplog: pytest.LogCaptureFixture) -> None:
    desk.refusal = ZeroDivisionError()
    assert await desk.titled() == FIRST
    assert [record.levelname for record in caplog.records] == ["ERROR"]


class Hourglass:
    """`asyncio` and its loop for titles: what is to be done later is done when a test says so."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.later: list[tuple[float, Callable[[], object]]] = []
        monkeypatch.setattr(module, "asyncio", self)

    def __getattr__(self, name: str) -> Any:
        return getattr(asyncio, name)

    def get_running_loop(self) -> "Hourglass":
        return self

    def call_later(self, seconds: float, callback: Callable[[], object]) -> asyncio.TimerHandle:
        self.later.append((seconds, callback))
        return asyncio.get_running_loop().call_later(600, lambda: None)


async def test_a_clerk_that_takes_too_long_is_stopped_and_paid(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    hourglass = Hourglass(monkeypatch)
    new = await desk.opened("scripted/slow")
    desk.want(new)
    await eventually(lambda: bool(desk.provider.asked))
    ((seconds, stop_it),) = hourglass.later
    assert seconds == module.TITLE_TIMEOUT_SECONDS
    stop_it()
    await desk.done()
    assert await desk.title(new) == FIRST
    assert desk.provider.closed == 1
    assert len(await desk.charges()) == 1


async def test_at_the_end_a_clerk_that_speaks_is_stopped_and_paid(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cancellation, "CLOSE_TIMEOUT_SECONDS", 60.0)
    new = await desk.opened("scripted/slow")
    desk.want(new)
    await eventually(lambda: bool(desk.provider.asked))
    await desk.titles.close()
    assert (desk.provider.closed, desk.titles._tasks) == (1, {})
    assert await desk.title(new) == FIRST
    assert len(await desk.charges()) == 1
    await desk.titles.close()


async def test_only_so_many_wait_and_the_others_keep_their_first_words(
    desk: Desk, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(module, "MAX_WAITING", 2)
    new = [await desk.opened() for _ in range(3)]
    for one in new:
        desk.want(one)
    await desk.done()
    assert [await desk.title(one) for one in new] == ["Round tables", "Round tables", FIRST]
    assert [record.discussion for record in caplog.records] == [new[2].id]  # type: ignore[attr-defined]


async def test_who_has_spent_a_budget_keeps_the_first_words(desk: Desk) -> None:
    desk.titles = desk.titles_within(0.0)
    assert await desk.titled() == FIRST
    assert desk.provider.asked == []


async def test_an_account_has_so_many_titles_a_minute(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "TITLES_PER_MINUTE", 2)
    assert [await desk.titled() for _ in range(3)] == ["Round tables", "Round tables", FIRST]
    assert len(desk.provider.asked) == 2


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
def test_an_answer_becomes_a_title(answer: str, title: str) -> None:
    assert clean_title(answer) == title


@given(st.text())
def test_a_title_is_one_short_line_that_can_be_seen(answer: str) -> None:
    title = clean_title(answer)
    assert len(title) <= MAX_TITLE_CHARS
    assert title == title.strip()
    assert title.isprintable()
    assert '"' not in title

"""Model tasks outside of runs are charged: also when they fail, when their caller leaves, and under load."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from msgspec import Struct

from moot.engine.turns.model_caller import ModelCaller
from moot.engine.turns.structured_output import StructuredResult
from moot.providers.keys import KeyRing
from moot.providers.provider import ChunkStream
from moot.providers.registry import ResolvedModel
from moot.providers.scripted.provider import ScriptedProvider
from moot.providers.scripted.scripts import Script, Scripts
from moot.services.model_tasks import ModelTasks
from moot.store.billing.usage import UsageReports
from moot.store.database import Database
from moot.streaming.cancellation import StopSignal
from moot.streaming.turn_stream import Emit
from moot.types.billing import Payer, SpendingItem
from moot.types.errors import OverBudget
from moot.types.events import Event, TextDelta, TurnEnded
from moot.types.requests import ModelRequest, user_message
from tests.support.accounts import ANNA, database_with_accounts
from tests.support.databases import SLOW_ON_POSTGRES
from tests.support.stores import make_stores

PAYER = Payer(tenant=ANNA, account=ANNA, discussion="dis_1")
REQUEST = ModelRequest(model="", messages=(user_message("How many legs has a table?"),))
DOLLAR_PER_TOKEN = 1_000_000.0  # a dollar a token


class LegCount(Struct):
    legs: int


class CountingModel(ScriptedProvider):
    """One model that counts its calls."""

    def __init__(self, **script: object) -> None:
        super().__init__(Scripts({"m": Script(**script)}))  # type: ignore[arg-type]
        self.calls = 0

    async def stream_chunks(self, request: ModelRequest, key: str | None = None) -> ChunkStream:
        self.calls += 1
        async for chunks in super().stream_chunks(request, key):
            yield chunks


@pytest.fixture(params=SLOW_ON_POSTGRES)
async def database(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Database]:
    async with database_with_accounts(request.param, tmp_path) as database:
        yield database


class ModelTaskHarness:
    """Model tasks of Anna, and her charges."""

    def __init__(self, database: Database, model: CountingModel, budget: float | None = None) -> None:
        self._usage_reports = UsageReports(database)
        self._model = model
        self.model_tasks = ModelTasks(make_stores(database, budget), ModelCaller(backoff_seconds=0.001))

    async def run_structured_task(self) -> StructuredResult[LegCount]:
        chain = [ResolvedModel("scripted/m", self._model, "m", KeyRing(()))]
        async with self.model_tasks.within_budget(ANNA):
            return await self.model_tasks.run_structured_task(PAYER, "title", chain, REQUEST, LegCount)

    async def stream_text_task(self, emit: Emit) -> TurnEnded:
        chain = [ResolvedModel("scripted/m", self._model, "m", KeyRing(()))]
        return await self.model_tasks.stream_text_task(PAYER, "title", chain, REQUEST, emit)

    async def run_text_task(self, stop: StopSignal | None = None, payer: Payer = PAYER) -> TurnEnded:
        chain = [ResolvedModel("scripted/m", self._model, "m", KeyRing(()))]
        return await self.model_tasks.run_text_task(payer, "title", chain, REQUEST, stop or StopSignal())

    async def title_spending(self) -> SpendingItem:
        (row,) = (await self._usage_reports.account_usage(ANNA, 0, 2**40, "purpose")).rows
        assert row.key == "title"
        return row


async def test_structured_task_is_charged_to_payer(database: Database) -> None:
    harness = ModelTaskHarness(database, CountingModel(answer='{"legs": 4}', usd_per_million_tokens=DOLLAR_PER_TOKEN))
    answer = await harness.run_structured_task()
    spending = await harness.title_spending()
    assert answer.unwrap().legs == 4
    assert (spending.calls, spending.cost_usd, spending.output) == (1, answer.cost_usd, answer.usage.output)


@pytest.mark.parametrize("script", [{"answer": "Many."}, {"fault": "reset", "chunk_chars": 2}])
async def test_unusable_answer_is_charged(database: Database, script: dict[str, object]) -> None:
    harness = ModelTaskHarness(database, CountingModel(usd_per_million_tokens=DOLLAR_PER_TOKEN, **script))
    answer = await harness.run_structured_task()
    assert answer.value is None
    assert (await harness.title_spending()).cost_usd == answer.cost_usd
    assert answer.cost_usd


async def test_cancelled_task_is_charged_for_generated_text(database: Database) -> None:
    model = CountingModel(
        answer='{"legs": 4}' + " " * 1000, chunk_interval_seconds=0.05, usd_per_million_tokens=DOLLAR_PER_TOKEN
    )
    harness = ModelTaskHarness(database, model)
    asking = asyncio.create_task(harness.run_structured_task())
    async with asyncio.timeout(60):
        while not model.calls:
            await asyncio.sleep(0.01)
    asking.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asking
    assert (await harness.title_spending()).cost_usd > 0


async def test_concurrent_tasks_check_budget_one_after_the_other(database: Database) -> None:
    model = CountingModel(answer='{"legs": 4}', chunk_interval_seconds=0.01, usd_per_million_tokens=DOLLAR_PER_TOKEN)
    harness = ModelTaskHarness(database, model, budget=1.0)
    tried = await asyncio.gather(*(harness.run_structured_task() for _ in range(10)), return_exceptions=True)
    assert sum(isinstance(one, OverBudget) for one in tried) == 9
    assert model.calls == 1


async def test_error_before_the_call_releases_account_lock(database: Database) -> None:
    harness = ModelTaskHarness(
        database, CountingModel(answer='{"legs": 4}', usd_per_million_tokens=DOLLAR_PER_TOKEN), budget=1.0
    )
    with pytest.raises(ZeroDivisionError):
        async with harness.model_tasks.within_budget(ANNA):
            raise ZeroDivisionError
    assert (await harness.run_structured_task()).unwrap().legs == 4


@pytest.mark.parametrize("script", [{"answer": "Four."}, {"answer": "Four.", "fault": "reset", "chunk_chars": 2}])
async def test_text_task_is_charged_even_when_it_fails(database: Database, script: dict[str, object]) -> None:
    harness = ModelTaskHarness(database, CountingModel(usd_per_million_tokens=DOLLAR_PER_TOKEN, **script))
    ended = await harness.run_text_task()
    spending = await harness.title_spending()
    assert (spending.calls, spending.cost_usd, spending.output) == (1, ended.cost_usd, ended.usage.output)
    assert ended.cost_usd


async def test_stopped_text_task_is_charged(database: Database) -> None:
    model, stop = (
        CountingModel(
            answer="On and on", fault="endless", chunk_interval_seconds=0.01, usd_per_million_tokens=DOLLAR_PER_TOKEN
        ),
        StopSignal(),
    )
    harness = ModelTaskHarness(database, model)
    saying = asyncio.create_task(harness.run_text_task(stop))
    async with asyncio.timeout(60):
        while not model.calls:
            await asyncio.sleep(0.01)
    stop.request_stop()
    assert (await saying).status == "stopped"
    assert (await harness.title_spending()).cost_usd > 0


async def test_spent_budget_rejects_text_task(database: Database) -> None:
    model = CountingModel(answer="Four.", usd_per_million_tokens=DOLLAR_PER_TOKEN)
    harness = ModelTaskHarness(database, model, budget=1.0)
    await harness.run_text_task()
    with pytest.raises(OverBudget):
        await harness.run_text_task()
    assert model.calls == 1
    without_account = Payer(tenant=ANNA, account=None)
    assert (await harness.run_text_task(payer=without_account)).status == "completed", "only an account has a budget"


async def test_streamed_text_task_is_charged_when_cancelled(database: Database) -> None:
    harness = ModelTaskHarness(
        database,
        CountingModel(
            answer="On and on", fault="endless", chunk_interval_seconds=0.01, usd_per_million_tokens=DOLLAR_PER_TOKEN
        ),
    )
    speaking = asyncio.Event()

    async def hear(events: list[Event]) -> None:
        if any(isinstance(event, TextDelta) for event in events):
            speaking.set()

    answering = asyncio.create_task(harness.stream_text_task(hear))
    async with asyncio.timeout(60):
        await speaking.wait()
    answering.cancel()
    with pytest.raises(asyncio.CancelledError):
        await answering
    assert (await harness.title_spending()).cost_usd > 0


async def test_answer_rejected_by_check_is_requested_again_and_charged_once(database: Database) -> None:
    model = CountingModel(answer='{"legs": 4}', usd_per_million_tokens=DOLLAR_PER_TOKEN)
    harness = ModelTaskHarness(database, model)
    chain = [ResolvedModel("scripted/m", model, "m", KeyRing(()))]
    answer = await harness.model_tasks.run_structured_task(
        PAYER, "title", chain, REQUEST, LegCount, lambda leg_count: f"not {leg_count.legs}"
    )
    assert (answer.value, model.calls) == (None, 2)
    assert (await harness.title_spending()).calls == 1

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import func, select

from moot.providers.scripted.scripts import Script
from moot.settings import Settings
from moot.store.database import Database
from moot.store.schema.billing import charge
from moot.store.schema.discussions import discussion
from moot.store.schema.runs import run
from tests.support.accounts import ANNA, BERT, create_discussion, database_with_accounts
from tests.support.app_fixture import UNLIMITED_SETTINGS
from tests.support.databases import SLOW_ON_POSTGRES
from tests.support.tenant_api import TenantApi, create_tenant_api

QUESTION = {"message": "What is a moot?", "participants": ["scripted/dear"], "language": "en"}


@pytest.fixture(params=SLOW_ON_POSTGRES)
async def database(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Database]:
    async with database_with_accounts(request.param, tmp_path) as database:
        yield database


@pytest.fixture
async def api(database: Database) -> AsyncIterator[TenantApi]:
    """A server with a budget of one dollar a week for each account. An answer costs about 0.6 dollars."""
    settings = Settings(weekly_budget_usd=1.0, rates=UNLIMITED_SETTINGS.rates)
    async with create_tenant_api(database, settings) as api:
        api.scripts.by_name["dear"] = Script(usd_per_million_tokens=1000)
        yield api


async def test_budget_shows_week_and_reservations(api: TenantApi) -> None:
    before = await api.call_ok("GET", "/budget")
    assert (before["weekly_budget_usd"], before["spent_usd"], before["reserved_usd"], before["remaining_usd"]) == (
        1.0,
        0.0,
        0.0,
        1.0,
    )
    assert (before["week_ends"] - before["week_starts"], before["reset_at"]) == (7 * 24 * 3600, None)
    await api.call_ok("POST", "/discussions", QUESTION)
    after = await api.call_ok("GET", "/budget")
    assert after["reserved_usd"] > 0.6
    assert after["remaining_usd"] == pytest.approx(1.0 - after["reserved_usd"])
    assert (await api.call_ok("GET", "/budget", tenant=BERT))["remaining_usd"] == 1.0


async def test_create_discussion_over_budget_is_rejected_with_hint(api: TenantApi) -> None:
    await api.call_ok("POST", "/discussions", QUESTION)
    refused = await api.call("POST", "/discussions", QUESTION)
    problem = refused.json()
    assert (refused.status_code, problem["title"]) == (402, "Over budget")
    assert "is left" in problem["detail"]
    assert "POST /api/budget/reset" in problem["detail"]
    capped = await api.call("POST", "/discussions", QUESTION | {"max_cost_usd": 0.01})
    assert capped.status_code == 402, "the first answer is asked, however small the limit"


async def test_budget_can_be_renewed_once_per_week(api: TenantApi) -> None:
    reset = await api.call_ok("POST", "/budget/reset")
    assert reset["reset_at"] is not None
    refused = await api.call("POST", "/budget/reset")
    assert (refused.status_code, "already" in refused.json()["detail"]) == (409, True)
    assert (await api.call_ok("GET", "/budget"))["reset_at"] == reset["reset_at"]
    assert (await api.call_ok("GET", "/budget", tenant=BERT))["reset_at"] is None


async def test_nothing_is_limited_without_budget(database: Database) -> None:
    async with create_tenant_api(database) as api:
        shown = await api.call_ok("GET", "/budget")
        assert (shown["weekly_budget_usd"], shown["remaining_usd"]) == (None, None)
        assert (await api.call("POST", "/budget/reset")).status_code == 409
        estimate = await api.call_ok("POST", "/estimate", QUESTION | {"participants": ["scripted/echo"]})
        assert estimate["remaining_usd"] is None


async def count_rows(database: Database) -> list[Any]:
    tables = (discussion, run, charge)
    async with database.read() as connection:
        return [(await connection.execute(select(func.count()).select_from(one))).scalar() for one in tables]


async def test_estimate_equals_reservation_and_stores_nothing(api: TenantApi, database: Database) -> None:
    before = await count_rows(database)
    estimate = await api.call_ok("POST", "/estimate", QUESTION)
    assert await count_rows(database) == before
    assert estimate["remaining_usd"] == 1.0
    (line,) = estimate["forecast"]["lines"]
    assert (line["purpose"], line["participant"], line["model"], line["calls"]) == (
        "answer",
        "alpha",
        "scripted/dear",
        1,
    )
    await api.call_ok("POST", "/discussions", QUESTION)
    reserved = (await api.call_ok("GET", "/budget"))["reserved_usd"]
    assert reserved == pytest.approx(estimate["forecast"]["cost_usd"])


async def test_estimate_depends_on_mode_participants_and_rounds(api: TenantApi) -> None:
    changes = {"participants": ["scripted/dear", "scripted/echo", "scripted/steady"], "rounds": 3}
    calls = {
        mode: (await api.call_ok("POST", "/estimate", QUESTION | changes | {"mode": mode}))["forecast"]["calls"]
        for mode in ("single", "parallel", "consensus")
    }
    assert calls == {"single": 1, "parallel": 3, "consensus": 9}


async def test_estimate_for_discussion_counts_earlier_messages(api: TenantApi, database: Database) -> None:
    about = await create_discussion(database, ANNA, "x" * 4000, model="scripted/dear")
    new = (await api.call_ok("POST", "/estimate", QUESTION))["forecast"]
    estimate = await api.call_ok("POST", "/estimate", {"discussion": about.id, "message": "What is a moot?"})
    assert estimate["forecast"]["input"] - new["input"] > 900
    foreign = await api.call("POST", "/estimate", {"discussion": about.id, "message": "And?"}, tenant=BERT)
    assert (foreign.status_code, foreign.json()["errors"][0]["field"]) == (404, "discussion")


async def add_text_file(api: TenantApi, name: str) -> str:
    return (await api.services.file_store.store_file(ANNA, ANNA, name, "text/plain", name, name.encode())).id


async def test_estimate_for_discussion_rejects_other_options(api: TenantApi) -> None:
    about = (await api.call_ok("POST", "/discussions", QUESTION))["discussion"]["id"]
    for field, value in (("mode", "debate"), ("rounds", 3), ("debate", {"skip_if_agreed": True}), ("language", "de")):
        asked = {"discussion": about, "message": "And?", field: value}
        refused = await api.call("POST", "/estimate", asked)
        assert refused.status_code == 400
        assert refused.json()["errors"][0]["field"] == field


async def test_estimate_counts_each_file_once(api: TenantApi) -> None:
    one, two = await add_text_file(api, "one"), await add_text_file(api, "two")
    bare = (await api.call_ok("POST", "/estimate", QUESTION))["forecast"]
    full = (await api.call_ok("POST", "/estimate", QUESTION | {"files": [one, two, one]}))["forecast"]
    assert 0 < full["input"] - bare["input"] < 100, "text is read as it is"


async def test_estimate_does_not_find_file_of_other_tenant(api: TenantApi) -> None:
    asked = QUESTION | {"files": [await add_text_file(api, "one")]}
    foreign = await api.call("POST", "/estimate", asked, tenant=BERT)
    assert (foreign.status_code, foreign.json()["errors"][0]["field"]) == (404, "files[0]")


async def test_estimate_lists_models_without_price(api: TenantApi) -> None:
    estimate = await api.call_ok("POST", "/estimate", QUESTION | {"participants": ["openai/gpt-5-mini"]})
    assert (estimate["forecast"]["unpriced_models"], estimate["forecast"]["cost_usd"]) == (["openai/gpt-5-mini"], 0.0)


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"message": "And?"}, "participants"),
        ({**QUESTION, "message": " "}, "message"),
        ({**QUESTION, "max_cost_usd": 0}, "max_cost_usd"),
        ({**QUESTION, "language": "xx-yy"}, "language"),
        ({**QUESTION, "model": "nobody/x"}, "model"),
        ({**QUESTION, "task_model": "nobody/x"}, "task_model"),
        ({**QUESTION, "rounds": 11}, "rounds"),
    ],
)
async def test_estimate_rejects_invalid_body_by_field(api: TenantApi, body: dict[str, Any], field: str) -> None:
    refused = await api.call("POST", "/estimate", body)
    assert (refused.status_code, refused.json()["errors"][0]["field"]) == (400, field)


async def test_estimate_for_discussion_rejects_participants(api: TenantApi, database: Database) -> None:
    about = await create_discussion(database, ANNA, "Hello.")
    refused = await api.call("POST", "/estimate", QUESTION | {"discussion": about.id})
    assert (refused.status_code, refused.json()["errors"][0]["field"]) == (400, "participants")


@pytest.mark.parametrize("max_cost_usd", [0, -1, "much"])
async def test_create_discussion_rejects_invalid_max_cost(api: TenantApi, max_cost_usd: object) -> None:
    refused = await api.call("POST", "/discussions", QUESTION | {"max_cost_usd": max_cost_usd})
    assert (refused.status_code, refused.json()["errors"][0]["field"]) == (400, "max_cost_usd")

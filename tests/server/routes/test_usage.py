from datetime import UTC, date, datetime, timedelta

import pytest

from moot.store.billing.usage import record_charges as charged
from moot.store.database import Database
from moot.types.billing import Charge, Payer
from moot.types.chunks import Usage
from tests.server.account_app import AccountApp


async def add_charge(database: Database, account: str, cost: float | None, discussion: str | None = None) -> None:
    payer = Payer(tenant=account, account=account, discussion=discussion)
    paid = Charge(purpose="answer", model="a/b", usage=Usage(10, 5, 2, 1), cost_usd=cost)
    await charged(database, payer, paid)


async def test_usage_contains_only_own_charges(account_app: AccountApp) -> None:
    ada, bob = await account_app.create_token_headers("ada"), await account_app.create_token_headers("bob")
    await add_charge(account_app.database, "ada", 0.25)
    await add_charge(account_app.database, "ada", None)
    usage = (await account_app.client.get("/api/usage", headers=ada)).json()
    tokens = {"input": 20, "output": 10, "reasoning": 4, "cached": 2, "cache_written": 0}
    total = {"calls": 2, **tokens, "estimated": False, "cost_usd": 0.25, "unpriced_calls": 1}
    assert usage["total"] == total
    assert usage["rows"] == [{**total, "key": usage["until"], "title": None}]
    assert usage["by"] == "day"
    nothing = (await account_app.client.get("/api/usage", headers=bob)).json()
    assert (nothing["total"]["calls"], nothing["rows"]) == (0, [])


async def test_usage_covers_last_thirty_days_by_default(account_app: AccountApp) -> None:
    ada = await account_app.create_token_headers("ada")
    usage = (await account_app.client.get("/api/usage", headers=ada)).json()
    today = datetime.now(UTC).date()
    assert abs(date.fromisoformat(usage["until"]) - today) <= timedelta(1)  # it may be midnight
    assert date.fromisoformat(usage["until"]) - date.fromisoformat(usage["since"]) == timedelta(29)
    asked = await account_app.client.get("/api/usage?since=2026-02-01&until=2026-02-28&by=model", headers=ada)
    assert (asked.json()["since"], asked.json()["until"]) == ("2026-02-01", "2026-02-28")


@pytest.mark.parametrize("query", ["until=9999-12-31", "until=0001-01-01", "since=0001-01-01&until=0001-01-01"])
async def test_usage_accepts_first_and_last_calendar_dates(sqlite_account_app: AccountApp, query: str) -> None:
    ada = await sqlite_account_app.create_token_headers("ada")
    assert (await sqlite_account_app.client.get(f"/api/usage?{query}", headers=ada)).status_code == 200


async def test_usage_by_discussion_contains_titles(account_app: AccountApp) -> None:
    ada = await account_app.create_token_headers("ada")
    opened = (await account_app.create_discussion(ada)).json()["discussion"]
    await add_charge(account_app.database, "ada", 0.25, opened["id"])
    usage = (await account_app.client.get("/api/usage?by=discussion", headers=ada)).json()
    assert [(row["key"], row["title"]) for row in usage["rows"]] == [(opened["id"], opened["title"])]


@pytest.mark.parametrize(
    ("query", "field", "words"),
    [
        ("by=account", "by", "Use one of day, discussion, model, purpose"),
        ("since=2026-02-02&until=2026-02-01", "since", "Send the earlier day"),
        ("since=yesterday", "since", "Write a day as 2026-11-15"),
    ],
)
async def test_usage_rejects_invalid_query_by_field(
    sqlite_account_app: AccountApp, query: str, field: str, words: str
) -> None:
    ada = await sqlite_account_app.create_token_headers("ada")
    refused = await sqlite_account_app.client.get(f"/api/usage?{query}", headers=ada)
    (error,) = refused.json()["errors"]
    assert (refused.status_code, error["field"]) == (400, field)
    assert words in error["message"]


async def test_usage_report_schema_has_unique_name(sqlite_account_app: AccountApp) -> None:
    description = (await sqlite_account_app.client.get("/api/openapi.json")).json()
    assert {"Usage", "UsageReport"} <= set(description["components"]["schemas"]), "else both names are long"

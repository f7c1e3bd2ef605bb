from datetime import UTC, date, datetime, timedelta

import pytest

from moot.store.billing.charges import record_charges as charged
from moot.store.database import Database
from moot.types.billing import Charge, Payer
from moot.types.chunks import Usage
from tests.server.house import House


async def pay(database: Database, account: str, cost: float | None, discussion: str | None = None) -> None:
    payer = Payer(tenant=account, account=account, discussion=discussion)
    paid = Charge(purpose="answer", model="a/b", usage=Usage(10, 5, 2, 1), cost=cost)
    await charged(database, payer, paid)


async def test_an_account_reads_what_it_spent_and_nothing_of_others(house: House) -> None:
    ada, bob = await house.bearer("ada"), await house.bearer("bob")
    await pay(house.database, "ada", 0.25)
    await pay(house.database, "ada", None)
    usage = (await house.client.get("/api/usage", headers=ada)).json()
    tokens = {"input": 20, "output": 10, "reasoning": 4, "cached": 2, "cache_written": 0}
    total = {"calls": 2, **tokens, "estimated": False, "cost": 0.25, "unpriced": 1}
    assert usage["total"] == total
    assert usage["rows"] == [{**total, "key": usage["until"], "title": None}]
    assert usage["by"] == "day"
    nothing = (await house.client.get("/api/usage", headers=bob)).json()
    assert (nothing["total"]["calls"], nothing["rows"]) == (0, [])


async def test_the_last_thirty_days_are_shown_unless_others_are_asked_for(house: House) -> None:
    ada = await house.bearer("ada")
    usage = (await house.client.get("/api/usage", headers=ada)).json()
    today = datetime.now(UTC).date()
    assert abs(date.fromisoformat(usage["until"]) - today) <= timedelta(1)  # it may be midnight
    assert date.fromisoformat(usage["until"]) - date.fromisoformat(usage["since"]) == timedelta(29)
    asked = await house.client.get("/api/usage?since=2026-02-01&until=2026-02-28&by=model", headers=ada)
    assert (asked.json()["since"], asked.json()["until"]) == ("2026-02-01", "2026-02-28")


@pytest.mark.parametrize(
    "query", ["until=9999-12-31", "until=0001-01-01", "since=0001-01-01&until=0001-01-01"]
)
async def test_the_ends_of_time_are_days_too(cottage: House, query: str) -> None:
    ada = await cottage.bearer("ada")
    assert (await cottage.client.get(f"/api/usage?{query}", headers=ada)).status_code == 200


async def test_discussions_are_named(house: House) -> None:
    ada = await house.bearer("ada")
    opened = (await house.ask(ada)).json()["discussion"]
    await pay(house.database, "ada", 0.25, opened["id"])
    usage = (await house.client.get("/api/usage?by=discussion", headers=ada)).json()
    assert [(row["key"], row["title"]) for row in usage["rows"]] == [(opened["id"], opened["title"])]


@pytest.mark.parametrize(
    ("query", "field", "words"),
    [
        ("by=account", "by", "is none of day, discussion, model, purpose"),
        ("since=2026-02-02&until=2026-02-01", "since", "begin with the earlier day"),
        ("since=yesterday", "since", "Write a day as 2026-11-15"),
    ],
)
async def test_what_does_not_fit_is_refused_by_field(
    cottage: House, query: str, field: str, words: str
) -> None:
    ada = await cottage.bearer("ada")
    refused = await cottage.client.get(f"/api/usage?{query}", headers=ada)
    (error,) = refused.json()["errors"]
    assert (refused.status_code, error["field"]) == (400, field)
    assert words in error["message"]


async def test_its_shape_has_a_name_that_nothing_else_has(cottage: House) -> None:
    description = (await cottage.client.get("/api/openapi.json")).json()
    assert {"Usage", "UsageReport"} <= set(description["components"]["schemas"]), "else both names are long"

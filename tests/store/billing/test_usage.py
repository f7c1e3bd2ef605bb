import asyncio
from collections.abc import Sequence
from datetime import UTC, datetime

import pytest
from sqlalchemy import func, select

from moot.store.billing import usage as bills
from moot.store.billing.usage import GroupBy, TokenRates, UsageReports, add_charges, record_charges
from moot.store.database import Database
from moot.store.schema.billing import charge
from moot.types.billing import CallPurpose, Charge, Payer, Spending, SpendingItem
from moot.types.chunks import Usage
from moot.types.model_info import TokenCount
from tests.store.backdated_charges import add_charge_at_time
from tests.support.accounts import ANNA, BERT, create_accounts, create_discussion

SAMPLE_USAGE = Usage(10, 5, 2, 1)


def november_time(day: int, hour: float = 12) -> float:
    return datetime(2026, 11, day, tzinfo=UTC).timestamp() + hour * 3600


async def add_charge_at(
    database: Database,
    charged_at: float,
    cost: float | None,
    usage: Usage = SAMPLE_USAGE,
    *,
    account: str = ANNA,
    discussion: str | None = None,
    purpose: CallPurpose = "answer",
    model: str = "a/b",
) -> None:
    payer = Payer(tenant=account, account=account, discussion=discussion)
    await add_charge_at_time(
        database, payer, Charge(purpose=purpose, model=model, usage=usage, cost_usd=cost), charged_at
    )


async def usage_rows(database: Database, group_by: GroupBy) -> Sequence[SpendingItem]:
    return (await UsageReports(database).account_usage(ANNA, november_time(1, 0), november_time(30, 0), group_by)).rows


async def test_account_usage_sums_tokens_and_cost(database: Database) -> None:
    await create_accounts(database)
    await add_charge_at(database, november_time(2), 0.25)
    await add_charge_at(database, november_time(3), None, Usage(1, 1, 1, 1, 1, estimated=True))
    await add_charge_at(database, november_time(3), 9.0, account=BERT)
    spent = await UsageReports(database).account_usage(ANNA, november_time(1), november_time(4), "day")
    assert spent.total == Spending(
        calls=2,
        input=11,
        output=6,
        reasoning=3,
        cached=2,
        cache_written=1,
        estimated=True,
        cost_usd=0.25,
        unpriced_calls=1,
    )
    assert [(row.calls, row.estimated) for row in spent.rows] == [(1, False), (1, True)]


async def test_account_usage_groups_by_utc_day_in_order(database: Database) -> None:
    await create_accounts(database)
    for day, hour in ((3, 0), (2, 23.999), (2, 0), (10, 12)):
        await add_charge_at(database, november_time(day, hour), 0.5)
    assert [(row.key, row.calls) for row in await usage_rows(database, "day")] == [
        ("2026-11-02", 2),
        ("2026-11-03", 1),
        ("2026-11-10", 1),
    ]


async def test_account_usage_range_includes_start_and_excludes_end(database: Database) -> None:
    await create_accounts(database)
    for day in (1, 2, 3):
        await add_charge_at(database, november_time(day, 0), 0.5)
    spent = await UsageReports(database).account_usage(ANNA, november_time(1, 0), november_time(3, 0), "day")
    assert spent.total.calls == 2


@pytest.mark.parametrize(("by", "keys"), [("model", ["c/d", "a/b"]), ("purpose", ["title", "answer"])])
async def test_account_usage_lists_most_expensive_first(database: Database, by: GroupBy, keys: list[str]) -> None:
    await create_accounts(database)
    await add_charge_at(database, november_time(2), 0.1)
    await add_charge_at(database, november_time(2), 0.1)
    await add_charge_at(database, november_time(2), 0.5, model="c/d", purpose="title")
    assert [row.key for row in await usage_rows(database, by)] == keys


async def test_account_usage_shows_titles_of_own_existing_discussions(database: Database) -> None:
    await create_accounts(database)
    about = await create_discussion(database, title="Round tables")
    await add_charge_at(database, november_time(2), 0.3, discussion=about.id)
    await add_charge_at(database, november_time(2), 0.2, discussion="dis_gone")
    await add_charge_at(database, november_time(2), 0.1, purpose="consolidation")
    foreign = await create_discussion(database, BERT, title="Not for Anna")
    await add_charge_at(database, november_time(2), 0.05, discussion=foreign.id)
    assert [(row.key, row.title) for row in await usage_rows(database, "discussion")] == [
        (about.id, "Round tables"),
        ("dis_gone", None),
        (None, None),
        (foreign.id, None),
    ]


async def test_account_usage_is_empty_without_charges(database: Database) -> None:
    await create_accounts(database)
    spent = await UsageReports(database).account_usage(ANNA, november_time(1), november_time(2), "model")
    assert (spent.total.calls, spent.total.cost_usd, spent.rows) == (0, 0.0, ())


async def test_account_usage_limits_rows_but_not_total(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bills, "MAX_ROWS", 2)
    await create_accounts(database)
    for name in "abc":
        await add_charge_at(database, november_time(2), 0.1, model=f"{name}/x")
    spent = await UsageReports(database).account_usage(ANNA, november_time(1), november_time(3), "model")
    assert (len(spent.rows), spent.total.calls) == (2, 3)


async def test_run_spending_sums_only_that_run(database: Database) -> None:
    await create_accounts(database)
    ours, theirs = (Payer(tenant=ANNA, account=ANNA, run=run) for run in ("run_1", "run_2"))
    for payer, cost, usage in (
        (ours, 0.25, Usage(3, 4, 1, 2, 1)),
        (ours, None, Usage(1, 1, estimated=True)),
        (theirs, 9.0, SAMPLE_USAGE),
    ):
        await add_charge_at_time(
            database, payer, Charge(purpose="answer", model="a/b", usage=usage, cost_usd=cost), november_time(2)
        )
    spent = await UsageReports(database).run_spending("run_1")
    assert spent.usage == Usage(4, 5, 1, 2, 1, estimated=True)
    assert (spent.calls, spent.cost_usd, spent.unpriced_calls) == (2, 0.25, 1)
    nothing = await UsageReports(database).run_spending("run_3")
    assert (nothing.usage, nothing.cost_usd, nothing.unpriced_calls) == (Usage(), 0.0, 0)


async def test_add_charges_stores_payer_and_purpose(database: Database) -> None:
    await create_accounts(database)
    payer = Payer(tenant=ANNA, account=ANNA)
    new = Charge(purpose="title", model="a/b", usage=Usage(3, 4), cost_usd=0.5)
    async with database.write() as connection:
        await add_charges(database, connection, payer, [new])
        await add_charges(database, connection, payer, [])
    async with database.read() as connection:
        rows = (await connection.execute(select(charge))).mappings().all()
    assert [(row["account"], row["purpose"], row["usage"], row["cost_usd"]) for row in rows] == [
        (ANNA, "title", Usage(3, 4), 0.5)
    ]


@pytest.mark.parametrize(
    ("usage", "cost", "written"),
    [
        (Usage(), 0.0, 0),
        (Usage(), None, 0),
        (Usage(), 0.01, 1),
        (Usage(1), 0.0, 1),
        (Usage(1), None, 1),
        (Usage(estimated=True), None, 1),
    ],
)
async def test_charge_without_usage_and_cost_is_not_stored(
    database: Database, usage: Usage, cost: float | None, written: int
) -> None:
    await create_accounts(database)
    payer = Payer(tenant=ANNA, account=ANNA)
    await record_charges(database, payer, Charge(purpose="answer", model="a/b", usage=usage, cost_usd=cost))
    async with database.read() as connection:
        assert (await connection.execute(select(func.count()).select_from(charge))).scalar() == written


async def test_charge_with_same_id_is_stored_once(database: Database) -> None:
    await create_accounts(database)
    payer = Payer(tenant=ANNA, account=ANNA)
    one, two = (Charge(purpose="export", model="a/b", usage=Usage(3, 4), cost_usd=0.5) for _ in range(2))
    await record_charges(database, payer, one, two, one)
    await record_charges(database, payer, two)
    async with database.read() as connection:
        assert (await connection.execute(select(func.sum(charge.c.cost_usd)))).scalar() == 1.0


async def characters_per_token(database: Database, model: str = "a/one") -> float:
    return (await TokenRates(database).rates_by_model([model]))[model].characters_per_token


async def test_counts_are_summed_by_model(database: Database) -> None:
    rates = TokenRates(database)
    await rates.add_counts({"a/one": TokenCount(3000, 1000), "b/two": TokenCount(20_000, 10_000)})
    await rates.add_counts({"a/one": TokenCount(6000, 2000)})
    await rates.add_counts({})
    found = await rates.rates_by_model(["a/one", "b/two", "c/never"])
    assert {model: one.tokens for model, one in found.items()} == {"a/one": 3000, "b/two": 10_000}
    assert found["b/two"].characters_per_token == pytest.approx(2.1, abs=0.01)


async def test_few_short_answers_barely_change_prior_rate(database: Database) -> None:
    await TokenRates(database).add_counts({"a/one": TokenCount(8, 8)})
    assert await characters_per_token(database) == pytest.approx(4.0, abs=0.1)


async def test_many_counts_override_prior_rate(database: Database) -> None:
    await TokenRates(database).add_counts({"a/one": TokenCount(150_000, 100_000)})
    assert await characters_per_token(database) == pytest.approx(1.5, abs=0.02)


async def test_rate_follows_a_model_that_changes(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bills, "DECAY_TOKENS", 10_000)
    rates = TokenRates(database)
    for _ in range(20):
        await rates.add_counts({"a/one": TokenCount(20_000, 4000)})
    assert await characters_per_token(database) == pytest.approx(5.0, abs=0.1)
    for _ in range(20):
        await rates.add_counts({"a/one": TokenCount(8000, 4000)})
    assert await characters_per_token(database) == pytest.approx(2.0, abs=0.1)
    (found,) = (await rates.rates_by_model(["a/one"])).values()
    assert found.tokens < 20_000, "and the past is bounded"


async def test_concurrent_counts_are_not_lost(database: Database) -> None:
    rates = TokenRates(database)
    both = {"b/two": TokenCount(40, 10), "a/one": TokenCount(40, 10)}
    await asyncio.gather(*(rates.add_counts(both) for _ in range(20)))
    found = await rates.rates_by_model(["a/one", "b/two"])
    assert [one.tokens for one in found.values()] == [200, 200]


@pytest.mark.parametrize(
    ("counted", "plausible"),
    [
        (TokenCount(40, 10), True),
        (TokenCount(10, 10), True),
        (TokenCount(0, 0), False),
        (TokenCount(1000, 1), False),
    ],
)
def test_implausible_rates_are_detected(counted: TokenCount, plausible: bool) -> None:
    assert counted.is_plausible == plausible

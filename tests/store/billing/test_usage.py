from collections.abc import Sequence
from datetime import UTC, datetime

import pytest

from moot.store.billing import usage as bills
from moot.store.billing.usage import GroupBy, UsageReports
from moot.store.database import Database
from moot.types.billing import CallPurpose, Charge, Payer, Spending, SpendingItem
from moot.types.chunks import Usage
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

import asyncio
from datetime import UTC, datetime

import pytest
from sqlalchemy import select, update

from moot.store.billing.budgets import WEEK_SECONDS, Budgets, week_start
from moot.store.database import Database
from moot.store.schema.runs import run
from moot.types.billing import Charge, Payer
from moot.types.chunks import Usage
from moot.types.errors import Conflict, NotFound, OverBudget
from tests.store.backdated_charges import add_charge_at_time
from tests.support.accounts import ANNA, BERT, create_accounts, create_discussion
from tests.support.runs import WORKER, create_run, register_workers

MONDAY = datetime(2026, 11, 9, tzinfo=UTC).timestamp()
WEDNESDAY = MONDAY + 2.5 * 24 * 3600


class FakeClock:
    now = WEDNESDAY

    def __call__(self) -> float:
        return self.now


class BudgetHarness:
    """Anna's budget, her runs and their cost. The test sets the clock."""

    def __init__(self, database: Database, default_usd: float | None) -> None:
        self.database = database
        self.clock = FakeClock()
        self.budgets = Budgets(database, default_usd, self.clock)

    async def create_run_with_reservation(self, estimate_usd: float, account: str = ANNA) -> str:
        """Store a run of Anna or of another account, with its reserved cost."""
        discussion = await create_discussion(self.database, account)
        new = await create_run(self.database, discussion, owner=account)
        try:
            async with self.database.write() as connection:
                await self.budgets.reserve_cost(connection, account, new.id, estimate_usd)
        except OverBudget:
            await self.complete_run(new.id)
            raise
        return new.id

    async def complete_run(self, id: str) -> None:
        async with self.database.write() as connection:
            await connection.execute(update(run).where(run.c.id == id).values(status="completed"))

    async def add_charge(self, cost: float | None, run: str | None = None) -> None:
        payer = Payer(tenant=ANNA, account=ANNA, run=run)
        charge = Charge(purpose="answer", model="a/b", usage=Usage(), cost_usd=cost)
        await add_charge_at_time(self.database, payer, charge, self.clock.now)

    async def remaining_usd(self) -> float:
        left = (await self.budgets.current_budget(ANNA)).remaining_usd
        assert left is not None
        return round(left, 6)


@pytest.fixture
async def harness(database: Database) -> BudgetHarness:
    await create_accounts(database)
    await register_workers(database, WORKER)
    return BudgetHarness(database, 1.0)


@pytest.mark.parametrize(
    ("moment", "monday"),
    [
        ("2026-11-09T00:00:00+00:00", "2026-11-09"),
        ("2026-11-15T23:59:59+00:00", "2026-11-09"),
        ("2026-11-16T00:30:00+01:00", "2026-11-09"),
        ("2027-01-01T12:00:00+00:00", "2026-12-28"),
    ],
)
def test_week_starts_on_monday_at_midnight_utc(moment: str, monday: str) -> None:
    began = datetime.fromtimestamp(week_start(datetime.fromisoformat(moment).timestamp()), UTC)
    assert began.isoformat() == f"{monday}T00:00:00+00:00"


async def test_estimate_is_reserved_while_run_is_live_and_cost_counts_after(
    harness: BudgetHarness,
) -> None:
    first = await harness.create_run_with_reservation(0.6)
    assert await harness.remaining_usd() == 0.4
    await harness.add_charge(0.1, first)
    assert await harness.remaining_usd() == 0.4, "it is a part of what was reserved"
    await harness.add_charge(0.7, first)
    assert await harness.remaining_usd() == 0.2, "it costs more than was thought"
    await harness.complete_run(first)
    budget = await harness.budgets.current_budget(ANNA)
    assert (round(budget.spent_usd, 6), budget.reserved_usd) == (0.8, 0.0)


async def test_run_cheaper_than_estimate_releases_the_rest(harness: BudgetHarness) -> None:
    first = await harness.create_run_with_reservation(1.0)
    with pytest.raises(OverBudget):
        await harness.create_run_with_reservation(0.01)
    await harness.add_charge(0.2, first)
    await harness.complete_run(first)
    await harness.create_run_with_reservation(0.8)
    assert await harness.remaining_usd() == 0.0


async def test_retry_reserves_its_estimate_in_addition_to_spent_cost(harness: BudgetHarness) -> None:
    id = await harness.create_run_with_reservation(0.5)
    await harness.add_charge(0.4, id)
    await harness.complete_run(id)
    async with harness.database.write() as connection:
        again = update(run).where(run.c.id == id).values(status="waiting", reserved_usd=None)
        await connection.execute(again)
        await harness.budgets.reserve_cost(connection, ANNA, id, 0.5)
    assert await harness.remaining_usd() == 0.1
    await harness.add_charge(0.1, id)
    assert await harness.remaining_usd() == 0.1


async def test_second_reservation_of_live_run_is_added(
    harness: BudgetHarness,
) -> None:
    id = await harness.create_run_with_reservation(0.5)
    async with harness.database.write() as connection:
        await harness.budgets.reserve_cost(connection, ANNA, id, 0.25)
    assert await harness.remaining_usd() == 0.25
    with pytest.raises(OverBudget):
        async with harness.database.write() as connection:
            await harness.budgets.reserve_cost(connection, ANNA, id, 0.5)


async def test_reserve_cost_rejects_smallest_amount_when_nothing_is_left(harness: BudgetHarness) -> None:
    await harness.create_run_with_reservation(1.0)
    with pytest.raises(OverBudget):
        await harness.create_run_with_reservation(1e-12)


async def test_over_budget_message_names_cost_remainder_and_next_week(
    harness: BudgetHarness,
) -> None:
    await harness.create_run_with_reservation(0.75)
    with pytest.raises(OverBudget) as caught:
        await harness.create_run_with_reservation(0.5)
    assert str(caught.value) == (
        "This would cost about $0.50, and of this week's budget of $1.00 only $0.25 is left. The next week begins on "
        "Monday, 2026-11-16, at 00:00 UTC. Until then, POST /api/budget/reset resets the budget once."
    )
    await harness.budgets.reset_week(ANNA)
    with pytest.raises(OverBudget) as caught:
        await harness.create_run_with_reservation(0.5)
    assert str(caught.value).endswith("The next week begins on Monday, 2026-11-16, at 00:00 UTC.")


async def test_rejected_run_reserves_nothing(harness: BudgetHarness) -> None:
    with pytest.raises(OverBudget):
        await harness.create_run_with_reservation(1.5)
    assert await harness.remaining_usd() == 1.0
    async with harness.database.read() as connection:
        assert (await connection.execute(select(run.c.reserved_usd))).scalars().all() == [None]


async def test_free_run_is_allowed_when_budget_is_spent(harness: BudgetHarness) -> None:
    await harness.add_charge(1.5)
    assert await harness.remaining_usd() == 0.0
    await harness.create_run_with_reservation(0.0)


async def test_concurrent_reservations_do_not_exceed_budget(harness: BudgetHarness) -> None:
    tried = await asyncio.gather(*(harness.create_run_with_reservation(0.1) for _ in range(30)), return_exceptions=True)
    assert sum(isinstance(one, str) for one in tried) == 10
    assert sum(isinstance(one, OverBudget) for one in tried) == 20


async def test_accounts_do_not_share_a_budget(harness: BudgetHarness) -> None:
    await harness.create_run_with_reservation(1.0)
    await harness.create_run_with_reservation(1.0, BERT)
    with pytest.raises(OverBudget):
        await harness.create_run_with_reservation(0.1, BERT)


async def test_only_charges_of_current_week_count(
    harness: BudgetHarness,
) -> None:
    harness.clock.now = MONDAY - 1
    await harness.add_charge(0.3)
    harness.clock.now = MONDAY + 52 * WEEK_SECONDS
    await harness.add_charge(0.4)
    harness.clock.now = MONDAY
    await harness.add_charge(0.1)
    assert await harness.remaining_usd() == 0.9
    harness.clock.now = MONDAY + WEEK_SECONDS
    assert await harness.remaining_usd() == 1.0


async def test_reset_week_is_allowed_once_per_week(harness: BudgetHarness) -> None:
    await harness.add_charge(1.0)
    harness.clock.now += 60
    budget = await harness.budgets.reset_week(ANNA)
    assert (budget.remaining_usd, budget.spent_usd, budget.reset_at) == (1.0, 0.0, harness.clock.now)
    with pytest.raises(Conflict, match="already; the next week begins on Monday, 2026-11-16"):
        await harness.budgets.reset_week(ANNA)
    harness.clock.now += WEEK_SECONDS
    assert (await harness.budgets.reset_week(ANNA)).reset_at == harness.clock.now


async def test_concurrent_reset_week_succeeds_once(harness: BudgetHarness) -> None:
    tried = await asyncio.gather(*(harness.budgets.reset_week(ANNA) for _ in range(8)), return_exceptions=True)
    assert sum(isinstance(one, Conflict) for one in tried) == 7


async def test_account_limit_overrides_default_limit(harness: BudgetHarness) -> None:
    assert await harness.budgets.get_limit(ANNA) == 1.0
    await harness.budgets.set_limit(ANNA, 5.0)
    assert (await harness.budgets.get_limit(ANNA), await harness.budgets.account_limits()) == (
        5.0,
        {ANNA: 5.0},
    )
    await harness.budgets.set_limit(ANNA, None)
    assert (await harness.budgets.get_limit(ANNA), await harness.budgets.account_limits()) == (1.0, {})
    with pytest.raises(NotFound, match="nobody"):
        await harness.budgets.set_limit("nobody", 1.0)


async def test_without_budget_nothing_is_rejected_and_reset_week_conflicts(harness: BudgetHarness) -> None:
    free = Budgets(harness.database, None, harness.clock)
    await harness.add_charge(3.0)
    budget = await free.current_budget(ANNA)
    assert (budget.weekly_budget_usd, budget.remaining_usd, budget.spent_usd) == (None, None, 3.0)
    await free.reject_if_spent(ANNA)
    with pytest.raises(Conflict, match="no budget"):
        await free.reset_week(ANNA)


async def test_reject_if_spent_rejects_only_when_nothing_is_left(harness: BudgetHarness) -> None:
    await harness.add_charge(0.99)
    await harness.add_charge(None)
    await harness.budgets.reject_if_spent(ANNA)
    await harness.add_charge(0.01)
    with pytest.raises(OverBudget, match=r"budget of \$1\.00 is spent"):
        await harness.budgets.reject_if_spent(ANNA)

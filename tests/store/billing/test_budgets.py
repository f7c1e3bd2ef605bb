import asyncio
from datetime import UTC, datetime

import pytest
from sqlalchemy import select, update

from moot.store.billing.budgets import WEEK_SECONDS, Budgets, week_start
from moot.store.database import Database
from moot.store.schema import run
from moot.types.billing import Charge, Payer
from moot.types.chunks import Usage
from moot.types.errors import Conflict, NotFound, OverBudget
from tests.store.paying import charged
from tests.store.people import ANNA, BERT, discuss, settle
from tests.store.running import WORKER, employ, start

MONDAY = datetime(2026, 11, 9, tzinfo=UTC).timestamp()
WEDNESDAY = MONDAY + 2.5 * 24 * 3600


class Clock:
    now = WEDNESDAY

    def __call__(self) -> float:
        return self.now


class Purse:
    """Anna's budget, runs that she starts, and what they cost; all of it at a moment of the test's choice."""

    def __init__(self, database: Database, standard: float | None) -> None:
        self.database = database
        self.clock = Clock()
        self.budgets = Budgets(database, standard, self.clock)

    async def run(self, estimate: float, account: str = ANNA) -> str:
        """Store a run of the other's, or of Anna, with what it may cost."""
        discussion = await discuss(self.database, account)
        new = await start(self.database, discussion, owner=account)
        try:
            async with self.database.write() as connection:
                await self.budgets.reserve_cost(connection, account, new.id, estimate)
        except OverBudget:
            await self.end(new.id)
            raise
        return new.id

    async def end(self, id: str) -> None:
        async with self.database.write() as connection:
            await connection.execute(update(run).where(run.c.id == id).values(status="completed"))

    async def pay(self, cost: float | None, run: str | None = None) -> None:
        payer = Payer(tenant=ANNA, account=ANNA, run=run)
        paid = Charge(purpose="answer", model="a/b", usage=Usage(), cost=cost)
        await charged(self.database, payer, paid, self.clock.now)

    async def left(self) -> float:
        left = (await self.budgets.current_budget(ANNA)).left
        assert left is not None
        return round(left, 6)


@pytest.fixture
async def purse(database: Database) -> Purse:
    await settle(database)
    await employ(database, WORKER)
    return Purse(database, 1.0)


@pytest.mark.parametrize(
    ("moment", "monday"),
    [
        ("2026-11-09T00:00:00+00:00", "2026-11-09"),
        ("2026-11-15T23:59:59+00:00", "2026-11-09"),
        ("2026-11-16T00:30:00+01:00", "2026-11-09"),
        ("2027-01-01T12:00:00+00:00", "2026-12-28"),
    ],
)
def test_a_week_begins_on_monday_at_midnight_utc(moment: str, monday: str) -> None:
    began = datetime.fromtimestamp(week_start(datetime.fromisoformat(moment).timestamp()), UTC)
    assert began.isoformat() == f"{monday}T00:00:00+00:00"


async def test_what_a_run_may_cost_is_reserved_while_it_lives_and_what_it_cost_counts_after(
    purse: Purse,
) -> None:
    first = await purse.run(0.6)
    assert await purse.left() == 0.4
    await purse.pay(0.1, first)
    assert await purse.left() == 0.4, "it is a part of what was reserved"
    await purse.pay(0.7, first)
    assert await purse.left() == 0.2, "it costs more than was thought"
    await purse.end(first)
    standing = await purse.budgets.current_budget(ANNA)
    assert (round(standing.spent, 6), standing.reserved) == (0.8, 0.0)


async def test_a_run_that_cost_less_gives_back_the_rest(purse: Purse) -> None:
    first = await purse.run(1.0)
    with pytest.raises(OverBudget):
        await purse.run(0.01)
    await purse.pay(0.2, first)
    await purse.end(first)
    await purse.run(0.8)
    assert await purse.left() == 0.0


async def test_a_run_that_is_tried_again_reserves_what_that_may_cost(purse: Purse) -> None:
    id = await purse.run(0.5)
    await purse.pay(0.4, id)
    await purse.end(id)
    async with purse.database.write() as connection:
        again = update(run).where(run.c.id == id).values(status="waiting", reserved=None)
        await connection.execute(again)
        await purse.budgets.reserve_cost(connection, ANNA, id, 0.5)
    assert await purse.left() == 0.1
    await purse.pay(0.1, id)
    assert await purse.left() == 0.1


async def test_more_that_is_asked_of_a_run_that_goes_on_comes_to_what_was_reserved(purse: Purse) -> None:
    id = await purse.run(0.5)
    async with purse.database.write() as connection:
        await purse.budgets.reserve_cost(connection, ANNA, id, 0.25)
    assert await purse.left() == 0.25
    with pytest.raises(OverBudget):
        async with purse.database.write() as connection:
            await purse.budgets.reserve_cost(connection, ANNA, id, 0.5)


async def test_where_nothing_is_left_the_smallest_amount_is_refused(purse: Purse) -> None:
    await purse.run(1.0)
    with pytest.raises(OverBudget):
        await purse.run(1e-12)


async def test_a_refusal_says_what_is_left_what_it_would_cost_and_when_the_week_ends(purse: Purse) -> None:
    await purse.run(0.75)
    with pytest.raises(OverBudget) as caught:
        await purse.run(0.5)
    assert str(caught.value) == (
        "This would cost about $0.50, and of this week's budget of $1.00 only $0.25 is left. The next week begins on "
        "Monday, 2026-11-16, at 00:00 UTC; until then, POST /api/budget/re-up begins this one anew, once."
    )
    await purse.budgets.reset_week(ANNA)
    with pytest.raises(OverBudget) as caught:
        await purse.run(0.5)
    assert str(caught.value).endswith("The next week begins on Monday, 2026-11-16, at 00:00 UTC.")


async def test_a_refused_run_reserves_nothing(purse: Purse) -> None:
    with pytest.raises(OverBudget):
        await purse.run(1.5)
    assert await purse.left() == 1.0
    async with purse.database.read() as connection:
        assert (await connection.execute(select(run.c.reserved))).scalars().all() == [None]


async def test_what_costs_nothing_goes_on_when_all_is_spent(purse: Purse) -> None:
    await purse.pay(1.5)
    assert await purse.left() == 0.0
    await purse.run(0.0)


async def test_many_at_once_get_no_more_than_there_is(purse: Purse) -> None:
    tried = await asyncio.gather(*(purse.run(0.1) for _ in range(30)), return_exceptions=True)
    assert sum(isinstance(one, str) for one in tried) == 10
    assert sum(isinstance(one, OverBudget) for one in tried) == 20


async def test_accounts_do_not_share_a_budget(purse: Purse) -> None:
    await purse.run(1.0)
    await purse.run(1.0, BERT)
    with pytest.raises(OverBudget):
        await purse.run(0.1, BERT)


async def test_only_the_week_counts_and_a_clock_that_jumped_harms_one_week_at_most(purse: Purse) -> None:
    purse.clock.now = MONDAY - 1
    await purse.pay(0.3)
    purse.clock.now = MONDAY + 52 * WEEK_SECONDS
    await purse.pay(0.4)
    purse.clock.now = MONDAY
    await purse.pay(0.1)
    assert await purse.left() == 0.9
    purse.clock.now = MONDAY + WEEK_SECONDS
    assert await purse.left() == 1.0


async def test_a_week_is_begun_anew_once(purse: Purse) -> None:
    await purse.pay(1.0)
    purse.clock.now += 60
    anew = await purse.budgets.reset_week(ANNA)
    assert (anew.left, anew.spent, anew.reup_at) == (1.0, 0.0, purse.clock.now)
    with pytest.raises(Conflict, match="already; the next one begins on Monday, 2026-11-16"):
        await purse.budgets.reset_week(ANNA)
    purse.clock.now += WEEK_SECONDS
    assert (await purse.budgets.reset_week(ANNA)).reup_at == purse.clock.now


async def test_of_many_at_once_one_begins_the_week_anew(purse: Purse) -> None:
    tried = await asyncio.gather(*(purse.budgets.reset_week(ANNA) for _ in range(8)), return_exceptions=True)
    assert sum(isinstance(one, Conflict) for one in tried) == 7


async def test_an_account_may_have_a_budget_of_its_own(purse: Purse) -> None:
    assert await purse.budgets.get_limit(ANNA) == 1.0
    await purse.budgets.set_limit(ANNA, 5.0)
    assert (await purse.budgets.get_limit(ANNA), await purse.budgets.account_limits()) == (5.0, {ANNA: 5.0})
    await purse.budgets.set_limit(ANNA, None)
    assert (await purse.budgets.get_limit(ANNA), await purse.budgets.account_limits()) == (1.0, {})
    with pytest.raises(NotFound, match="nobody"):
        await purse.budgets.set_limit("nobody", 1.0)


async def test_without_a_budget_nothing_is_refused_and_nothing_begun_anew(purse: Purse) -> None:
    free = Budgets(purse.database, None, purse.clock)
    await purse.pay(3.0)
    standing = await free.current_budget(ANNA)
    assert (standing.budget, standing.left, standing.spent) == (None, None, 3.0)
    await free.reject_if_spent(ANNA)
    with pytest.raises(Conflict, match="no budget"):
        await free.reset_week(ANNA)


async def test_what_nobody_can_estimate_is_refused_when_nothing_is_left(purse: Purse) -> None:
    await purse.pay(0.99)
    await purse.pay(None)
    await purse.budgets.reject_if_spent(ANNA)
    await purse.pay(0.01)
    with pytest.raises(OverBudget, match=r"budget of \$1\.00 is spent"):
        await purse.budgets.reject_if_spent(ANNA)

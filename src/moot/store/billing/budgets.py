"""Weekly budgets of accounts. A week starts on Monday at 00:00 UTC.

A live run reserves its estimated cost in its own row. When it ends, the reservation no longer counts, but its charges do.
"""

import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

from sqlalchemy import ColumnElement, case, func, insert, select, update
from sqlalchemy.exc import IntegrityError
from sqlalchemy.ext.asyncio import AsyncConnection

from moot.store.database import Database
from moot.store.schema.accounts import account
from moot.store.schema.billing import budget_reset, charge
from moot.store.schema.runs import run
from moot.types.billing import Budget, format_usd
from moot.types.discussions import LIVE_STATUSES
from moot.types.errors import Conflict, NotFound, OverBudget

WEEK_SECONDS = 7 * 24 * 3600.0
TOLERANCE_USD = 1e-9  # sums of floats are not exact


class Budgets:
    """`default_usd` is the limit of accounts without their own; None means no limit."""

    def __init__(
        self, database: Database, default_usd: float | None = None, clock: Callable[[], float] = time.time
    ) -> None:
        self._database = database
        self._default_usd = default_usd
        self._clock = clock

    async def get_limit(self, account_id: str) -> float | None:
        async with self._database.read() as connection:
            return await self._load_limit(connection, account_id)

    async def set_limit(self, name: str, limit_usd: float | None) -> None:
        """Set the limit of the account with this name. None restores the default. Raises NotFound."""
        query = update(account).where(account.c.name == name).values(weekly_budget_usd=limit_usd)
        if not await self._database.execute(query):
            raise NotFound(f"There is no account called {name!r}.")

    async def account_limits(self) -> dict[str, float]:
        """Return limits by account id. The result omits accounts with the default limit."""
        query = select(account.c.id, account.c.weekly_budget_usd).where(account.c.weekly_budget_usd.is_not(None))
        return {row.id: row.weekly_budget_usd for row in await self._database.fetch_all(query)}

    async def current_budget(self, account_id: str) -> Budget:
        async with self._database.read() as connection:
            return await self._load_budget(connection, account_id)

    async def reject_if_spent(self, account_id: str) -> None:
        """Raise OverBudget if nothing is left.

        For requests without an estimate, such as `/v1` and model tasks. `reserve_cost` checks messages of a discussion.
        """
        now = await self.current_budget(account_id)
        if now.remaining_usd is not None and now.remaining_usd <= 0:
            raise OverBudget(
                f"This week's budget of {format_usd(now.weekly_budget_usd or 0.0)} is spent. {_budget_hint(now)}"
            )

    async def reserve_cost(
        self, connection: AsyncConnection, account_id: str, run_id: str, estimate_usd: float
    ) -> None:
        """Reserve the estimated cost of a run. Raises OverBudget if too little is left.

        On a retry, the estimate is added to the old reservation or to the charges of the run, if these are higher.
        """
        # The lock serializes reservations of one account, so that two runs cannot reserve the same dollars.
        locked = select(account.c.id).where(account.c.id == account_id).with_for_update(key_share=True)
        await connection.execute(locked)
        now = await self._load_budget(connection, account_id)
        # With nothing left, a run that costs nothing is still accepted.
        if now.remaining_usd is not None and estimate_usd > (
            now.remaining_usd + TOLERANCE_USD if now.remaining_usd else 0
        ):
            raise OverBudget(
                f"This would cost about {format_usd(estimate_usd)}, and of this week's budget of {format_usd(now.weekly_budget_usd or 0.0)} "
                f"only {format_usd(now.remaining_usd)} is left. {_budget_hint(now)}"
            )
        paid = _sum_paid(charge.c.run == run_id, charge.c.created_at >= (now.reset_at or now.week_starts))
        paid = paid.scalar_subquery()
        reserved = estimate_usd + case((run.c.reserved_usd > paid, run.c.reserved_usd), else_=paid)
        reservation = update(run).where(run.c.id == run_id).values(account=account_id, reserved_usd=reserved)
        await connection.execute(reservation)

    async def reset_week(self, account_id: str) -> Budget:
        """Reset the budget of this week. Raises Conflict if that was done before in the same week."""
        now = self._clock()
        new_reset = insert(budget_reset).values(account=account_id, week=week_start(now), created_at=now)
        try:
            async with self._database.write() as connection:
                if await self._load_limit(connection, account_id) is None:
                    raise Conflict("This account has no budget. There is nothing to reset.")
                await connection.execute(new_reset)
                return await self._load_budget(connection, account_id)
        except IntegrityError:
            ends = _format_time(week_start(now) + WEEK_SECONDS)
            raise Conflict(f"The budget of this week was reset already; the next week begins on {ends}.") from None

    async def _load_limit(self, connection: AsyncConnection, account_id: str) -> float | None:
        own = await connection.execute(select(account.c.weekly_budget_usd).where(account.c.id == account_id))
        budget: float | None = own.scalar()
        return self._default_usd if budget is None else budget

    async def _load_budget(self, connection: AsyncConnection, account_id: str) -> Budget:
        begins = week_start(self._clock())
        reset = select(budget_reset.c.created_at).where(
            budget_reset.c.account == account_id, budget_reset.c.week == begins
        )
        reset_at: float | None = (await connection.execute(reset)).scalar()
        week = (charge.c.created_at >= (reset_at or begins), charge.c.created_at < begins + WEEK_SECONDS)
        budget = await self._load_limit(connection, account_id)
        sums = select(
            _sum_paid(charge.c.account == account_id, *week).scalar_subquery(),
            _sum_reserved(account_id, *week).scalar_subquery(),
        )  # one query: a run that ends in between must be in one of the two sums
        spent, reserved = (await connection.execute(sums)).one()
        return Budget(
            weekly_budget_usd=budget,
            week_starts=begins,
            week_ends=begins + WEEK_SECONDS,
            spent_usd=spent,
            reserved_usd=reserved,
            remaining_usd=None if budget is None else max(0.0, budget - spent - reserved),
            reset_at=reset_at,
        )


def week_start(moment: float) -> float:
    """Return the Monday, 00:00 UTC, at or before a time; both in seconds since 1970."""
    day = datetime.fromtimestamp(moment, UTC).replace(hour=0, minute=0, second=0, microsecond=0)
    return (day - timedelta(days=day.weekday())).timestamp()


def _sum_paid(*conditions: ColumnElement[bool]) -> Any:
    return select(func.coalesce(func.sum(charge.c.cost_usd), 0.0)).where(*conditions)


def _sum_reserved(account_id: str, *week: ColumnElement[bool]) -> Any:
    """Sum the remaining reservations of live runs. Their charges so far count as spent."""
    paid = _sum_paid(charge.c.run == run.c.id, *week).correlate(run).scalar_subquery()
    rest = case((run.c.reserved_usd > paid, run.c.reserved_usd - paid), else_=0.0)
    live = (run.c.account == account_id, run.c.status.in_(LIVE_STATUSES))
    return select(func.coalesce(func.sum(rest), 0.0)).where(*live)


def _budget_hint(now: Budget) -> str:
    ends = _format_time(now.week_ends)
    if now.reset_at is None:
        return f"The next week begins on {ends}. Until then, POST /api/budget/reset resets the budget once."
    return f"The next week begins on {ends}."


def _format_time(at: float) -> str:
    return datetime.fromtimestamp(at, UTC).strftime("%A, %Y-%m-%d, at %H:%M UTC")

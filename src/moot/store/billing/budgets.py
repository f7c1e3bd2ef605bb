"""Budgets: what an account may spend in a week, which begins on Monday at 00:00 UTC.

What a live run may still cost is reserved, and derived from the run itself: when it is over, what it really cost counts.
"""

import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

from sqlalchemy import ColumnElement, case, func, insert, select, update
from sqlalchemy.exc import IntegrityError
from sqlalchemy.ext.asyncio import AsyncConnection

from moot.store.database import Database
from moot.store.schema import account, charge, reup, run
from moot.types.billing import Budget, format_usd
from moot.types.discussions import LIVE_STATUSES
from moot.types.errors import Conflict, NotFound, OverBudget

WEEK_SECONDS = 7 * 24 * 3600.0
TOLERANCE_USD = 1e-9  # dollars: sums of fractions are not exact


class Budgets:
    """`standard` is the budget of accounts that have none of their own; None is no limit."""

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
        """Give an account a budget of its own, or take it away."""
        query = update(account).where(account.c.name == name).values(budget=limit_usd)
        async with self._database.write() as connection:
            if not (await connection.execute(query)).rowcount:
                raise NotFound(f"There is no account called {name!r}.")

    async def account_limits(self) -> dict[str, float]:
        """Tell the budgets of the accounts that have one of their own, by id."""
        query = select(account.c.id, account.c.budget).where(account.c.budget.is_not(None))
        async with self._database.read() as connection:
            return {row.id: row.budget for row in await connection.execute(query)}

    async def current_budget(self, account_id: str) -> Budget:
        async with self._database.read() as connection:
            return await self._load_budget(connection, account_id)

    async def reject_if_spent(self, account_id: str) -> None:
        """Refuse what costs something, and nobody knows how much, when nothing is left."""
        now = await self.current_budget(account_id)
        if now.left is not None and now.left <= 0:
            raise OverBudget(
                f"This week's budget of {format_usd(now.budget or 0.0)} is spent. {_budget_hint(now)}"
            )

    async def reserve_cost(
        self, connection: AsyncConnection, account_id: str, run_id: str, estimate_usd: float
    ) -> None:
        """Reserve what a run may still cost, or refuse it; nobody else reserves meanwhile.

        Of one of which something is tried again, it comes to what was reserved, or has been spent, already.
        """
        held = select(account.c.id).where(account.c.id == account_id).with_for_update(key_share=True)
        await connection.execute(held)
        now = await self._load_budget(connection, account_id)
        if now.left is not None and estimate_usd > (now.left + TOLERANCE_USD if now.left else 0):
            raise OverBudget(
                f"This would cost about {format_usd(estimate_usd)}, and of this week's budget of {format_usd(now.budget or 0.0)} "
                f"only {format_usd(now.left)} is left. {_budget_hint(now)}"
            )
        paid = _sum_paid(charge.c.run == run_id, charge.c.created_at >= (now.reup_at or now.week_begins))
        paid = paid.scalar_subquery()
        reserved = estimate_usd + case((run.c.reserved > paid, run.c.reserved), else_=paid)
        kept = update(run).where(run.c.id == run_id).values(account=account_id, reserved=reserved)
        await connection.execute(kept)

    async def reset_week(self, account_id: str) -> Budget:
        """Begin a week anew, which is done once in it."""
        now = self._clock()
        begun = insert(reup).values(account=account_id, week=week_start(now), created_at=now)
        try:
            async with self._database.write() as connection:
                if await self._load_limit(connection, account_id) is None:
                    raise Conflict("This account has no budget: there is nothing to begin anew.")
                await connection.execute(begun)
                return await self._load_budget(connection, account_id)
        except IntegrityError:
            ends = _format_time(week_start(now) + WEEK_SECONDS)
            raise Conflict(f"This week was begun anew already; the next one begins on {ends}.") from None

    async def _load_limit(self, connection: AsyncConnection, account_id: str) -> float | None:
        own = await connection.execute(select(account.c.budget).where(account.c.id == account_id))
        budget: float | None = own.scalar()
        return self._default_usd if budget is None else budget

    async def _load_budget(self, connection: AsyncConnection, account_id: str) -> Budget:
        begins = week_start(self._clock())
        anew = select(reup.c.created_at).where(reup.c.account == account_id, reup.c.week == begins)
        reup_at: float | None = (await connection.execute(anew)).scalar()
        week = (charge.c.created_at >= (reup_at or begins), charge.c.created_at < begins + WEEK_SECONDS)
        budget = await self._load_limit(connection, account_id)
        sums = select(
            _sum_paid(charge.c.account == account_id, *week).scalar_subquery(),
            _sum_reserved(account_id, *week).scalar_subquery(),
        )  # at once: a run that ends meanwhile must be in one of them
        spent, reserved = (await connection.execute(sums)).one()
        return Budget(
            budget=budget,
            week_begins=begins,
            week_ends=begins + WEEK_SECONDS,
            spent=spent,
            reserved=reserved,
            left=None if budget is None else max(0.0, budget - spent - reserved),
            reup_at=reup_at,
        )


def week_start(moment: float) -> float:
    """Return when the week of a moment began."""
    day = datetime.fromtimestamp(moment, UTC).replace(hour=0, minute=0, second=0, microsecond=0)
    return (day - timedelta(days=day.weekday())).timestamp()


def _sum_paid(*conditions: ColumnElement[bool]) -> Any:
    return select(func.coalesce(func.sum(charge.c.cost), 0.0)).where(*conditions)


def _sum_reserved(account_id: str, *week: ColumnElement[bool]) -> Any:
    """Sum up what live runs may still cost; what they have cost already is among what was spent."""
    paid = _sum_paid(charge.c.run == run.c.id, *week).correlate(run).scalar_subquery()
    rest = case((run.c.reserved > paid, run.c.reserved - paid), else_=0.0)
    live = (run.c.account == account_id, run.c.status.in_(LIVE_STATUSES))
    return select(func.coalesce(func.sum(rest), 0.0)).where(*live)


def _budget_hint(now: Budget) -> str:
    ends = _format_time(now.week_ends)
    if now.reup_at is None:
        return (
            f"The next week begins on {ends}; until then, POST /api/budget/re-up begins this one anew, once."
        )
    return f"The next week begins on {ends}."


def _format_time(at: float) -> str:
    return datetime.fromtimestamp(at, UTC).strftime("%A, %Y-%m-%d, at %H:%M UTC")

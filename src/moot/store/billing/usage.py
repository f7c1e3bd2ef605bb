"""Usage reports: sums of charges of a run, or of an account by day, model, discussion or purpose."""

from typing import Any, Literal

from msgspec import Struct
from sqlalchemy import BigInteger, Boolean, ColumnElement, cast, func, literal, select
from sqlalchemy.dialects.postgresql import JSONB
from sqlalchemy.ext.asyncio import AsyncConnection

from moot.store.database import Database
from moot.store.schema.billing import charge
from moot.store.schema.discussions import discussion
from moot.types.billing import Spending, SpendingItem

MAX_ROWS = 1000
TOKEN_FIELDS = ("input", "output", "reasoning", "cached", "cache_written")

GroupBy = Literal["day", "model", "discussion", "purpose"]


class AccountUsage(Struct, frozen=True, kw_only=True):
    """Spending of an account, in total and by group."""

    total: Spending
    rows: tuple[SpendingItem, ...]  # days in order, other groups by descending cost; MAX_ROWS at most


class UsageReports:
    def __init__(self, database: Database) -> None:
        self._database = database

    async def run_spending(self, run: str) -> Spending:
        async with self._database.read() as connection:
            return await self._sum_charges(connection, charge.c.run == run)

    async def account_usage(self, account: str, since: float, until: float, group_by: GroupBy) -> AccountUsage:
        """Sum the charges from `since` until before `until`, in seconds since 1970."""
        mine = (charge.c.account == account, charge.c.created_at >= since, charge.c.created_at < until)
        key, title = (
            self._group_key(group_by),
            discussion.c.title if group_by == "discussion" else literal(None),
        )
        sums = self._sum_columns()
        grouped = select(key.label("key"), func.max(title).label("title"), *sums.values()).where(*mine)
        if group_by == "discussion":
            grouped = grouped.join_from(
                charge,
                discussion,
                (discussion.c.id == charge.c.discussion) & (discussion.c.tenant == charge.c.tenant),
                isouter=True,
            )
        order = [key] if group_by == "day" else [sums["cost_usd"].desc(), sums["calls"].desc(), key]
        async with self._database.read() as connection:
            total = await self._sum_charges(connection, *mine)
            rows = await connection.execute(grouped.group_by(key).order_by(*order).limit(MAX_ROWS))
            return AccountUsage(total=total, rows=tuple(SpendingItem(**row) for row in rows.mappings()))

    async def _sum_charges(self, connection: AsyncConnection, *conditions: ColumnElement[bool]) -> Spending:
        sums = await connection.execute(select(*self._sum_columns().values()).where(*conditions))
        return Spending(**sums.mappings().one())

    def _group_key(self, group_by: GroupBy) -> ColumnElement[Any]:
        if group_by != "day":
            return charge.c[group_by]
        if self._database.is_postgres:
            return func.to_char(func.timezone("UTC", func.to_timestamp(charge.c.created_at)), "YYYY-MM-DD")
        return func.date(charge.c.created_at, "unixepoch")

    def _sum_columns(self) -> dict[str, ColumnElement[Any]]:
        tokens = {name: func.coalesce(func.sum(self._token_column(name)), 0) for name in TOKEN_FIELDS}
        sums: dict[str, ColumnElement[Any]] = {
            "calls": func.count(),
            **{name: cast(total, BigInteger) for name, total in tokens.items()},
            "estimated": func.count().filter(self._is_estimated()) > 0,
            "cost_usd": func.coalesce(func.sum(charge.c.cost_usd), 0.0),
            "unpriced_calls": func.count() - func.count(charge.c.cost_usd),
        }
        return {name: total.label(name) for name, total in sums.items()}

    def _token_column(self, name: str) -> ColumnElement[Any]:
        if self._database.is_postgres:
            return cast(cast(charge.c.usage, JSONB)[name].astext, BigInteger)
        return func.json_extract(charge.c.usage, f"$.{name}")

    def _is_estimated(self) -> ColumnElement[bool]:
        if self._database.is_postgres:
            return cast(cast(charge.c.usage, JSONB)["estimated"].astext, Boolean)
        return func.json_extract(charge.c.usage, "$.estimated", type_=Boolean)

"""Bills: what was charged, summed up: for a run, or for an account by day, model, discussion or purpose."""

from typing import Any, Literal

from msgspec import Struct
from sqlalchemy import BigInteger, Boolean, ColumnElement, cast, func, literal, select
from sqlalchemy.dialects.postgresql import JSONB
from sqlalchemy.ext.asyncio import AsyncConnection

from moot.store.database import Database
from moot.store.schema import charge, discussion
from moot.types.billing import Spending, SpendingOn

MOST_ROWS = 1000
TOKENS = ("input", "output", "reasoning", "cached", "cache_written")

By = Literal["day", "model", "discussion", "purpose"]


class Bill(Struct, frozen=True, kw_only=True):
    """All that was spent, and what it was spent on: days in their order, everything else the dearest first."""

    total: Spending
    rows: tuple[SpendingOn, ...]


class Bills:
    def __init__(self, database: Database) -> None:
        self._database = database

    async def of_run(self, run: str) -> Spending:
        async with self._database.read() as connection:
            return await self._total(connection, charge.c.run == run)

    async def bill(self, account: str, since: float, until: float, by: By) -> Bill:
        """Sum up what an account spent from a moment on and before another."""
        mine = (charge.c.account == account, charge.c.created_at >= since, charge.c.created_at < until)
        key, title = self._key(by), discussion.c.title if by == "discussion" else literal(None)
        sums = self._sums()
        grouped = select(key.label("key"), func.max(title).label("title"), *sums.values()).where(*mine)
        if by == "discussion":
            grouped = grouped.join_from(
                charge,
                discussion,
                (discussion.c.id == charge.c.discussion) & (discussion.c.tenant == charge.c.tenant),
                isouter=True,
            )
        order = [key] if by == "day" else [sums["cost"].desc(), sums["calls"].desc(), key]
        async with self._database.read() as connection:
            total = await self._total(connection, *mine)
            rows = await connection.execute(grouped.group_by(key).order_by(*order).limit(MOST_ROWS))
            return Bill(total=total, rows=tuple(SpendingOn(**row) for row in rows.mappings()))

    async def _total(self, connection: AsyncConnection, *which: ColumnElement[bool]) -> Spending:
        sums = await connection.execute(select(*self._sums().values()).where(*which))
        return Spending(**sums.mappings().one())

    def _key(self, by: By) -> ColumnElement[Any]:
        if by != "day":
            return charge.c[by]
        if self._database.is_postgres:
            return func.to_char(func.timezone("UTC", func.to_timestamp(charge.c.created_at)), "YYYY-MM-DD")
        return func.date(charge.c.created_at, "unixepoch")

    def _sums(self) -> dict[str, ColumnElement[Any]]:
        tokens = {name: func.coalesce(func.sum(self._tokens(name)), 0) for name in TOKENS}
        sums: dict[str, ColumnElement[Any]] = {
            "calls": func.count(),
            **{name: cast(total, BigInteger) for name, total in tokens.items()},
            "estimated": func.count().filter(self._is_estimated()) > 0,
            "cost": func.coalesce(func.sum(charge.c.cost), 0.0),
            "unpriced": func.count() - func.count(charge.c.cost),
        }
        return {name: total.label(name) for name, total in sums.items()}

    def _tokens(self, name: str) -> ColumnElement[Any]:
        """Read one count out of the JSON of a call's usage."""
        if self._database.is_postgres:
            return cast(cast(charge.c.usage, JSONB)[name].astext, BigInteger)
        return func.json_extract(charge.c.usage, f"$.{name}")

    def _is_estimated(self) -> ColumnElement[bool]:
        if self._database.is_postgres:
            return cast(cast(charge.c.usage, JSONB)["estimated"].astext, Boolean)
        return func.json_extract(charge.c.usage, "$.estimated", type_=Boolean)

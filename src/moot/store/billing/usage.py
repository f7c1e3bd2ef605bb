"""Charges for model calls, usage reports that sum them, and the characters per token of each model.

Charges stay when the discussion is deleted.
"""

import time
from collections.abc import Collection, Mapping, Sequence
from typing import Any, Literal

from msgspec import Struct
from msgspec.structs import asdict
from sqlalchemy import BigInteger, Boolean, ColumnElement, case, cast, func, literal, select
from sqlalchemy.dialects.postgresql import JSONB
from sqlalchemy.ext.asyncio import AsyncConnection

from moot.store.database import Database, retry_while_unavailable
from moot.store.schema.billing import charge, token_rate
from moot.store.schema.discussions import discussion
from moot.types.billing import Charge, Payer, Spending, SpendingItem
from moot.types.chunks import Usage
from moot.types.model_info import CHARACTERS_PER_TOKEN, TokenCount

MAX_ROWS = 1000
TOKEN_FIELDS = ("input", "output", "reasoning", "cached", "cache_written")
PRIOR_TOKENS = 500  # weight of the default rate, so that a few short answers change little
DECAY_TOKENS = 500_000  # from this count on, each update halves the old value

GroupBy = Literal["day", "model", "discussion", "purpose"]


class AccountUsage(Struct, frozen=True, kw_only=True):
    """Spending of an account, in total and by group."""

    total: Spending
    rows: tuple[SpendingItem, ...]  # days in order, other groups by descending cost; MAX_ROWS at most


class UsageReports:
    """Sums of charges of a run, or of an account by day, model, discussion or purpose."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def run_spending(self, run: str) -> Spending:
        async with self._database.read() as connection:
            return await self._sum_charges(connection, charge.c.run == run)

    async def account_usage(self, account: str, since: float, until: float, group_by: GroupBy) -> AccountUsage:
        """Sum the charges from `since` until before `until`, in seconds since 1970."""
        mine = (charge.c.account == account, charge.c.created_at >= since, charge.c.created_at < until)
        key, sums = self._group_key(group_by), self._sum_columns()
        title = discussion.c.title if group_by == "discussion" else literal(None)
        grouped = select(key.label("key"), func.max(title).label("title"), *sums.values()).where(*mine)
        if group_by == "discussion":
            is_own = (discussion.c.id == charge.c.discussion) & (discussion.c.tenant == charge.c.tenant)
            grouped = grouped.join_from(charge, discussion, is_own, isouter=True)
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


async def add_charges(database: Database, connection: AsyncConnection, payer: Payer, charges: Sequence[Charge]) -> None:
    """Insert charges. Idempotent by charge id, because a batch may be written twice.

    A charge without usage and cost is ignored: no model was called, or the provider rejected the request.
    """
    now = time.time()
    billable = [one for one in charges if one.usage != Usage() or one.cost_usd]
    rows = [{**asdict(payer), **asdict(one), "created_at": now} for one in billable]
    if rows:
        await connection.execute(database.insert_into(charge).on_conflict_do_nothing(), rows)


@retry_while_unavailable
async def record_charges(database: Database, payer: Payer, *charges: Charge) -> None:
    """Store charges of calls outside a run, in their own transaction."""
    async with database.write() as connection:
        await add_charges(database, connection, payer, charges)


class TokenRate(Struct, frozen=True, kw_only=True):
    characters_per_token: float
    tokens: int  # number of counted tokens, with less weight for old ones


class TokenRates:
    """Characters per token of each model, from counts that providers report. Newer counts have more weight."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def add_counts(self, counts: Mapping[str, TokenCount]) -> None:
        """Add counts by model. Rows are updated in sorted order, so that two transactions cannot deadlock."""
        if not counts:
            return
        new = self._database.insert_into(token_rate)
        columns = {name: _decay_count(token_rate.c[name]) + new.excluded[name] for name in ("characters", "tokens")}
        add = new.on_conflict_do_update(index_elements=[token_rate.c.model], set_=columns)
        async with self._database.write() as connection:
            for model, one in sorted(counts.items()):
                values = {"model": model, "characters": one.characters, "tokens": one.tokens}
                await connection.execute(add, values)

    async def rates_by_model(self, models: Collection[str]) -> dict[str, TokenRate]:
        """Return rates by model. The result omits models without counts."""
        query = select(token_rate).where(token_rate.c.model.in_(models))
        return {row.model: _estimate_rate(row.characters, row.tokens) for row in await self._database.fetch_all(query)}


def _decay_count(column: ColumnElement[int]) -> ColumnElement[int]:
    """Halve a large old count, because models and prompts change."""
    return case((token_rate.c.tokens >= DECAY_TOKENS, column // 2), else_=column)


def _estimate_rate(characters: int, tokens: int) -> TokenRate:
    rate = (characters + CHARACTERS_PER_TOKEN * PRIOR_TOKENS) / (tokens + PRIOR_TOKENS)
    return TokenRate(characters_per_token=round(rate, 3), tokens=tokens)

"""Characters per token of each model, from counts that providers report. Newer counts have more weight."""

from collections.abc import Collection, Mapping

from msgspec import Struct
from sqlalchemy import ColumnElement, case, select

from moot.store.database import Database
from moot.store.schema.billing import token_rate
from moot.types.model_info import CHARACTERS_PER_TOKEN, TokenCount

PRIOR_TOKENS = 500  # weight of the default rate, so that a few short answers change little
DECAY_TOKENS = 500_000  # from this count on, each update halves the old value


class TokenRate(Struct, frozen=True, kw_only=True):
    characters_per_token: float
    tokens: int  # number of counted tokens, with less weight for old ones


class TokenRates:
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
        async with self._database.read() as connection:
            return {row.model: _estimate_rate(row.characters, row.tokens) for row in await connection.execute(query)}


def _decay_count(column: ColumnElement[int]) -> ColumnElement[int]:
    """Halve a large old count, because models and prompts change."""
    return case((token_rate.c.tokens >= DECAY_TOKENS, column // 2), else_=column)


def _estimate_rate(characters: int, tokens: int) -> TokenRate:
    rate = (characters + CHARACTERS_PER_TOKEN * PRIOR_TOKENS) / (tokens + PRIOR_TOKENS)
    return TokenRate(characters_per_token=round(rate, 3), tokens=tokens)

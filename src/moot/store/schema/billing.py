"""Tables of charges, budgets and token counts."""

from sqlalchemy import BigInteger, Column, Float, Index, Table

from moot.store.schema.columns import Json, foreign_key, key_column, metadata, text_columns, time_column
from moot.types.chunks import Usage

token_rate = Table(  # counts reported by providers, to estimate tokens
    "token_rate",
    metadata,
    key_column("model"),
    Column("characters", BigInteger, nullable=False),
    Column("tokens", BigInteger, nullable=False),
)

charge = Table(  # cost of model calls, one row per turn; stays when the discussion is deleted
    "charge",
    metadata,
    key_column(),
    foreign_key("tenant"),
    *text_columns("account", "discussion", "run", "participant", nullable=True),
    *text_columns("purpose", "model"),
    Column("usage", Json(Usage), nullable=False),
    Column("cost_usd", Float(53), nullable=True),
    time_column(),
    Index(None, "account", "created_at"),
    Index(None, "run"),
)

budget_reset = Table(  # a week whose budget was reset, and when
    "budget_reset",
    metadata,
    foreign_key("account", primary_key=True),
    Column("week", Float(53), primary_key=True),
    time_column(),
)

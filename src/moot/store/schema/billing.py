"""Tables of charges, budgets and token counts."""

from sqlalchemy import BigInteger, Column, Float, ForeignKey, Index, Table, Text

from moot.store.schema.columns import Json, id_column, metadata, tenant_column, time_column
from moot.types.chunks import Usage

token_rate = Table(  # counts reported by providers, to estimate tokens
    "token_rate",
    metadata,
    Column("model", Text, primary_key=True),
    Column("characters", BigInteger, nullable=False),
    Column("tokens", BigInteger, nullable=False),
)

charge = Table(  # cost of model calls, one row per turn; stays when the discussion is deleted
    "charge",
    metadata,
    id_column(),
    tenant_column(),
    Column("account", Text, nullable=True),
    Column("discussion", Text, nullable=True),
    Column("run", Text, nullable=True),
    Column("participant", Text, nullable=True),
    Column("purpose", Text, nullable=False),
    Column("model", Text, nullable=False),
    Column("usage", Json(Usage), nullable=False),
    Column("cost_usd", Float(53), nullable=True),
    time_column(),
    Index(None, "account", "created_at"),
    Index(None, "run"),
)

budget_reset = Table(  # a week whose budget was reset, and when
    "budget_reset",
    metadata,
    Column("account", Text, ForeignKey("account.id", ondelete="CASCADE"), primary_key=True),
    Column("week", Float(53), primary_key=True),
    time_column(),
)

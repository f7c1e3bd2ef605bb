"""Tables of accounts: tenants, logins, tokens, provider keys, tool servers."""

from sqlalchemy import Column, Float, ForeignKey, Index, LargeBinary, Table, Text

from moot.store.schema.columns import foreign_key, id_column, metadata, tenant_column, time_column

tenant = Table("tenant", metadata, id_column(), Column("name", Text, nullable=False), time_column())

account = Table(
    "account",
    metadata,
    id_column(),
    tenant_column(),
    Column("name", Text, nullable=False, unique=True),
    Column("password", Text, nullable=True),  # argon2 hash; None: cannot log in
    Column("weekly_budget_usd", Float(53), nullable=True),  # US dollars per week; None: the default limit
    time_column(),
)

session = Table(
    "session",
    metadata,
    Column("hash", Text, primary_key=True),
    foreign_key("account"),
    time_column(),
    time_column("expires_at"),
    Index(None, "account"),
)

token = Table(
    "token",
    metadata,
    id_column(),
    foreign_key("account"),
    Column("hash", Text, nullable=False, unique=True),
    Column("name", Text, nullable=False),
    time_column(),
    Index(None, "account"),
)

provider_key = Table(
    "provider_key",
    metadata,
    Column("tenant", Text, ForeignKey("tenant.id", ondelete="CASCADE"), primary_key=True),
    Column("provider", Text, primary_key=True),
    Column("origin", Text, nullable=False),  # the only server that may receive the key
    Column("sealed", LargeBinary, nullable=False),  # encrypted key
    time_column(),
)

tool_server = Table(
    "tool_server",
    metadata,
    Column("tenant", Text, ForeignKey("tenant.id", ondelete="CASCADE"), primary_key=True),
    Column("name", Text, primary_key=True),
    Column("url", Text, nullable=False),
    Column("sealed", LargeBinary, nullable=False),  # encrypted headers
    time_column(),
)

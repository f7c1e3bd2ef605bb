"""Tables of accounts: tenants, logins, tokens, provider keys, tool servers."""

from sqlalchemy import Column, Float, Index, LargeBinary, Table, Text

from moot.store.schema.columns import foreign_key, key_column, metadata, time_column

tenant = Table("tenant", metadata, key_column(), Column("name", Text, nullable=False), time_column())

account = Table(
    "account",
    metadata,
    key_column(),
    foreign_key("tenant"),
    Column("name", Text, nullable=False, unique=True),
    Column("password", Text, nullable=True),  # argon2 hash; None: cannot log in
    Column("weekly_budget_usd", Float(53), nullable=True),  # US dollars per week; None: the default limit
    time_column(),
)

session = Table(
    "session",
    metadata,
    key_column("hash"),
    foreign_key("account"),
    time_column(),
    time_column("expires_at"),
    Index(None, "account"),
)

token = Table(
    "token",
    metadata,
    key_column(),
    foreign_key("account"),
    Column("hash", Text, nullable=False, unique=True),
    Column("name", Text, nullable=False),
    time_column(),
    Index(None, "account"),
)

provider_key = Table(
    "provider_key",
    metadata,
    foreign_key("tenant", primary_key=True),
    key_column("provider"),
    Column("origin", Text, nullable=False),  # the only server that may receive the key
    Column("sealed", LargeBinary, nullable=False),  # encrypted key
    time_column(),
)

tool_server = Table(
    "tool_server",
    metadata,
    foreign_key("tenant", primary_key=True),
    key_column("name"),
    Column("url", Text, nullable=False),
    Column("sealed", LargeBinary, nullable=False),  # encrypted headers
    time_column(),
)

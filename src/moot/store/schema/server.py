"""Tables of one installation: idempotency keys, rate limits, settings of the installation."""

from sqlalchemy import Column, Index, Table, Text

from moot.store.schema.columns import foreign_key, key_column, metadata, time_column

idempotency_key = Table(
    "idempotency_key",
    metadata,
    foreign_key("tenant", primary_key=True),
    key_column("key"),
    Column("request", Text, nullable=False),  # hash of the request, to reject a reused key
    Column("reply", Text, nullable=False),  # JSON; empty until the request is done
    time_column(),
    Index(None, "created_at"),
)

rate_limit = Table(
    "rate_limit",
    metadata,
    key_column("name"),
    time_column("free_at"),  # when the bucket is full again
)

installation = Table(  # key and value pairs, such as the fingerprint of the secret
    "installation",
    metadata,
    key_column("name"),
    Column("value", Text, nullable=False),
)

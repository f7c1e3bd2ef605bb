"""Tables of one installation: idempotency keys, rate limits, settings of the installation."""

from sqlalchemy import Column, ForeignKey, Index, Table, Text

from moot.store.schema.columns import metadata, time_column

idempotency_key = Table(
    "idempotency_key",
    metadata,
    Column("tenant", Text, ForeignKey("tenant.id", ondelete="CASCADE"), primary_key=True),
    Column("key", Text, primary_key=True),
    Column("request", Text, nullable=False),  # hash of the request, to reject a reused key
    Column("reply", Text, nullable=False),  # JSON; empty until the request is done
    time_column(),
    Index(None, "created_at"),
)

rate_limit = Table(
    "rate_limit",
    metadata,
    Column("name", Text, primary_key=True),
    time_column("free_at"),  # when the bucket is full again
)

installation = Table(  # key and value pairs, such as the fingerprint of the secret
    "installation",
    metadata,
    Column("name", Text, primary_key=True),
    Column("value", Text, nullable=False),
)

"""The first schema that later versions upgrade: all tables and the full-text indexes."""

from collections.abc import Sequence
from functools import partial
from itertools import chain
from typing import Any

import sqlalchemy as sa
from alembic import op

from moot.store.migrations.search import sqlite_search_statements

revision = "0009"
down_revision = None

NUMBER = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
SCHEMA = sa.MetaData(
    naming_convention={
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
        "fk": "fk_%(table_name)s_%(column_0_N_name)s",
        "pk": "pk_%(table_name)s",
    }
)
POSTGRES_SEARCH = (
    "CREATE INDEX ix_discussion_search ON discussion USING gin (to_tsvector('simple', title))",
    "CREATE INDEX ix_message_search ON message USING gin (to_tsvector('simple', left(content, 100000)))",
    "CREATE INDEX ix_insight_search ON insight USING gin (to_tsvector('simple', title || ' ' || detail || ' ' || coalesce(suggestion, '')))",
)


def upgrade() -> None:
    SCHEMA.create_all(op.get_bind(), checkfirst=False)
    is_postgres = op.get_bind().dialect.name == "postgresql"
    for statement in POSTGRES_SEARCH if is_postgres else sqlite_search_statements(row_key="number"):
        op.execute(statement)


def table(name: str, *items: Sequence[sa.Column[Any] | sa.Index | sa.UniqueConstraint], **options: Any) -> None:
    sa.Table(name, SCHEMA, *chain(*items), **options)


def columns(type_: Any, *names: str, nullable: bool = False, **options: Any) -> list[sa.Column[Any]]:
    return [sa.Column(name, type_, nullable=nullable, **options) for name in names]


def foreign_keys(*tables: str, on_delete: str = "CASCADE", **options: Any) -> list[sa.Column[Any]]:
    return [sa.Column(name, sa.Text, sa.ForeignKey(f"{name}.id", ondelete=on_delete), **options) for name in tables]


def unique(*names: str) -> list[sa.UniqueConstraint]:
    return [sa.UniqueConstraint(*names)]


def index(*names: str, name: str | None = None) -> list[sa.Index]:
    return [sa.Index(name, *names)]


keys = partial(columns, sa.Text, primary_key=True)
texts = partial(columns, sa.Text)
texts_or_empty = partial(columns, sa.Text, server_default="")
optional_texts = partial(columns, sa.Text, nullable=True)
blobs = partial(columns, sa.LargeBinary)
flags = partial(columns, sa.Boolean)
integers = partial(columns, sa.Integer)
counts = partial(columns, sa.Integer, server_default="0")
floats = partial(columns, sa.Float(53))
optional_floats = partial(columns, sa.Float(53), nullable=True)
references = partial(foreign_keys, nullable=False)
key_references = partial(foreign_keys, primary_key=True)
optional_references = partial(foreign_keys, nullable=True, on_delete="SET NULL")
number = partial(columns, NUMBER, "number", primary_key=True, autoincrement=True)

table("installation", keys("name"), texts("value"))
table("rate", keys("name"), floats("free_at"))
table(
    "idempotency",
    key_references("tenant"),
    keys("key"),
    texts("request", "reply"),
    floats("created_at"),
    index("created_at"),
)
table("tenant", keys("id"), texts("name"), floats("created_at"))
table(
    "account",
    keys("id"),
    references("tenant"),
    texts("name"),
    optional_texts("password"),
    floats("created_at"),
    optional_floats("budget"),
    unique("name"),
)
table("session", keys("hash"), references("account"), floats("created_at", "expires_at"), index("account"))
table(
    "token",
    keys("id"),
    references("account"),
    texts("hash", "name"),
    floats("created_at"),
    unique("hash"),
    index("account"),
)
table(
    "provider_key", key_references("tenant"), keys("provider"), texts("origin"), blobs("sealed"), floats("created_at")
)
table("tool_server", key_references("tenant"), keys("name"), texts("url"), blobs("sealed"), floats("created_at"))

table(
    "persona",
    keys("id"),
    references("tenant"),
    texts("name"),
    texts_or_empty("description", "system_prompt"),
    texts("traits", "specialisations"),
    texts_or_empty("category", "colour"),
    floats("created_at"),
    index("tenant"),
)
table("persona_use", key_references("tenant"), keys("persona"), integers("uses", "completed"))
table(
    "project",
    keys("id"),
    references("tenant"),
    texts("name"),
    texts_or_empty("description", "repository"),
    floats("created_at"),
    index("tenant"),
)
table(
    "post",
    keys("id"),
    references("tenant", "project"),
    texts("title"),
    texts_or_empty("excerpt"),
    optional_floats("published_at"),
    floats("created_at"),
    index("project", "published_at"),
)
table(
    "line_up",
    keys("id"),
    references("tenant"),
    texts("name", "mode", "participants"),
    integers("rounds"),
    optional_texts("clerk", "debate", "advisors", "directed"),
    floats("created_at"),
    index("tenant"),
)
table(
    "recap",
    keys("id"),
    references("tenant", "discussion"),
    texts("points"),
    integers("messages"),
    texts("model"),
    floats("created_at"),
    index("discussion", "created_at"),
)
table(
    "trial",
    keys("id"),
    references("tenant", "message"),
    texts("judge", "assertions", "verdicts"),
    optional_texts("rounds"),
    floats("created_at"),
    optional_floats("accepted_at"),
    index("message"),
)
table(
    "insight",
    number(),
    texts("id"),
    references("tenant", "discussion"),
    optional_references("project"),
    texts("kind", "title", "detail", "category"),
    optional_texts("suggestion", "severity", "paired"),
    texts("messages"),
    floats("created_at"),
    unique("id"),
    index("discussion"),
    index("project"),
)
table("insight_vector", key_references("insight"), keys("model"), blobs("vector"))
table(
    "consolidation",
    keys("id"),
    references("tenant", "project"),
    texts("status", "model"),
    optional_texts("fault"),
    floats("created_at"),
    optional_floats("ended_at"),
    index("project", "id"),
)
table(
    "pattern",
    keys("id"),
    references("tenant", "consolidation"),
    texts("kind", "title", "description", "evidence"),
    integers("frequency"),
    optional_texts("severity"),
    texts("tags"),
    index("consolidation"),
)

table(
    "discussion",
    number(),
    texts("id"),
    references("tenant"),
    optional_references("account"),
    texts("title", "status", "mode", "participants"),
    integers("rounds"),
    optional_texts("persona"),
    optional_references("project"),
    optional_texts("language", "model", "summary"),
    optional_floats("usefulness", "exported_at"),
    floats("created_at", "updated_at"),
    optional_texts("debate", "clerk", "advisors", "directed"),
    unique("id"),
    index("tenant", "updated_at", "id", name="ix_discussion_newest"),
    index("project"),
)
table(
    "message",
    number(),
    texts("id"),
    columns(NUMBER, "place"),
    references("tenant", "discussion"),
    foreign_keys("run", nullable=True),
    texts("role", "content"),
    optional_texts("participant", "name", "stage"),
    counts("round"),
    texts("status"),
    texts_or_empty("thoughts", "details"),
    optional_texts("provider", "model", "usage"),
    optional_floats("cost", "latency", "first_token"),
    optional_texts("fault", "audience"),
    flags("hidden"),
    optional_texts("view"),
    columns(NUMBER, "upto", nullable=True),
    optional_texts("instruction"),
    floats("created_at"),
    optional_texts("thread", "files", "script", "version_of", "copy_of", "finish", "tools"),
    unique("id"),
    unique("run", "stage", "round", "participant"),
    index("discussion", "place", "number"),
    index("version_of"),
)
table("blob", key_references("tenant"), keys("sha256"), blobs("data"))
table(
    "file",
    keys("id"),
    references("tenant"),
    optional_references("account"),
    texts("name", "media_type"),
    integers("size"),
    texts("sha256"),
    floats("created_at"),
    index("tenant", "sha256"),
)

table(
    "run",
    keys("id"),
    references("tenant", "discussion"),
    optional_texts("message"),
    texts("mode", "plan", "status"),
    counts("epoch"),
    optional_texts("stop", "stopped", "worker"),
    columns(NUMBER, "place", server_default="0"),
    floats("created_at"),
    optional_floats("ended_at"),
    optional_texts("account"),
    counts("revision", "begun"),
    optional_texts("retried"),
    optional_floats("reserved"),
    optional_texts("again"),
    index("account", "status"),
    index("discussion", "id"),
    index("tenant", "status"),
    index("status", "worker"),
)
table(
    "run_event",
    key_references("run"),
    columns(NUMBER, "seq", primary_key=True, autoincrement=False),
    texts("body"),
    sqlite_with_rowid=False,
)
table(
    "permission",
    keys("id"),
    references("tenant", "discussion", "run"),
    texts("participant", "stage"),
    integers("round"),
    texts("tool"),
    optional_texts("answer", "account"),
    flags("begun"),
    texts("attempt"),
    floats("created_at"),
    index("run"),
    index("discussion", "tool"),
)
table("lane", key_references("run"), keys("participant"), texts("status"), optional_texts("error"), flags("late"))
table("finding", key_references("run"), keys("basis"), texts("body"))
table("worker", keys("id"), columns(sa.BigInteger, "beats"), optional_texts("reaper"), floats("created_at"))

table("token_rate", keys("model"), columns(sa.BigInteger, "characters", "tokens"))
table(
    "charge",
    keys("id"),
    references("tenant"),
    optional_texts("account", "discussion", "run", "participant"),
    texts("purpose", "model", "usage"),
    optional_floats("cost"),
    floats("created_at"),
    index("account", "created_at"),
    index("run"),
)
table("reup", key_references("account"), floats("week", primary_key=True), floats("created_at"))

table(
    "channel",
    keys("id"),
    references("tenant"),
    texts("guild"),
    optional_references("discussion"),
    texts("mode", "participants"),
    integers("rounds"),
    optional_texts("trouble"),
    floats("created_at"),
    index("tenant"),
    index("discussion"),
)
table("channel_message", keys("id"), references("channel"), floats("created_at"), index("channel"))
table(
    "channel_run", key_references("channel", "run"), integers("seq"), optional_texts("message", "author"), index("run")
)
table(
    "channel_post",
    key_references("channel", "run"),
    integers("place", primary_key=True),
    optional_texts("message"),
    index("run"),
)
table(
    "channel_memory",
    key_references("channel"),
    keys("participant"),
    texts("words", "discussions"),
    floats("upto", "created_at"),
)

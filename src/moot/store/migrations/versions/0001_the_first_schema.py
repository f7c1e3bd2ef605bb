"""Initial schema: all tables and the full-text indexes."""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None

NUMBER = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
POSTGRES = (
    "CREATE INDEX ix_discussion_search ON discussion USING gin (to_tsvector('simple', title))",
    "CREATE INDEX ix_message_search ON message USING gin (to_tsvector('simple', left(content, 100000)))",
    "CREATE INDEX ix_insight_search ON insight USING gin (to_tsvector('simple', title || ' ' || detail || ' ' || coalesce(suggestion, '')))",
)
SEARCHED = {
    "discussion": ("title",),
    "message": ("content",),
    "insight": ("title", "detail", "suggestion"),
}


def sqlite_search(table: str, columns: tuple[str, ...]) -> tuple[str, ...]:
    """Index columns of a table, and keep the index up to date by triggers."""
    names = ", ".join(columns)
    old, new = (", ".join(f"{row}.{column}" for column in columns) for row in ("old", "new"))
    forget = f"INSERT INTO {table}_search({table}_search, rowid, {names}) VALUES ('delete', old.number, {old});"  # noqa: S608 - constant names
    add = f"INSERT INTO {table}_search(rowid, {names}) VALUES (new.number, {new});"  # noqa: S608
    return (
        f"CREATE VIRTUAL TABLE {table}_search USING fts5({names}, content='{table}', content_rowid='number')",
        f"CREATE TRIGGER {table}_search_added AFTER INSERT ON {table} BEGIN {add} END",
        f"CREATE TRIGGER {table}_search_gone AFTER DELETE ON {table} BEGIN {forget} END",
        f"CREATE TRIGGER {table}_search_changed AFTER UPDATE OF {names} ON {table} BEGIN {forget} {add} END",
    )


def upgrade() -> None:
    make_tables()
    if op.get_bind().dialect.name == "postgresql":
        for statement in POSTGRES:
            op.execute(statement)
        return
    for table, columns in SEARCHED.items():
        for statement in sqlite_search(table, columns):
            op.execute(statement)


def make_tables() -> None:
    op.create_table(
        "installation",
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("value", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("name", name="pk_installation"),
    )
    op.create_table(
        "rate",
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("free_at", sa.Float(precision=53), nullable=False),
        sa.PrimaryKeyConstraint("name", name="pk_rate"),
    )
    op.create_table(
        "tenant",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("created_at", sa.Float(precision=53), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_tenant"),
    )
    op.create_table(
        "worker",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("beats", sa.BigInteger(), nullable=False),
        sa.Column("reaper", sa.Text(), nullable=True),
        sa.Column("created_at", sa.Float(precision=53), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_worker"),
    )
    op.create_table(
        "account",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("tenant", sa.Text(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("password", sa.Text(), nullable=True),
        sa.Column("created_at", sa.Float(precision=53), nullable=False),
        sa.ForeignKeyConstraint(["tenant"], ["tenant.id"], name="fk_account_tenant", ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id", name="pk_account"),
        sa.UniqueConstraint("name", name="uq_account_name"),
    )
    op.create_table(
        "idempotency",
        sa.Column("tenant", sa.Text(), nullable=False),
        sa.Column("key", sa.Text(), nullable=False),
        sa.Column("request", sa.Text(), nullable=False),
        sa.Column("reply", sa.Text(), nullable=False),
        sa.Column("created_at", sa.Float(precision=53), nullable=False),
        sa.ForeignKeyConstraint(["tenant"], ["tenant.id"], name="fk_idempotency_tenant", ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("tenant", "key", name="pk_idempotency"),
    )
    op.create_index("ix_idempotency_created_at", "idempotency", ["created_at"], unique=False)
    op.create_table(
        "persona",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("tenant", sa.Text(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("description", sa.Text(), server_default="", nullable=False),
        sa.Column("system_prompt", sa.Text(), server_default="", nullable=False),
        sa.Column("traits", sa.Text(), nullable=False),
        sa.Column("specialisations", sa.Text(), nullable=False),
        sa.Column("category", sa.Text(), server_default="", nullable=False),
        sa.Column("colour", sa.Text(), server_default="", nullable=False),
        sa.Column("created_at", sa.Float(precision=53), nullable=False),
        sa.ForeignKeyConstraint(["tenant"], ["tenant.id"], name="fk_persona_tenant", ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id", name="pk_persona"),
    )
    op.create_index("ix_persona_tenant", "persona", ["tenant"], unique=False)
    op.create_table(
        "persona_use",
        sa.Column("tenant", sa.Text(), nullable=False),
        sa.Column("persona", sa.Text(), nullable=False),
        sa.Column("uses", sa.Integer(), nullable=False),
        sa.Column("completed", sa.Integer(), nullable=False),
        sa.ForeignKeyConstraint(["tenant"], ["tenant.id"], name="fk_persona_use_tenant", ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("tenant", "persona", name="pk_persona_use"),
    )
    op.create_table(
        "project",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("tenant", sa.Text(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("description", sa.Text(), server_default="", nullable=False),
        sa.Column("repository", sa.Text(), server_default="", nullable=False),
        sa.Column("created_at", sa.Float(precision=53), nullable=False),
        sa.ForeignKeyConstraint(["tenant"], ["tenant.id"], name="fk_project_tenant", ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id", name="pk_project"),
    )
    op.create_index("ix_project_tenant", "project", ["tenant"], unique=False)
    op.create_table(
        "provider_key",
        sa.Column("tenant", sa.Text(), nullable=False),
        sa.Column("provider", sa.Text(), nullable=False),
        sa.Column("origin", sa.Text(), nullable=False),
        sa.Column("sealed", sa.LargeBinary(), nullable=False),
        sa.Column("created_at", sa.Float(precision=53), nullable=False),
        sa.ForeignKeyConstraint(["tenant"], ["tenant.id"], name="fk_provider_key_tenant", ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("tenant", "provider", name="pk_provider_key"),
    )
    op.create_table(
        "consolidation",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("tenant", sa.Text(), nullable=False),
        sa.Column("project", sa.Text(), nullable=False),
        sa.Column("status", sa.Text(), nullable=False),
        sa.Column("model", sa.Text(), nullable=False),
        sa.Column("fault", sa.Text(), nullable=True),
        sa.Column("created_at", sa.Float(precision=53), nullable=False),
        sa.Column("ended_at", sa.Float(precision=53), nullable=True),
        sa.ForeignKeyConstraint(["project"], ["project.id"], name="fk_consolidation_project", ondelete="CASCADE"),
        sa.ForeignKeyConstraint(["tenant"], ["tenant.id"], name="fk_consolidation_tenant", ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id", name="pk_consolidation"),
    )
    op.create_index("ix_consolidation_project_id", "consolidation", ["project", "id"], unique=False)
    op.create_table(
        "discussion",
        sa.Column("number", NUMBER, autoincrement=True, nullable=False),
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("tenant", sa.Text(), nullable=False),
        sa.Column("account", sa.Text(), nullable=True),
        sa.Column("title", sa.Text(), nullable=False),
        sa.Column("status", sa.Text(), nullable=False),
        sa.Column("mode", sa.Text(), nullable=False),
        sa.Column("participants", sa.Text(), nullable=False),
        sa.Column("rounds", sa.Integer(), nullable=False),
        sa.Column("persona", sa.Text(), nullable=True),
        sa.Column("project", sa.Text(), nullable=True),
        sa.Column("language", sa.Text(), nullable=True),
        sa.Column("model", sa.Text(), nullable=True),
        sa.Column("summary", sa.Text(), nullable=True),
        sa.Column("usefulness", sa.Float(precision=53), nullable=True),
        sa.Column("exported_at", sa.Float(precision=53), nullable=True),
        sa.Column("created_at", sa.Float(precision=53), nullable=False),
        sa.Column("updated_at", sa.Float(precision=53), nullable=False),
        sa.ForeignKeyConstraint(["account"], ["account.id"], name="fk_discussion_account", ondelete="SET NULL"),
        sa.ForeignKeyConstraint(["project"], ["project.id"], name="fk_discussion_project", ondelete="SET NULL"),
        sa.ForeignKeyConstraint(["tenant"], ["tenant.id"], name="fk_discussion_tenant", ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("number", name="pk_discussion"),
        sa.UniqueConstraint("id", name="uq_discussion_id"),
    )
    op.create_index("ix_discussion_newest", "discussion", ["tenant", "updated_at", "id"], unique=False)
    op.create_index("ix_discussion_project", "discussion", ["project"], unique=False)
    op.create_table(
        "post",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("tenant", sa.Text(), nullable=False),
        sa.Column("project", sa.Text(), nullable=False),
        sa.Column("title", sa.Text(), nullable=False),
        sa.Column("excerpt", sa.Text(), server_default="", nullable=False),
        sa.Column("published_at", sa.Float(precision=53), nullable=True),
        sa.Column("created_at", sa.Float(precision=53), nullable=False),
        sa.ForeignKeyConstraint(["project"], ["project.id"], name="fk_post_project", ondelete="CASCADE"),
        sa.ForeignKeyConstraint(["tenant"], ["tenant.id"], name="fk_post_tenant", ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id", name="pk_post"),
    )
    op.create_index("ix_post_project_published_at", "post", ["project", "published_at"], unique=False)
    op.create_table(
        "session",
        sa.Column("hash", sa.Text(), nullable=False),
        sa.Column("account", sa.Text(), nullable=False),
        sa.Column("created_at", sa.Float(precision=53), nullable=False),
        sa.Column("expires_at", sa.Float(precision=53), nullable=False),
        sa.ForeignKeyConstraint(["account"], ["account.id"], name="fk_session_account", ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("hash", name="pk_session"),
    )
    op.create_index("ix_session_account", "session", ["account"], unique=False)
    op.create_table(
        "token",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("account", sa.Text(), nullable=False),
        sa.Column("hash", sa.Text(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("created_at", sa.Float(precision=53), nullable=False),
        sa.ForeignKeyConstraint(["account"], ["account.id"], name="fk_token_account", ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id", name="pk_token"),
        sa.UniqueConstraint("hash", name="uq_token_hash"),
    )
    op.create_index("ix_token_account", "token", ["account"], unique=False)
    op.create_table(
        "insight",
        sa.Column("number", NUMBER, autoincrement=True, nullable=False),
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("tenant", sa.Text(), nullable=False),
        sa.Column("discussion", sa.Text(), nullable=False),
        sa.Column("project", sa.Text(), nullable=True),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("title", sa.Text(), nullable=False),
        sa.Column("detail", sa.Text(), nullable=False),
        sa.Column("category", sa.Text(), nullable=False),
        sa.Column("suggestion", sa.Text(), nullable=True),
        sa.Column("severity", sa.Text(), nullable=True),
        sa.Column("paired", sa.Text(), nullable=True),
        sa.Column("messages", sa.Text(), nullable=False),
        sa.Column("created_at", sa.Float(precision=53), nullable=False),
        sa.ForeignKeyConstraint(["discussion"], ["discussion.id"], name="fk_insight_discussion", ondelete="CASCADE"),
        sa.ForeignKeyConstraint(["project"], ["project.id"], name="fk_insight_project", ondelete="SET NULL"),
        sa.ForeignKeyConstraint(["tenant"], ["tenant.id"], name="fk_insight_tenant", ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("number", name="pk_insight"),
        sa.UniqueConstraint("id", name="uq_insight_id"),
    )
    op.create_index("ix_insight_discussion", "insight", ["discussion"], unique=False)
    op.create_index("ix_insight_project", "insight", ["project"], unique=False)
    op.create_table(
        "pattern",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("tenant", sa.Text(), nullable=False),
        sa.Column("consolidation", sa.Text(), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("title", sa.Text(), nullable=False),
        sa.Column("description", sa.Text(), nullable=False),
        sa.Column("evidence", sa.Text(), nullable=False),
        sa.Column("frequency", sa.Integer(), nullable=False),
        sa.Column("severity", sa.Text(), nullable=True),
        sa.Column("tags", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(
            ["consolidation"], ["consolidation.id"], name="fk_pattern_consolidation", ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(["tenant"], ["tenant.id"], name="fk_pattern_tenant", ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id", name="pk_pattern"),
    )
    op.create_index("ix_pattern_consolidation", "pattern", ["consolidation"], unique=False)
    op.create_table(
        "run",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("tenant", sa.Text(), nullable=False),
        sa.Column("discussion", sa.Text(), nullable=False),
        sa.Column("message", sa.Text(), nullable=True),
        sa.Column("mode", sa.Text(), nullable=False),
        sa.Column("plan", sa.Text(), nullable=False),
        sa.Column("status", sa.Text(), nullable=False),
        sa.Column("epoch", sa.Integer(), server_default="0", nullable=False),
        sa.Column("stop", sa.Text(), nullable=True),
        sa.Column("stopped", sa.Text(), nullable=True),
        sa.Column("worker", sa.Text(), nullable=True),
        sa.Column("place", NUMBER, server_default="0", nullable=False),
        sa.Column("created_at", sa.Float(precision=53), nullable=False),
        sa.Column("ended_at", sa.Float(precision=53), nullable=True),
        sa.ForeignKeyConstraint(["discussion"], ["discussion.id"], name="fk_run_discussion", ondelete="CASCADE"),
        sa.ForeignKeyConstraint(["tenant"], ["tenant.id"], name="fk_run_tenant", ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id", name="pk_run"),
    )
    op.create_index("ix_run_discussion_id", "run", ["discussion", "id"], unique=False)
    op.create_index("ix_run_tenant_status", "run", ["tenant", "status"], unique=False)
    op.create_table(
        "insight_vector",
        sa.Column("insight", sa.Text(), nullable=False),
        sa.Column("model", sa.Text(), nullable=False),
        sa.Column("vector", sa.LargeBinary(), nullable=False),
        sa.ForeignKeyConstraint(["insight"], ["insight.id"], name="fk_insight_vector_insight", ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("insight", "model", name="pk_insight_vector"),
    )
    op.create_table(
        "message",
        sa.Column("number", NUMBER, autoincrement=True, nullable=False),
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("place", NUMBER, nullable=False),
        sa.Column("tenant", sa.Text(), nullable=False),
        sa.Column("discussion", sa.Text(), nullable=False),
        sa.Column("run", sa.Text(), nullable=True),
        sa.Column("role", sa.Text(), nullable=False),
        sa.Column("content", sa.Text(), nullable=False),
        sa.Column("participant", sa.Text(), nullable=True),
        sa.Column("name", sa.Text(), nullable=True),
        sa.Column("stage", sa.Text(), nullable=True),
        sa.Column("round", sa.Integer(), server_default="0", nullable=False),
        sa.Column("status", sa.Text(), nullable=False),
        sa.Column("thoughts", sa.Text(), server_default="", nullable=False),
        sa.Column("details", sa.Text(), server_default="", nullable=False),
        sa.Column("provider", sa.Text(), nullable=True),
        sa.Column("model", sa.Text(), nullable=True),
        sa.Column("usage", sa.Text(), nullable=True),
        sa.Column("cost", sa.Float(precision=53), nullable=True),
        sa.Column("latency", sa.Float(precision=53), nullable=True),
        sa.Column("first_token", sa.Float(precision=53), nullable=True),
        sa.Column("fault", sa.Text(), nullable=True),
        sa.Column("audience", sa.Text(), nullable=True),
        sa.Column("hidden", sa.Boolean(), nullable=False),
        sa.Column("view", sa.Text(), nullable=True),
        sa.Column("upto", NUMBER, nullable=True),
        sa.Column("instruction", sa.Text(), nullable=True),
        sa.Column("created_at", sa.Float(precision=53), nullable=False),
        sa.ForeignKeyConstraint(["discussion"], ["discussion.id"], name="fk_message_discussion", ondelete="CASCADE"),
        sa.ForeignKeyConstraint(["run"], ["run.id"], name="fk_message_run", ondelete="CASCADE"),
        sa.ForeignKeyConstraint(["tenant"], ["tenant.id"], name="fk_message_tenant", ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("number", name="pk_message"),
        sa.UniqueConstraint("id", name="uq_message_id"),
        sa.UniqueConstraint("run", "stage", "round", "participant", name="uq_message_run_stage_round_participant"),
    )
    op.create_index("ix_message_discussion_place_number", "message", ["discussion", "place", "number"], unique=False)
    op.create_table(
        "run_event",
        sa.Column("run", sa.Text(), nullable=False),
        sa.Column("seq", NUMBER, autoincrement=False, nullable=False),
        sa.Column("body", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(["run"], ["run.id"], name="fk_run_event_run", ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("run", "seq", name="pk_run_event"),
        sqlite_with_rowid=False,
    )

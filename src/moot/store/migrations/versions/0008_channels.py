"""Discord channel bindings and the delivery progress of runs."""

import sqlalchemy as sa
from alembic import op

revision = "0008"
down_revision = "0007"

FLOAT = sa.Float(53)


def _gone(table: str, column: str, gone: str = "CASCADE") -> sa.ForeignKeyConstraint:
    return sa.ForeignKeyConstraint([column], [f"{column}.id"], name=f"fk_{table}_{column}", ondelete=gone)


def upgrade() -> None:
    op.create_table(
        "channel",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("tenant", sa.Text(), nullable=False),
        sa.Column("guild", sa.Text(), nullable=False),
        sa.Column("discussion", sa.Text(), nullable=True),
        sa.Column("mode", sa.Text(), nullable=False),
        sa.Column("participants", sa.Text(), nullable=False),
        sa.Column("rounds", sa.Integer(), nullable=False),
        sa.Column("trouble", sa.Text(), nullable=True),
        sa.Column("created_at", FLOAT, nullable=False),
        _gone("channel", "tenant"),
        _gone("channel", "discussion", "SET NULL"),
        sa.PrimaryKeyConstraint("id", name="pk_channel"),
    )
    op.create_index("ix_channel_tenant", "channel", ["tenant"])
    op.create_index("ix_channel_discussion", "channel", ["discussion"])
    op.create_table(
        "channel_message",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("channel", sa.Text(), nullable=False),
        sa.Column("created_at", FLOAT, nullable=False),
        _gone("channel_message", "channel"),
        sa.PrimaryKeyConstraint("id", name="pk_channel_message"),
    )
    op.create_index("ix_channel_message_channel", "channel_message", ["channel"])
    op.create_table(
        "channel_run",
        sa.Column("channel", sa.Text(), nullable=False),
        sa.Column("run", sa.Text(), nullable=False),
        sa.Column("seq", sa.Integer(), nullable=False),
        sa.Column("message", sa.Text(), nullable=True),
        sa.Column("author", sa.Text(), nullable=True),
        _gone("channel_run", "channel"),
        _gone("channel_run", "run"),
        sa.PrimaryKeyConstraint("channel", "run", name="pk_channel_run"),
    )
    op.create_index("ix_channel_run_run", "channel_run", ["run"])
    op.create_table(
        "channel_post",
        sa.Column("channel", sa.Text(), nullable=False),
        sa.Column("run", sa.Text(), nullable=False),
        sa.Column("place", sa.Integer(), nullable=False),
        sa.Column("message", sa.Text(), nullable=True),
        _gone("channel_post", "channel"),
        _gone("channel_post", "run"),
        sa.PrimaryKeyConstraint("channel", "run", "place", name="pk_channel_post"),
    )
    op.create_index("ix_channel_post_run", "channel_post", ["run"])

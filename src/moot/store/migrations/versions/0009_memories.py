"""Memory summaries of Discord channels."""

import sqlalchemy as sa
from alembic import op

revision = "0009"
down_revision = "0008"

FLOAT = sa.Float(53)


def upgrade() -> None:
    op.create_table(
        "channel_memory",
        sa.Column("channel", sa.Text(), nullable=False),
        sa.Column("participant", sa.Text(), nullable=False),
        sa.Column("words", sa.Text(), nullable=False),
        sa.Column("discussions", sa.Text(), nullable=False),
        sa.Column("upto", FLOAT, nullable=False),
        sa.Column("created_at", FLOAT, nullable=False),
        sa.ForeignKeyConstraint(["channel"], ["channel.id"], name="fk_channel_memory_channel", ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("channel", "participant", name="pk_channel_memory"),
    )

"""Message versions (regenerated, edited, selected again) and presets."""

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"

FLOAT = sa.Float(precision=53)


def upgrade() -> None:
    op.add_column("message", sa.Column("version_of", sa.Text(), nullable=True))
    op.add_column("message", sa.Column("copy_of", sa.Text(), nullable=True))
    op.create_index("ix_message_version_of", "message", ["version_of"])
    op.add_column("run", sa.Column("again", sa.Text(), nullable=True))
    op.create_table(
        "line_up",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("tenant", sa.Text(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("mode", sa.Text(), nullable=False),
        sa.Column("participants", sa.Text(), nullable=False),
        sa.Column("rounds", sa.Integer(), nullable=False),
        sa.Column("clerk", sa.Text(), nullable=True),
        sa.Column("debate", sa.Text(), nullable=True),
        sa.Column("advisors", sa.Text(), nullable=True),
        sa.Column("directed", sa.Text(), nullable=True),
        sa.Column("created_at", FLOAT, nullable=False),
        sa.ForeignKeyConstraint(["tenant"], ["tenant.id"], name="fk_line_up_tenant", ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id", name="pk_line_up"),
    )
    op.create_index("ix_line_up_tenant", "line_up", ["tenant"])

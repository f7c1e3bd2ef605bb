"""Tool calls of a message, approvals, and tool servers of a tenant."""

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0006"

FLOAT = sa.Float(precision=53)


def upgrade() -> None:
    op.add_column("message", sa.Column("tools", sa.Text(), nullable=True))
    op.create_table(
        "permission",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("tenant", sa.Text(), nullable=False),
        sa.Column("discussion", sa.Text(), nullable=False),
        sa.Column("run", sa.Text(), nullable=False),
        sa.Column("participant", sa.Text(), nullable=False),
        sa.Column("stage", sa.Text(), nullable=False),
        sa.Column("round", sa.Integer(), nullable=False),
        sa.Column("tool", sa.Text(), nullable=False),
        sa.Column("answer", sa.Text(), nullable=True),
        sa.Column("account", sa.Text(), nullable=True),
        sa.Column("begun", sa.Boolean(), nullable=False),
        sa.Column("attempt", sa.Text(), nullable=False),
        sa.Column("created_at", FLOAT, nullable=False),
        sa.ForeignKeyConstraint(["tenant"], ["tenant.id"], name="fk_permission_tenant", ondelete="CASCADE"),
        sa.ForeignKeyConstraint(["discussion"], ["discussion.id"], name="fk_permission_discussion", ondelete="CASCADE"),
        sa.ForeignKeyConstraint(["run"], ["run.id"], name="fk_permission_run", ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id", name="pk_permission"),
    )
    op.create_index("ix_permission_run", "permission", ["run"])
    op.create_index("ix_permission_discussion_tool", "permission", ["discussion", "tool"])
    op.create_table(
        "tool_server",
        sa.Column("tenant", sa.Text(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("url", sa.Text(), nullable=False),
        sa.Column("sealed", sa.LargeBinary(), nullable=False),
        sa.Column("created_at", FLOAT, nullable=False),
        sa.ForeignKeyConstraint(["tenant"], ["tenant.id"], name="fk_tool_server_tenant", ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("tenant", "name", name="pk_tool_server"),
    )

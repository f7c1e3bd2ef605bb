"""Debates (lanes, threads, analysis results), files, and billing (charges, budgets)."""

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"

FLOAT = sa.Float(precision=53)


def upgrade() -> None:
    add_columns()
    make_debates()
    make_files()
    make_money()


def add_columns() -> None:
    op.add_column("account", sa.Column("budget", FLOAT, nullable=True))
    op.add_column("discussion", sa.Column("debate", sa.Text(), nullable=True))
    op.add_column("discussion", sa.Column("clerk", sa.Text(), nullable=True))
    op.add_column("message", sa.Column("thread", sa.Text(), nullable=True))
    op.add_column("message", sa.Column("files", sa.Text(), nullable=True))
    op.add_column("run", sa.Column("account", sa.Text(), nullable=True))
    op.add_column("run", sa.Column("revision", sa.Integer(), nullable=False, server_default="0"))
    op.add_column("run", sa.Column("begun", sa.Integer(), nullable=False, server_default="0"))
    op.add_column("run", sa.Column("retried", sa.Text(), nullable=True))
    op.add_column("run", sa.Column("reserved", FLOAT, nullable=True))
    op.create_index("ix_run_account_status", "run", ["account", "status"])


def make_debates() -> None:
    op.create_table(
        "lane",
        sa.Column("run", sa.Text(), nullable=False),
        sa.Column("participant", sa.Text(), nullable=False),
        sa.Column("status", sa.Text(), nullable=False),
        sa.Column("error", sa.Text(), nullable=True),
        sa.Column("late", sa.Boolean(), nullable=False),
        sa.ForeignKeyConstraint(["run"], ["run.id"], name="fk_lane_run", ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("run", "participant", name="pk_lane"),
    )
    op.create_table(
        "finding",
        sa.Column("run", sa.Text(), nullable=False),
        sa.Column("basis", sa.Text(), nullable=False),
        sa.Column("body", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(["run"], ["run.id"], name="fk_finding_run", ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("run", "basis", name="pk_finding"),
    )


def make_files() -> None:
    op.create_table(
        "blob",
        sa.Column("tenant", sa.Text(), nullable=False),
        sa.Column("sha256", sa.Text(), nullable=False),
        sa.Column("data", sa.LargeBinary(), nullable=False),
        sa.ForeignKeyConstraint(["tenant"], ["tenant.id"], name="fk_blob_tenant", ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("tenant", "sha256", name="pk_blob"),
    )
    op.create_table(
        "file",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("tenant", sa.Text(), nullable=False),
        sa.Column("account", sa.Text(), nullable=True),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("media_type", sa.Text(), nullable=False),
        sa.Column("size", sa.Integer(), nullable=False),
        sa.Column("sha256", sa.Text(), nullable=False),
        sa.Column("created_at", FLOAT, nullable=False),
        sa.ForeignKeyConstraint(["tenant"], ["tenant.id"], name="fk_file_tenant", ondelete="CASCADE"),
        sa.ForeignKeyConstraint(["account"], ["account.id"], name="fk_file_account", ondelete="SET NULL"),
        sa.PrimaryKeyConstraint("id", name="pk_file"),
    )
    op.create_index("ix_file_tenant_sha256", "file", ["tenant", "sha256"])


def make_money() -> None:
    op.create_table(
        "charge",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("tenant", sa.Text(), nullable=False),
        sa.Column("account", sa.Text(), nullable=True),
        sa.Column("discussion", sa.Text(), nullable=True),
        sa.Column("run", sa.Text(), nullable=True),
        sa.Column("participant", sa.Text(), nullable=True),
        sa.Column("purpose", sa.Text(), nullable=False),
        sa.Column("model", sa.Text(), nullable=False),
        sa.Column("usage", sa.Text(), nullable=False),
        sa.Column("cost", FLOAT, nullable=True),
        sa.Column("created_at", FLOAT, nullable=False),
        sa.ForeignKeyConstraint(["tenant"], ["tenant.id"], name="fk_charge_tenant", ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id", name="pk_charge"),
    )
    op.create_index("ix_charge_account_created_at", "charge", ["account", "created_at"])
    op.create_index("ix_charge_run", "charge", ["run"])
    op.create_table(
        "reup",
        sa.Column("account", sa.Text(), nullable=False),
        sa.Column("week", FLOAT, nullable=False),
        sa.Column("created_at", FLOAT, nullable=False),
        sa.ForeignKeyConstraint(["account"], ["account.id"], name="fk_reup_account", ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("account", "week", name="pk_reup"),
    )

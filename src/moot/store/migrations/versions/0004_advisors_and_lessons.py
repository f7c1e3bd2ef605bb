"""Advisors mode, directed mode, token rates, discussion summaries and evaluations."""

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"

FLOAT = sa.Float(precision=53)


def upgrade() -> None:
    op.add_column("discussion", sa.Column("advisors", sa.Text(), nullable=True))
    op.add_column("discussion", sa.Column("directed", sa.Text(), nullable=True))
    op.add_column("message", sa.Column("script", sa.Text(), nullable=True))
    op.create_table(
        "token_rate",
        sa.Column("model", sa.Text(), nullable=False),
        sa.Column("characters", sa.BigInteger(), nullable=False),
        sa.Column("tokens", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("model", name="pk_token_rate"),
    )
    make_recaps()
    make_trials()


def make_recaps() -> None:
    op.create_table(
        "recap",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("tenant", sa.Text(), nullable=False),
        sa.Column("discussion", sa.Text(), nullable=False),
        sa.Column("points", sa.Text(), nullable=False),
        sa.Column("messages", sa.Integer(), nullable=False),
        sa.Column("model", sa.Text(), nullable=False),
        sa.Column("created_at", FLOAT, nullable=False),
        sa.ForeignKeyConstraint(["tenant"], ["tenant.id"], name="fk_recap_tenant", ondelete="CASCADE"),
        sa.ForeignKeyConstraint(["discussion"], ["discussion.id"], name="fk_recap_discussion", ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id", name="pk_recap"),
    )
    op.create_index("ix_recap_discussion_created_at", "recap", ["discussion", "created_at"])


def make_trials() -> None:
    op.create_table(
        "trial",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("tenant", sa.Text(), nullable=False),
        sa.Column("message", sa.Text(), nullable=False),
        sa.Column("judge", sa.Text(), nullable=False),
        sa.Column("assertions", sa.Text(), nullable=False),
        sa.Column("verdicts", sa.Text(), nullable=False),
        sa.Column("rounds", sa.Text(), nullable=True),
        sa.Column("created_at", FLOAT, nullable=False),
        sa.Column("accepted_at", FLOAT, nullable=True),
        sa.ForeignKeyConstraint(["tenant"], ["tenant.id"], name="fk_trial_tenant", ondelete="CASCADE"),
        sa.ForeignKeyConstraint(["message"], ["message.id"], name="fk_trial_message", ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id", name="pk_trial"),
    )
    op.create_index("ix_trial_message", "trial", ["message"])

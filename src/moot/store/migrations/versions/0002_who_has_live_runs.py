"""An index for the question that every worker asks now and then: which runs go on, and who has them."""

from alembic import op

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    op.create_index("ix_run_status_worker", "run", ["status", "worker"])

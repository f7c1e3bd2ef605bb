"""Index on status and worker of runs, for the periodic scan of live runs."""

from alembic import op

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    op.create_index("ix_run_status_worker", "run", ["status", "worker"])

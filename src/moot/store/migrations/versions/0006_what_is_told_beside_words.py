"""Finish reason of a message. Copies notices to `finding`, so that a query need not scan all events."""

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"


def upgrade() -> None:
    op.add_column("message", sa.Column("finish", sa.Text(), nullable=True))
    op.execute("""
        INSERT INTO finding (run, basis, body)
        SELECT run, 'notice/' || seq, body FROM run_event WHERE body LIKE '{"type":"notice",%'
    """)

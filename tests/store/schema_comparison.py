"""Compare the tables of a database with those that the code knows."""

from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from sqlalchemy import Connection

from moot.store.schema import metadata


def schema_differences(connection: Connection) -> list[object]:
    """Compare what is there with the metadata, but for what searches text, which the metadata does not know."""
    opts = {"include_name": lambda name, *_: name is None or "_search" not in name, "compare_type": True}
    context = MigrationContext.configure(connection, opts=opts)
    return list(compare_metadata(context, metadata))

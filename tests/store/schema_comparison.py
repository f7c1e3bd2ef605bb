"""Compare the tables of a database with the schema in the code."""

from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from sqlalchemy import Connection

from moot.store.schema import metadata


def schema_differences(connection: Connection) -> list[object]:
    """Compare the tables with the metadata, except the text search objects, which the metadata does not contain."""
    opts = {"include_name": lambda name, *_: name is None or "_search" not in name, "compare_type": True}
    context = MigrationContext.configure(connection, opts=opts)
    return list(compare_metadata(context, metadata))

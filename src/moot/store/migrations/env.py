"""Alembic's entry: it runs on the connection, and in the transaction, that it is given."""

from alembic import context

from moot.store.schema import metadata

context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=metadata,
    transactional_ddl=False,  # the caller's transaction holds all migrations
)
context.run_migrations()

"""Alembic environment. Migrations run on the connection of the caller, in its transaction."""

from alembic import context

from moot.store.schema import metadata

context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=metadata,
    transactional_ddl=False,  # the transaction of the caller covers all migrations
)
context.run_migrations()

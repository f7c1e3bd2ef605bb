"""Schema migrations, which run at startup.

All pending migrations run in one transaction. A lock makes concurrent processes wait for it.
"""

from pathlib import Path
from typing import Any

from sqlalchemy import Connection, inspect, text
from sqlalchemy.exc import DBAPIError

from moot.store.database import Database
from moot.types.errors import BadSettings

HEAD_REVISION = "0010"
INSUFFICIENT_PRIVILEGE = "42501"
MIGRATION_LOCK_ID = 6020108  # arbitrary, but the same in all processes


async def migrate(database: Database) -> None:
    """Raise BadSettings if the user cannot create tables, or if this version does not know the schema."""
    if not database.is_postgres:
        database.path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    try:
        async with database.write() as connection:
            if database.is_postgres:
                await connection.execute(text("SELECT pg_advisory_xact_lock(:lock)"), {"lock": MIGRATION_LOCK_ID})
            if await connection.run_sync(_current_revision) != HEAD_REVISION:
                await connection.run_sync(_upgrade_schema)
    except DBAPIError as error:
        if getattr(error.orig, "sqlstate", None) != INSUFFICIENT_PRIVILEGE:
            raise
        raise BadSettings(
            "MOOT_DATABASE_URL: this user may not create tables. Make it the owner of the database."
        ) from error


def _current_revision(connection: Connection) -> str | None:
    if not inspect(connection).has_table("alembic_version"):
        return None
    return connection.execute(text("SELECT version_num FROM alembic_version")).scalar()


def _upgrade_schema(connection: Connection) -> None:
    from alembic import command  # noqa: PLC0415 - slow to import and rarely needed
    from alembic.config import Config  # noqa: PLC0415
    from alembic.util import CommandError  # noqa: PLC0415

    config = Config()
    config.set_main_option("script_location", str(Path(__file__).parent / "migrations"))
    attributes: dict[str, Any] = config.attributes
    attributes["connection"] = connection
    try:
        command.upgrade(config, "head")
    except CommandError as error:  # the revision is unknown
        is_older = (_current_revision(connection) or "") < HEAD_REVISION
        creator = "an older Moot, which this version cannot upgrade" if is_older else "a newer Moot"
        raise BadSettings(
            f"This database was created by {creator}. Use that version, or another database ({error})."
        ) from error

"""One dialect of SQLAlchemy for each kind of database, shared by all engines of a test process.

Each test opens a database of its own, with engines of its own. An engine keeps the statements that it compiled, by dialect
and statement. Where all engines share the dialect and what was compiled, a statement is compiled once for all tests.
Connections, pools and listeners stay those of one engine.
"""

from typing import Any, Self

from sqlalchemy import Connection, Engine
from sqlalchemy.dialects import registry
from sqlalchemy.dialects.postgresql.asyncpg import PGDialect_asyncpg
from sqlalchemy.dialects.sqlite.aiosqlite import SQLiteDialect_aiosqlite
from sqlalchemy.engine.default import DefaultDialect
from sqlalchemy.util import LRUCache

MAX_STATEMENTS = 5_000  # more than Moot has


class SharedDialect(DefaultDialect):
    """A dialect with one object, which all engines share."""

    supports_statement_cache = True
    _instance: Self | None = None
    _compiled_cache: LRUCache[Any, Any]

    def __new__(cls, *_: object, **__: object) -> Self:
        if cls._instance is None:
            cls._instance = super().__new__(cls)
            cls._compiled_cache = LRUCache(MAX_STATEMENTS)
        return cls._instance

    def __init__(self, dbapi: Any, **options: Any) -> None:
        """Begin once. All engines must ask for the same."""
        if not hasattr(self, "_options"):
            self._options = options
            self._is_initialized = False
            super().__init__(dbapi=dbapi, **options)
        assert self._options == options, "engines with other options need a dialect of their own"

    def initialize(self, connection: Connection) -> None:
        """Ask the database once what it can do: all are of one server, or of one library."""
        if not self._is_initialized:
            super().initialize(connection)
            self._is_initialized = True

    @classmethod
    def engine_created(cls, engine: Engine) -> None:
        engine.update_execution_options(compiled_cache=cls._compiled_cache)


class SharedSQLite(SharedDialect, SQLiteDialect_aiosqlite):
    supports_statement_cache = True


class SharedPostgres(SharedDialect, PGDialect_asyncpg):
    supports_statement_cache = True


def register_shared_dialects() -> None:
    """Let every engine that is created from now on have the shared dialects."""
    registry.register("sqlite.aiosqlite", __name__, SharedSQLite.__name__)
    registry.register("postgresql.asyncpg", __name__, SharedPostgres.__name__)

"""Most of this has no SQL of its own and needs one database; a test of SQL names both."""

from tests.engine.fixtures import database, tmp_path, works

__all__ = ["database", "tmp_path", "works"]

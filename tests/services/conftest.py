"""Most of this has no SQL of its own and needs one database; a test of SQL names both."""

from tests.support.engine_fixtures import database, run_harness, tmp_path

__all__ = ["database", "run_harness", "tmp_path"]

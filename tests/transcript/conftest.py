from tests.support.databases import tmp_path

__all__ = ["tmp_path"]

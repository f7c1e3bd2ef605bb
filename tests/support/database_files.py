"""The bytes of the files of a database."""

from pathlib import Path


def read_database_files(folder: Path) -> bytes:
    """Read the file of SQLite and the write-ahead log beside it, which an open database has."""
    assert (folder / "moot.db-wal").stat().st_size > 0
    return b"".join(path.read_bytes() for path in folder.glob("moot.db*"))

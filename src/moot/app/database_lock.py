"""Lock on a SQLite database: one server process per file.

The lock file contains the server's URL, so that other commands connect to it instead.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from moot.store.locks import try_lock_file
from moot.types.errors import BadSettings


@contextmanager
def lock_database(path: Path, address: str) -> Iterator[None]:
    """Hold the lock for the block. Raises BadSettings if another process holds it."""
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    with _lock_path(path).open("a+", encoding="utf-8") as lock_file:
        if try_lock_file(lock_file) is False:
            raise BadSettings(
                f"Another moot serve uses {path}. Stop it, set another file in MOOT_DATABASE_URL, or use Postgres, "
                "which several servers can share."
            )
        lock_file.truncate(0)
        lock_file.write(address)
        lock_file.flush()
        yield


def lock_holder_address(path: Path) -> str | None:
    """Return the URL of the process that holds the lock, or None.

    An empty string means that the process is still starting.
    """
    if not _lock_path(path).exists():
        return None
    with _lock_path(path).open("r", encoding="utf-8") as lock_file:
        return lock_file.read() if try_lock_file(lock_file) is False else None


def _lock_path(path: Path) -> Path:
    return path.with_name(f"{path.name}.lock")

"""A file of SQLite serves one process at a time: whoever has it says where it answers, so that others can call there."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from moot.store.locks import try_lock_file
from moot.types.errors import BadSettings


@contextmanager
def lock_database(path: Path, address: str) -> Iterator[None]:
    """Hold a file of SQLite for this process; several servers need Postgres."""
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    with _lock_path(path).open("a+", encoding="utf-8") as held:
        if try_lock_file(held) is False:
            raise BadSettings(
                f"Another moot serve uses {path}. Stop it, name another file in MOOT_DATABASE_URL, or use Postgres, "
                "which many servers can share."
            )
        held.truncate(0)
        held.write(address)
        held.flush()
        yield


def lock_holder_address(path: Path) -> str | None:
    """Return where the process answers that has a file now; None is nobody."""
    if not _lock_path(path).exists():
        return None
    with _lock_path(path).open("r", encoding="utf-8") as held:
        return held.read() if try_lock_file(held) is False else None


def _lock_path(path: Path) -> Path:
    return path.with_name(f"{path.name}.lock")

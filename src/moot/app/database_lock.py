"""A file of SQLite serves one process at a time: whoever has it says where it answers, so that others can call there."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from moot.store.locks import hold
from moot.types.errors import BadSettings


@contextmanager
def alone(path: Path, address: str) -> Iterator[None]:
    """Hold a file of SQLite for this process; several servers need Postgres."""
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    with _lock(path).open("a+", encoding="utf-8") as held:
        if hold(held) is False:
            raise BadSettings(
                f"Another moot serve uses {path}. Stop it, name another file in MOOT_DATABASE_URL, or use Postgres, "
                "which many servers can share."
            )
        held.truncate(0)
        held.write(address)
        held.flush()
        yield


def holder(path: Path) -> str | None:
    """Return where the process answers that has a file now; None is nobody."""
    if not _lock(path).exists():
        return None
    with _lock(path).open("r", encoding="utf-8") as held:
        return held.read() if hold(held) is False else None


def _lock(path: Path) -> Path:
    return path.with_name(f"{path.name}.lock")

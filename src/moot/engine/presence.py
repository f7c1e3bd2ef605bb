"""The workers of one machine: each holds a file of its name, so that its death is known at once and not by its lease.

Only that somebody is dead is ever known from it.
"""

import hashlib
import platform
from collections.abc import Iterator
from collections.abc import Set as AbstractSet
from contextlib import contextmanager
from pathlib import Path

from moot.store.holds import IS_KNOWN, hold


def folder_for(data: Path, database: str) -> Path:
    """Name the folder of this machine, which may share its data folder with others, and of one database."""
    return data / "workers" / f"{platform.node()}-{hashlib.sha256(database.encode()).hexdigest()[:16]}"


class Presence:
    def __init__(self, folder: Path) -> None:
        self._folder = folder

    @contextmanager
    def shown(self, worker: str) -> Iterator[None]:
        """Hold the file of a worker: before it is on the roll, and until it is done."""
        if not IS_KNOWN:
            yield
            return
        self._folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        path = self._folder / worker
        with path.open("w") as held:
            if not hold(held):  # then it would look as if we were dead
                path.unlink(missing_ok=True)
            yield
            path.unlink(missing_ok=True)

    def dead(self, roll: AbstractSet[str]) -> frozenset[str]:
        """Find who is on the roll and dead; what others left who are not on it any more is cleared away."""
        left = frozenset(path.name for path in self._folder.glob("*") if _is_left(path))
        for struck_off in left - roll:
            (self._folder / struck_off).unlink(missing_ok=True)
        return left & roll


def _is_left(path: Path) -> bool:
    try:
        with path.open() as file:
            return hold(file) is True
    except FileNotFoundError:  # it was cleared away a moment ago
        return False

"""Where a reader left off: the number of the last event that it has of a run. A number that never was means all of it."""

from collections.abc import Mapping, Sequence

import msgspec
from msgspec import Struct

from moot.store.runs.event_log import Standing
from moot.types.errors import NotFound

DIGITS = 15  # of the longest number that is looked at
MARK = r"^\w+:[0-9]+(?!\n)$"


class Resync(Struct, frozen=True, tag_field="type", tag="resync"):
    """What you have of this run is of no use: forget it, and go on with what follows `after`."""

    run: str
    after: int


class Bookmarks(Struct, frozen=True):
    """The numbers that runs had, and those of which a reader has what never was; these begin at 0."""

    after: dict[str, int]
    wrong: tuple[str, ...]


def resync(run: str) -> bytes:
    return b"event: resync\ndata: " + msgspec.json.encode(Resync(run, 0)) + b"\n\n"


def number(text: str) -> int | None:
    """Read a number; None is one that cannot have been."""
    return int(text) if text.isascii() and text.isdigit() and len(text) <= DIGITS else None


def bookmarks(marks: Sequence[str], found: Mapping[str, Standing]) -> Bookmarks:
    """Read marks such as `run_x:57`, and hold them against how the runs stand; of two for one run, the last counts."""
    asked = {run: number(text) for run, _, text in (mark.rpartition(":") for mark in marks)}
    after: dict[str, int] = {}
    for run, last in asked.items():
        if run not in found:
            raise NotFound(f"after: There is no run {run!r} in this discussion.")
        after[run] = last if last is not None and last <= found[run].newest else 0
    return Bookmarks(after, tuple(run for run, last in asked.items() if last != after[run]))

"""Where a reader left off: the number of the last event that it has of a run. A number that never was means all of it."""

from collections.abc import Mapping, Sequence

import msgspec
from msgspec import Struct

from moot.store.runs.event_log import RunProgress
from moot.types.errors import NotFound

MAX_SEQ_DIGITS = 15  # of the longest number that is looked at
CURSOR_PATTERN = r"^\w+:[0-9]+(?!\n)$"


class Resync(Struct, frozen=True, tag_field="type", tag="resync"):
    """What you have of this run is of no use: forget it, and go on with what follows `after`."""

    run: str
    after: int


class EventCursors(Struct, frozen=True):
    """The numbers that runs had, and those of which a reader has what never was; these begin at 0."""

    after: dict[str, int]
    invalid_runs: tuple[str, ...]


def resync_frame(run: str) -> bytes:
    return b"event: resync\ndata: " + msgspec.json.encode(Resync(run, 0)) + b"\n\n"


def parse_event_seq(text: str) -> int | None:
    """Read a number; None is one that cannot have been."""
    return int(text) if text.isascii() and text.isdigit() and len(text) <= MAX_SEQ_DIGITS else None


def parse_event_cursors(cursors: Sequence[str], progress_by_run: Mapping[str, RunProgress]) -> EventCursors:
    """Read marks such as `run_x:57`, and hold them against how the runs stand; of two for one run, the last counts."""
    asked = {run: parse_event_seq(text) for run, _, text in (mark.rpartition(":") for mark in cursors)}
    after: dict[str, int] = {}
    for run, last in asked.items():
        if run not in progress_by_run:
            raise NotFound(f"after: There is no run {run!r} in this discussion.")
        after[run] = last if last is not None and last <= progress_by_run[run].last_seq else 0
    return EventCursors(after, tuple(run for run, last in asked.items() if last != after[run]))

"""Event cursors: the number of the last event that a client has received from a run.

A cursor that the run never reached is invalid. The client then receives the whole run again.
"""

from collections.abc import Mapping, Sequence

import msgspec
from msgspec import Struct

from moot.store.runs.event_log import RunProgress
from moot.types.errors import NotFound

MAX_SEQ_DIGITS = 15  # longer numbers are invalid


class Resync(Struct, frozen=True, tag_field="type", tag="resync"):
    """Tells the client to discard its events of this run. The stream continues after event number `after`."""

    run: str
    after: int


class EventCursors(Struct, frozen=True):
    after: dict[str, int]  # last received event number by run; 0 if the cursor is invalid
    invalid_runs: tuple[str, ...]  # runs that need a `resync` event


def resync_frame(run: str) -> bytes:
    return b"event: resync\ndata: " + msgspec.json.encode(Resync(run, 0)) + b"\n\n"


def parse_event_seq(text: str) -> int | None:
    """Return None if the text is not a valid event number."""
    return int(text) if text.isascii() and text.isdigit() and len(text) <= MAX_SEQ_DIGITS else None


def parse_event_cursors(cursors: Sequence[str], progress_by_run: Mapping[str, RunProgress]) -> EventCursors:
    """Parse cursors such as `run_x:57`. If a run has several cursors, the last one wins.

    Raises `NotFound` for a run that is not in `progress_by_run`.
    """
    requested = {run: parse_event_seq(text) for run, _, text in (cursor.rpartition(":") for cursor in cursors)}
    after: dict[str, int] = {}
    for run, last in requested.items():
        if run not in progress_by_run:
            raise NotFound(f"after: There is no run {run!r} in this discussion.")
        after[run] = last if last is not None and last <= progress_by_run[run].last_seq else 0
    return EventCursors(after, tuple(run for run, last in requested.items() if last != after[run]))

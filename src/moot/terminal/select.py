"""Selects the reader of a run for a terminal or a pipe, and prints notices of commands."""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from moot.terminal.readers import LessonReader, PlainReader, RunReader, SingleReader, strip_control_chars
from moot.types.events import Notice
from moot.types.modes import MODES, default_mode


def select_reader(mode: str | None, participants: int, *, may_prompt: bool = False) -> RunReader:
    """`may_prompt`: approval prompts may appear during the run, so do not use the live view."""
    spec = MODES[mode or default_mode(range(participants))]
    if spec.has_whiteboard:
        return LessonReader(sys.stdout, sys.stderr)
    if participants == 1 or spec.only_first:
        return SingleReader(sys.stdout, sys.stderr)
    if may_prompt or not is_interactive():
        return PlainReader(sys.stdout, sys.stderr, in_lanes=spec.in_lanes)
    from rich.console import Console

    from moot.terminal.columns import LiveColumns

    return LiveColumns(Console(highlight=False), in_lanes=spec.in_lanes)


class NoticePrinter:
    """Prints notices through the attached reader, or to stderr without one."""

    def __init__(self) -> None:
        self._reader: RunReader | None = None

    def __call__(self, text: str) -> None:
        if self._reader is not None:
            self._reader([Notice(kind="waiting", message=text)])
        else:
            sys.stderr.write(f"moot: {strip_control_chars(text)}\n")
            sys.stderr.flush()

    @contextmanager
    def attach_reader(self, reader: RunReader) -> Iterator[None]:
        """Route notices through the reader, because it controls the screen. Closes it at the end."""
        self._reader = reader
        try:
            yield
        finally:
            self._reader = None
            reader.close()


def is_interactive() -> bool:
    return sys.stdout.isatty() and os.environ.get("TERM") != "dumb"


def handle_write_error(error: OSError) -> int:
    """Return the exit code after a failed write. A broken pipe is silent, as in other commands."""
    if not isinstance(error, BrokenPipeError):
        sys.stderr.write(f"moot: Cannot write the answer: {error.strerror}.\n")
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # the flush at exit must not fail again
    return 141 if isinstance(error, BrokenPipeError) else 1

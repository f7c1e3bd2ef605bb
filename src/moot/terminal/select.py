"""Which reader of a run fits where it is read, a screen or a pipe, and how a command speaks beside it."""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from moot.terminal.lesson import LessonReader
from moot.terminal.readers import PlainReader, RunReader, SingleReader, strip_control_chars
from moot.types.events import Notice


def select_reader(mode: str | None, participants: int, *, may_prompt: bool = False) -> RunReader:
    """Choose a reader; where something may be asked on the screen meanwhile, one that leaves the screen alone."""
    if mode == "directed":
        return LessonReader(sys.stdout, sys.stderr)
    if participants == 1:
        return SingleReader(sys.stdout, sys.stderr)
    if may_prompt or not is_interactive():
        return PlainReader(sys.stdout, sys.stderr)
    from rich.console import Console

    from moot.terminal.columns import LiveColumns

    return LiveColumns(Console(highlight=False))


class NoticePrinter:
    """Says what the table does not: among its words while somebody reads those, else on standard error."""

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
        """Speak through a reader, which knows where there is room."""
        self._reader = reader
        try:
            yield
        finally:
            self._reader = None
            reader.close()


def is_interactive() -> bool:
    return sys.stdout.isatty() and os.environ.get("TERM") != "dumb"


def handle_write_error(error: OSError) -> int:
    """Say what is to be said where nobody reads our output any more, and return the exit code for it."""
    if not isinstance(error, BrokenPipeError):
        sys.stderr.write(f"moot: Cannot write the answer: {error.strerror}.\n")
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # what is still in the buffer has nowhere to go
    return 141 if isinstance(error, BrokenPipeError) else 1

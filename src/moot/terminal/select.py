"""Which reader of a run fits where it is read, a screen or a pipe, and how a command speaks beside it."""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from moot.terminal.lesson import Transcript
from moot.terminal.readers import Plain, Reader, Solo, safe
from moot.types.events import Notice


def reader_for(mode: str | None, participants: int, *, asks: bool = False) -> Reader:
    """Choose a reader; where something may be asked on the screen meanwhile, one that leaves the screen alone."""
    if mode == "directed":
        return Transcript(sys.stdout, sys.stderr)
    if participants == 1:
        return Solo(sys.stdout, sys.stderr)
    if asks or not on_a_screen():
        return Plain(sys.stdout, sys.stderr)
    from rich.console import Console

    from moot.terminal.columns import Live

    return Live(Console(highlight=False))


class Voice:
    """Says what the table does not: among its words while somebody reads those, else on standard error."""

    def __init__(self) -> None:
        self._reader: Reader | None = None

    def __call__(self, words: str) -> None:
        if self._reader is not None:
            self._reader([Notice(kind="waiting", message=words)])
        else:
            sys.stderr.write(f"moot: {safe(words)}\n")
            sys.stderr.flush()

    @contextmanager
    def beside(self, reader: Reader) -> Iterator[None]:
        """Speak through a reader, which knows where there is room."""
        self._reader = reader
        try:
            yield
        finally:
            self._reader = None
            reader.close()


def on_a_screen() -> bool:
    return sys.stdout.isatty() and os.environ.get("TERM") != "dumb"


def not_written(error: OSError) -> int:
    """Say what is to be said where nobody reads our output any more, and return the exit code for it."""
    if not isinstance(error, BrokenPipeError):
        sys.stderr.write(f"moot: Cannot write the answer: {error.strerror}.\n")
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # what is still in the buffer has nowhere to go
    return 141 if isinstance(error, BrokenPipeError) else 1

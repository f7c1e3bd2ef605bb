"""What every form of a transcript can do: begin, take in what was said and found in its order, and end."""

from collections.abc import Mapping, Sequence
from typing import Protocol

from moot.board.replay import Board
from moot.engine.reports import Report
from moot.model.discussions import Discussion, Message
from moot.model.files import StoredFile


class Form(Protocol):
    """Each method returns what is written next. What a run came to is told after the last of its messages."""

    media_type: str
    ending: str

    def begin(self, discussion: Discussion) -> str: ...

    def said(self, messages: Sequence[Message], files: Mapping[str, StoredFile]) -> str: ...

    def found(self, report: Report) -> str: ...

    def end(self, board: Board) -> str: ...

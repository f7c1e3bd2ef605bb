"""What every form of a transcript can do: begin, take in what was said and found in its order, and end."""

from collections.abc import Mapping, Sequence
from typing import Protocol

from moot.board.replay import Board
from moot.engine.reports import Report
from moot.model.discussions import Discussion
from moot.model.files import StoredFile
from moot.model.versions import Turn


class Form(Protocol):
    """Each method returns what is written next, and leaves nothing out, also no other version of an answer.

    What a run came to is told after the last of its turns.
    """

    media_type: str
    ending: str

    def begin(self, discussion: Discussion) -> str: ...

    def said(self, turns: Sequence[Turn], files: Mapping[str, StoredFile]) -> str: ...

    def found(self, report: Report) -> str: ...

    def end(self, board: Board) -> str: ...

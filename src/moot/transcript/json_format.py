"""A transcript for programs: one JSON object, whose shape has a version."""

from collections.abc import Mapping, Sequence

import msgspec
from msgspec import Struct

from moot.services.run_reports import Report
from moot.types.discussions import Discussion, Message
from moot.types.files import StoredFile
from moot.types.versions import Turn
from moot.whiteboard.state import Board

VERSION = 1


class Transcript(Struct, frozen=True, kw_only=True):
    """`moot` is the version of this shape. `files` are what messages name by id; `board` is the whiteboard at the end.

    `versions` are what was said in the place of a message before, or instead; by `version_of`, or its id, it is known.
    """

    moot: int
    discussion: Discussion
    messages: tuple[Message, ...]
    versions: tuple[Message, ...]
    runs: tuple[Report, ...]
    files: tuple[StoredFile, ...]
    board: Board


class Document:
    media_type = "application/json"
    ending = "json"

    def __init__(self) -> None:
        self._reports: list[str] = []
        self._others: list[str] = []
        self._files: dict[str, StoredFile] = {}
        self._between = ""

    def begin(self, discussion: Discussion) -> str:
        return f'{{"moot":{VERSION},"discussion":{_json(discussion)},"messages":['

    def said(self, turns: Sequence[Turn], files: Mapping[str, StoredFile]) -> str:
        self._files |= files
        self._others += [_json(other) for turn in turns for other in turn.others]
        written = self._between + ",".join(_json(turn.now) for turn in turns)
        self._between = ","
        return written

    def found(self, report: Report) -> str:
        """Keep it: it is written when all messages are."""
        self._reports.append(_json(report))
        return ""

    def end(self, board: Board) -> str:
        files = ",".join(map(_json, self._files.values()))
        others, reports = ",".join(self._others), ",".join(self._reports)
        return f'],"versions":[{others}],"runs":[{reports}],"files":[{files}],"board":{_json(board)}}}\n'


def _json(value: object) -> str:
    return msgspec.json.encode(value).decode()

"""A transcript for programs: one JSON object, whose shape has a version."""

from collections.abc import Mapping, Sequence

import msgspec
from msgspec import Struct

from moot.services.run_reports import RunReport
from moot.types.discussions import Discussion, Message
from moot.types.files import StoredFile
from moot.types.versions import VersionedTurn
from moot.whiteboard.state import Board

FORMAT_VERSION = 1


class TranscriptDocument(Struct, frozen=True, kw_only=True):
    """`moot` is the version of this shape. `files` are what messages name by id; `board` is the whiteboard at the end.

    `versions` are what was said in the place of a message before, or instead; by `version_of`, or its id, it is known.
    """

    moot: int
    discussion: Discussion
    messages: tuple[Message, ...]
    versions: tuple[Message, ...]
    runs: tuple[RunReport, ...]
    files: tuple[StoredFile, ...]
    board: Board


class JsonFormat:
    media_type = "application/json"
    extension = "json"

    def __init__(self) -> None:
        self._reports: list[str] = []
        self._other_versions: list[str] = []
        self._files: dict[str, StoredFile] = {}
        self._separator = ""

    def render_start(self, discussion: Discussion) -> str:
        return f'{{"moot":{FORMAT_VERSION},"discussion":{_encode_json(discussion)},"messages":['

    def render_turns(self, turns: Sequence[VersionedTurn], files: Mapping[str, StoredFile]) -> str:
        self._files |= files
        self._other_versions += [_encode_json(other) for turn in turns for other in turn.other_versions]
        written = self._separator + ",".join(_encode_json(turn.current) for turn in turns)
        self._separator = ","
        return written

    def render_report(self, report: RunReport) -> str:
        """Keep it: it is written when all messages are."""
        self._reports.append(_encode_json(report))
        return ""

    def render_end(self, board: Board) -> str:
        files = ",".join(map(_encode_json, self._files.values()))
        others, reports = ",".join(self._other_versions), ",".join(self._reports)
        return (
            f'],"versions":[{others}],"runs":[{reports}],"files":[{files}],"board":{_encode_json(board)}}}\n'
        )


def _encode_json(value: object) -> str:
    return msgspec.json.encode(value).decode()

"""JSON transcript: one object with a versioned schema."""

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
    """Schema of the JSON transcript. `JsonFormat` writes it as a stream."""

    moot: int  # version of this schema
    discussion: Discussion
    messages: tuple[Message, ...]  # the current version of each turn
    versions: tuple[Message, ...]  # other versions; `version_of` or the id matches a message
    runs: tuple[RunReport, ...]
    files: tuple[StoredFile, ...]  # metadata of the attached files
    whiteboard: Board  # whiteboard at the end


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
        rendered = self._separator + ",".join(_encode_json(turn.current) for turn in turns)
        self._separator = ","
        return rendered

    def render_report(self, report: RunReport) -> str:
        """Buffer the report until the array of messages is complete."""
        self._reports.append(_encode_json(report))
        return ""

    def render_end(self, board: Board) -> str:
        files = ",".join(map(_encode_json, self._files.values()))
        others, reports = ",".join(self._other_versions), ",".join(self._reports)
        return f'],"versions":[{others}],"runs":[{reports}],"files":[{files}],"whiteboard":{_encode_json(board)}}}\n'


def _encode_json(value: object) -> str:
    return msgspec.json.encode(value).decode()

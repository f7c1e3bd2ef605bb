"""Server-sent events, from bytes cut anywhere to the data of whole events.

Lines end at CR, LF or CRLF bytes and nowhere else, so U+2028 and its kin inside JSON stay what they are.
Only new bytes are ever looked at; an event may not grow past a limit.
"""

from moot.types.errors import ProviderError
from moot.types.faults import make_fault

MAX_EVENT_BYTES = 512 * 1024
BOM = b"\xef\xbb\xbf"


class EventParser:
    def __init__(self, max_event_bytes: int = MAX_EVENT_BYTES) -> None:
        self._max_event_bytes = max_event_bytes
        self._started = False
        self._after_cr = False
        self._line_pieces: list[bytes] = []  # pieces of a line that has not ended
        self._data_lines: list[bytes] = []  # data lines of an event that has not ended
        self._line_size = 0
        self._data_size = 0

    def feed_bytes(self, piece: bytes) -> list[bytes]:
        """Take in bytes and return the data of every event that they complete."""
        if not self._started or self._after_cr or b"\r" in piece:
            piece = self._normalize_line_ends(piece)
        lines = piece.split(b"\n")
        if self._line_pieces and len(lines) > 1:
            lines[0] = b"".join([*self._line_pieces, lines[0]])
            self._line_pieces.clear()
            self._line_size = 0
        rest = lines.pop()
        events = self._parse_lines(lines)
        if rest:
            self._line_pieces.append(rest)
            self._line_size += len(rest)
        if self._line_size + self._data_size > self._max_event_bytes:
            raise ProviderError(
                make_fault(
                    "bad_response",
                    f"A single event grew past {self._max_event_bytes:,} bytes.",
                    retryable=False,
                )
            )
        return events

    def flush_event(self) -> bytes | None:
        """Return the data of an event that the stream ended without finishing, if there is one."""
        self._parse_lines([b"".join(self._line_pieces)])
        return b"\n".join(self._data_lines) or None

    def _parse_lines(self, lines: list[bytes]) -> list[bytes]:
        events: list[bytes] = []
        data = self._data_lines
        for line in lines:
            if line:
                if line.startswith(b"data:"):
                    data.append(line[6:] if line[5:6] == b" " else line[5:])
                    self._data_size += len(line)
            elif data:
                events.append(data[0] if len(data) == 1 else b"\n".join(data))
                data.clear()
                self._data_size = 0
        return events

    def _normalize_line_ends(self, piece: bytes) -> bytes:
        """Skip the byte order mark at the very beginning, and write every line end as LF."""
        if not self._started:
            begin = b"".join([*self._line_pieces, piece])
            self._line_pieces.clear()
            self._line_size = 0
            if len(begin) < len(BOM) and BOM.startswith(begin):
                self._line_pieces.append(begin)
                return b""
            self._started = True
            piece = begin.removeprefix(BOM)
        if self._after_cr and piece:
            self._after_cr = False
            piece = piece.removeprefix(b"\n")
        if b"\r" in piece:
            self._after_cr = piece.endswith(b"\r")
            piece = piece.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        return piece

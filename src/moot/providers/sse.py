"""Incremental parser for server-sent events, with a size limit for each event.

Lines end only at CR, LF or CRLF bytes. Unicode separators such as U+2028 inside JSON are kept.
Each byte is parsed once, so many small reads do not cost quadratic time.
"""

from moot.types.errors import ProviderError
from moot.types.faults import make_fault

MAX_EVENT_BYTES = 512 * 1024
BOM = b"\xef\xbb\xbf"


class EventParser:
    def __init__(self, max_event_bytes: int = MAX_EVENT_BYTES) -> None:
        self._max_event_bytes = max_event_bytes
        self._started = False
        self._after_cr = False  # the last byte was CR: a following LF belongs to the same line end
        self._line_pieces: list[bytes] = []  # of an incomplete line
        self._data_lines: list[bytes] = []  # of an incomplete event
        self._line_size = 0
        self._data_size = 0

    def feed_bytes(self, piece: bytes) -> list[bytes]:
        """Return the data of every event that these bytes complete. Raises ProviderError at the size limit."""
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
                    "bad_response", f"A single event is larger than {self._max_event_bytes:,} bytes.", retryable=False
                )
            )
        return events

    def flush_event(self) -> bytes | None:
        """Return the data of an incomplete event at the end of the stream, or None."""
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
        """Strip a byte order mark at the start, and replace CR and CRLF by LF."""
        if not self._started:
            begin = b"".join([*self._line_pieces, piece])
            self._line_pieces.clear()
            self._line_size = 0
            if len(begin) < len(BOM) and BOM.startswith(begin):
                self._line_pieces.append(begin)  # maybe a partial BOM: wait for more bytes
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

"""Server-sent events, from bytes cut anywhere to the data of whole events.

Lines end at CR, LF or CRLF bytes and nowhere else, so U+2028 and its kin inside JSON stay what they are.
Only new bytes are ever looked at; an event may not grow past a limit.
"""

from moot.types.errors import ProviderError
from moot.types.faults import fault

MAX_EVENT = 512 * 1024
BOM = b"\xef\xbb\xbf"


class EventParser:
    def __init__(self, max_event: int = MAX_EVENT) -> None:
        self._max_event = max_event
        self._started = False
        self._after_cr = False
        self._line: list[bytes] = []  # pieces of a line that has not ended
        self._data: list[bytes] = []  # data lines of an event that has not ended
        self._line_size = 0
        self._data_size = 0

    def feed(self, received: bytes) -> list[bytes]:
        """Take in bytes and return the data of every event that they complete."""
        if not self._started or self._after_cr or b"\r" in received:
            received = self._normalised(received)
        lines = received.split(b"\n")
        if self._line and len(lines) > 1:
            lines[0] = b"".join([*self._line, lines[0]])
            self._line.clear()
            self._line_size = 0
        rest = lines.pop()
        events = self._read(lines)
        if rest:
            self._line.append(rest)
            self._line_size += len(rest)
        if self._line_size + self._data_size > self._max_event:
            raise ProviderError(
                fault("bad_response", f"A single event grew past {self._max_event:,} bytes.", retryable=False)
            )
        return events

    def close(self) -> bytes | None:
        """Return the data of an event that the stream ended without finishing, if there is one."""
        self._read([b"".join(self._line)])
        return b"\n".join(self._data) or None

    def _read(self, lines: list[bytes]) -> list[bytes]:
        events: list[bytes] = []
        data = self._data
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

    def _normalised(self, received: bytes) -> bytes:
        """Skip the byte order mark at the very beginning, and write every line end as LF."""
        if not self._started:
            begin = b"".join([*self._line, received])
            self._line.clear()
            self._line_size = 0
            if len(begin) < len(BOM) and BOM.startswith(begin):
                self._line.append(begin)
                return b""
            self._started = True
            received = begin.removeprefix(BOM)
        if self._after_cr and received:
            self._after_cr = False
            received = received.removeprefix(b"\n")
        if b"\r" in received:
            self._after_cr = received.endswith(b"\r")
            received = received.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        return received

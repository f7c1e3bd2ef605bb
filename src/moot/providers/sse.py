"""Server-sent events, from bytes cut anywhere to the data of whole events.

Lines end at CR, LF or CRLF bytes and nowhere else, so U+2028 and its kin inside JSON stay what they are.
Only new bytes are ever looked at; an event may not grow past a limit.
"""

from moot.model.errors import ProviderError
from moot.model.faults import fault

MAX_EVENT = 512 * 1024
BOM = b"\xef\xbb\xbf"


class EventParser:
    def __init__(self, max_event: int = MAX_EVENT) -> None:
        self._max_event = max_event
        self._started = False
        self._after_cr = False
        self._line: list[bytes] = []  # pieces of a line that has not ended
        self._data: list[bytes] = []  # data lines of an event that has not ended
        self._held = 0

    def feed(self, received: bytes) -> list[bytes]:
        """Take in bytes and return the data of every event that they complete."""
        lines = self._split(received)
        events: list[bytes] = []
        data = self._data
        for line in lines:
            if line:
                if line.startswith(b"data:"):
                    data.append(line[6:] if line[5:6] == b" " else line[5:])
            elif data:
                events.append(data[0] if len(data) == 1 else b"\n".join(data))
                data.clear()
        self._guard(lines)
        return events

    def close(self) -> bytes | None:
        """Return the data of an event that the stream ended without finishing, if there is one."""
        self._data += [
            line.removeprefix(b"data:").removeprefix(b" ")
            for line in [b"".join(self._line)]
            if line.startswith(b"data:")
        ]
        return b"\n".join(self._data) or None

    def _split(self, received: bytes) -> list[bytes]:
        """Return the lines that `received` completes and keep the rest."""
        if not self._started:
            received = self._without_bom(received)
        if self._after_cr and received:
            self._after_cr = False
            received = received.removeprefix(b"\n")
        if b"\r" in received:
            self._after_cr = received.endswith(b"\r")
            received = received.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        *lines, rest = received.split(b"\n")
        if lines and self._line:
            lines[0] = b"".join([*self._line, lines[0]])
            self._line.clear()
        if rest:
            self._line.append(rest)
            self._held += len(rest)
        return lines

    def _without_bom(self, received: bytes) -> bytes:
        begin = b"".join([*self._line, received])
        self._line.clear()
        self._held = 0
        if len(begin) < len(BOM) and BOM.startswith(begin):
            self._line.append(begin)
            return b""
        self._started = True
        return begin.removeprefix(BOM)

    def _guard(self, lines: list[bytes]) -> None:
        if lines:
            self._held = sum(map(len, self._line)) + sum(map(len, self._data))
        if self._held > self._max_event:
            raise ProviderError(
                fault("bad_response", f"A single event grew past {self._max_event:,} bytes.", retryable=False)
            )

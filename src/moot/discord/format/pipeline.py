"""Turns the streamed text of one answer into Discord messages.

One `Outlet` serves one stream of one speaker. It does no I/O and reads no clock:

    outlet = Outlet(degree=2, room=Room(speaker="Alpha", others=("Beta",), members=members), chance=random.random)
    for each text delta:   sends = outlet.feed(delta)
    at a tool call, or before a file of the answer is sent:   sends = outlet.boundary()
    at the end of the turn, also after a stop:   sends = outlet.end()

Each call returns the messages to send now, in order. Every text has between 1 and 1,950 characters. Before each
message, wait `pause` seconds, then show the typing indicator for `typing` seconds. Both are 0 for the first message.
If the turn is interrupted or starts again, discard the outlet with everything unsent, and create a new one.

`outlet.left_out` counts the characters beyond the last message that a stream may have.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Literal

from msgspec import Struct

from moot.discord.format.cleaning import Cleaner, Humanizer
from moot.discord.format.mentions import Room
from moot.discord.format.messages import Kind, Part, closed, gather
from moot.discord.format.pieces import Piece, Prose
from moot.discord.format.segmenter import Segmenter

Degree = Literal[
    0, 1, 2, 3
]  # gathered; a message a paragraph; with typing between them; a sentence, humanized
MOST_MESSAGES = 40
SINGLE_MESSAGES = 20  # after which what is left is gathered, so that a long list does not use up the rest


class Send(Struct, frozen=True):
    """A message to send: first wait `pause` seconds, then show typing for `typing` seconds."""

    text: str
    kind: Kind = "text"  # a table's text holds a markdown table, which Discord cannot show
    pause: float = 0.0
    typing: float = 0.0


class Delivery:
    """Delivers one stream; `chance` gives numbers from 0 to 1, which choose how long the pauses are."""

    def __init__(self, degree: Degree, chance: Callable[[], float]) -> None:
        self._degree = degree
        self._chance = chance
        self._sent = 0
        self._gathered: list[Part] = []
        self.left_out = 0  # characters beyond the last message

    def take(self, pieces: Iterable[Piece]) -> list[Send]:
        """Return what is to be sent now; the rest is gathered."""
        due: list[Send] = []
        for piece in pieces:
            gather(self._gathered, piece)
            due += self._send(self._due())
        return due

    def flush(self, pieces: Sequence[Piece]) -> list[Send]:
        """Send these pieces and all that is gathered, and close the marks that are still open."""
        due = self.take(pieces[:-1])
        for last in pieces[-1:]:
            gather(self._gathered, last)
        parts, self._gathered = self._gathered, []
        if parts and parts[-1].kind == "text":
            parts[-1] = Part(closed(parts[-1].text.strip()), "text")
        return [*due, *self._send(parts)]

    def _due(self) -> list[Part]:
        """Take out what need not wait: all, or where messages are gathered those that are full."""
        if self._degree == 0:
            return []
        full = len(self._gathered) - (0 if self._sent < SINGLE_MESSAGES else 1)
        due, self._gathered = self._gathered[:full], self._gathered[full:]
        return due

    def _send(self, parts: list[Part]) -> list[Send]:
        sends = []
        for part in parts:
            text = part.text.strip()
            if self._sent == MOST_MESSAGES:
                self.left_out += len(text)
            elif text:
                sends.append(self._timed(text, part.kind))
                self._sent += 1
        return sends

    def _timed(self, text: str, kind: Kind) -> Send:
        if self._sent == 0 or self._degree < 2:
            return Send(text, kind)
        return Send(text, kind, pause=0.25 + 1.25 * self._chance(), typing=typing_seconds(len(text), kind))


def typing_seconds(characters: int, kind: Kind) -> float:
    return min(max(0.010 * characters, 0.75), 4.0) * (1.25 if kind == "code" else 1)


class Outlet:
    def __init__(
        self,
        *,
        degree: Degree,
        room: Room,
        chance: Callable[[], float],
        prefill: str = "",
        guard: bool = False,
    ) -> None:
        self._segments = Segmenter(sentences=degree == 3)
        self._cleaner = Cleaner(room, prefill=prefill, guard=guard)
        self._humanizer = Humanizer(room.names()) if degree == 3 else None
        self._delivery = Delivery(degree, chance)

    @property
    def left_out(self) -> int:
        return self._delivery.left_out

    def feed(self, text: str) -> list[Send]:
        pieces = self._segments.feed(text)
        return self._delivery.take(self._cleaned(pieces)) if pieces else []

    def boundary(self) -> list[Send]:
        """Send what there is: a tool is called, or a file of the answer follows."""
        pieces = self._cleaned(self._segments.end(), last=True)
        return self._delivery.flush(pieces)

    def end(self) -> list[Send]:
        return self.boundary()

    def _cleaned(self, pieces: list[Piece], *, last: bool = False) -> list[Piece]:
        kept = [cleaned for piece in pieces for cleaned in self._cleaner.clean(piece)]
        if last:
            kept += self._cleaner.rest()
        return [self._humanized(piece) for piece in kept]

    def _humanized(self, piece: Piece) -> Piece:
        if self._humanizer is None or not isinstance(piece, Prose):
            return piece
        return Prose(self._humanizer.humanized(piece.text))

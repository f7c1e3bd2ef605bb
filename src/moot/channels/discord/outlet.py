"""The way of one answer to a channel: text goes in as it is streamed, messages come out when they are due.

One outlet serves one stream of one speaker. It does no I/O and knows no clock:

    outlet = Outlet(degree=2, room=Room(speaker="Alpha", others=("Beta",), members=members), chance=random.random)
    for each text delta:   sends = outlet.feed(delta)
    at a tool call, or before a file of the answer is sent:   sends = outlet.boundary()
    at the end of the turn, also after a stop:   sends = outlet.end()

Each call returns the messages to send now, in order; every text has between 1 and 1,950 characters. Before a message
wait `pause` seconds, then type for `typing` seconds; both are 0 for the first message. After a follow-up interrupt, or
where the turn begins again, drop the outlet and what was not yet sent, and take a new one.

`outlet.left_out` counts the characters beyond the last message a stream may have.
"""

from collections.abc import Callable

from moot.channels.discord.cleaning import Cleaner
from moot.channels.discord.delivery import Degree, Delivery, Send
from moot.channels.discord.humanize import Humanizer
from moot.channels.discord.pieces import Piece, Prose
from moot.channels.discord.room import Room
from moot.channels.discord.segments import Segmenter


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

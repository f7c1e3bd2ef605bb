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

from moot.discord.format.cleaning import Humanizer, PieceCleaner
from moot.discord.format.mentions import ChannelMembers
from moot.discord.format.messages import MessagePart, PartKind, append_piece, close_open_marks
from moot.discord.format.pieces import MarkdownPiece, Prose
from moot.discord.format.segmenter import Segmenter

DeliveryStyle = Literal[
    0, 1, 2, 3
]  # gathered; a message a paragraph; with typing between them; a sentence, humanized
MAX_MESSAGES = 40
MAX_SINGLE_MESSAGES = 20  # after which what is left is gathered, so that a long list does not use up the rest


class OutgoingMessage(Struct, frozen=True):
    """A message to send: first wait `pause` seconds, then show typing for `typing` seconds."""

    text: str
    kind: PartKind = "text"  # a table's text holds a markdown table, which Discord cannot show
    pause_seconds: float = 0.0
    typing_seconds: float = 0.0


class StreamDelivery:
    """Delivers one stream; `chance` gives numbers from 0 to 1, which choose how long the pauses are."""

    def __init__(self, delivery_style: DeliveryStyle, random_source: Callable[[], float]) -> None:
        self._delivery_style = delivery_style
        self._random_source = random_source
        self._message_count = 0
        self._pending_parts: list[MessagePart] = []
        self.overflow_chars = 0  # characters beyond the last message

    def accept_pieces(self, pieces: Iterable[MarkdownPiece]) -> list[OutgoingMessage]:
        """Return what is to be sent now; the rest is gathered."""
        due: list[OutgoingMessage] = []
        for piece in pieces:
            append_piece(self._pending_parts, piece)
            due += self._build_messages(self._take_ready_parts())
        return due

    def flush_pieces(self, pieces: Sequence[MarkdownPiece]) -> list[OutgoingMessage]:
        """Send these pieces and all that is gathered, and close the marks that are still open."""
        due = self.accept_pieces(pieces[:-1])
        for last in pieces[-1:]:
            append_piece(self._pending_parts, last)
        parts, self._pending_parts = self._pending_parts, []
        if parts and parts[-1].kind == "text":
            parts[-1] = MessagePart(close_open_marks(parts[-1].text.strip()), "text")
        return [*due, *self._build_messages(parts)]

    def _take_ready_parts(self) -> list[MessagePart]:
        """Take out what need not wait: all, or where messages are gathered those that are full."""
        if self._delivery_style == 0:
            return []
        full = len(self._pending_parts) - (0 if self._message_count < MAX_SINGLE_MESSAGES else 1)
        due, self._pending_parts = self._pending_parts[:full], self._pending_parts[full:]
        return due

    def _build_messages(self, parts: list[MessagePart]) -> list[OutgoingMessage]:
        sends = []
        for part in parts:
            text = part.text.strip()
            if self._message_count == MAX_MESSAGES:
                self.overflow_chars += len(text)
            elif text:
                sends.append(self._add_timing(text, part.kind))
                self._message_count += 1
        return sends

    def _add_timing(self, text: str, kind: PartKind) -> OutgoingMessage:
        if self._message_count == 0 or self._delivery_style < 2:
            return OutgoingMessage(text, kind)
        return OutgoingMessage(
            text,
            kind,
            pause_seconds=0.25 + 1.25 * self._random_source(),
            typing_seconds=typing_seconds(len(text), kind),
        )


def typing_seconds(characters: int, kind: PartKind) -> float:
    return min(max(0.010 * characters, 0.75), 4.0) * (1.25 if kind == "code" else 1)


class MessageFormatter:
    def __init__(
        self,
        *,
        delivery_style: DeliveryStyle,
        channel_members: ChannelMembers,
        random_source: Callable[[], float],
        prefill: str = "",
        block_impersonation: bool = False,
    ) -> None:
        self._segmenter = Segmenter(sentences=delivery_style == 3)
        self._cleaner = PieceCleaner(
            channel_members, prefill=prefill, block_impersonation=block_impersonation
        )
        self._humanizer = Humanizer(channel_members.all_names()) if delivery_style == 3 else None
        self._delivery = StreamDelivery(delivery_style, random_source)

    @property
    def overflow_chars(self) -> int:
        return self._delivery.overflow_chars

    def feed(self, text: str) -> list[OutgoingMessage]:
        pieces = self._segmenter.feed(text)
        return self._delivery.accept_pieces(self._clean_pieces(pieces)) if pieces else []

    def flush_boundary(self) -> list[OutgoingMessage]:
        """Send what there is: a tool is called, or a file of the answer follows."""
        pieces = self._clean_pieces(self._segmenter.finish_text(), last=True)
        return self._delivery.flush_pieces(pieces)

    def finish_stream(self) -> list[OutgoingMessage]:
        return self.flush_boundary()

    def _clean_pieces(self, pieces: list[MarkdownPiece], *, last: bool = False) -> list[MarkdownPiece]:
        kept = [cleaned for piece in pieces for cleaned in self._cleaner.clean_piece(piece)]
        if last:
            kept += self._cleaner.flush_held()
        return [self._humanize_piece(piece) for piece in kept]

    def _humanize_piece(self, piece: MarkdownPiece) -> MarkdownPiece:
        if self._humanizer is None or not isinstance(piece, Prose):
            return piece
        return Prose(self._humanizer.humanize(piece.text))

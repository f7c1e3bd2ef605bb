"""Message formatter: converts the text stream of one turn into Discord messages. No I/O, no clock.

    members = ChannelMembers(participant="Alpha", other_participants=("Beta",))
    formatter = MessageFormatter(delivery_style=2, channel_members=members, random_source=random.random)
    formatter.feed(delta)         # for each text delta
    formatter.flush_boundary()    # at a tool call, or before a file of the answer
    formatter.finish_stream()     # at the end of the turn

Each method returns a list of messages to send now, in order. A text has 1 to 1,950 characters.
If the turn is interrupted or retried, discard the formatter and create another.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Literal

from msgspec import Struct

from moot.discord.format.cleaning import Humanizer, PieceCleaner
from moot.discord.format.mentions import ChannelMembers
from moot.discord.format.messages import MessagePart, PartKind, append_piece, close_open_marks
from moot.discord.format.pieces import MarkdownPiece, Prose
from moot.discord.format.segmenter import Segmenter

# 0: whole answer; 1: one message per paragraph; 2: as 1, with typing pauses; 3: one per sentence, casual style.
DeliveryStyle = Literal[0, 1, 2, 3]
MAX_MESSAGES = 40  # per stream
MAX_SINGLE_MESSAGES = 20  # after these, fill each message, so that a long list stays below the limit


class OutgoingMessage(Struct, frozen=True):
    text: str
    kind: PartKind = "text"  # "table": Markdown that Discord cannot render
    pause_seconds: float = 0.0  # wait first; 0 for the first message
    typing_seconds: float = 0.0  # then show the typing indicator


class StreamDelivery:
    """Batches pieces into messages by delivery style, and adds pauses.

    `random_source`: returns values from 0 to 1 for the length of the pauses.
    """

    def __init__(self, delivery_style: DeliveryStyle, random_source: Callable[[], float]) -> None:
        self._delivery_style = delivery_style
        self._random_source = random_source
        self._message_count = 0
        self._pending_parts: list[MessagePart] = []
        self.overflow_chars = 0  # characters dropped after `MAX_MESSAGES`

    def accept_pieces(self, pieces: Iterable[MarkdownPiece]) -> list[OutgoingMessage]:
        """Buffer the pieces, and return the messages that are ready."""
        messages: list[OutgoingMessage] = []
        for piece in pieces:
            append_piece(self._pending_parts, piece)
            messages += self._build_messages(self._take_ready_parts())
        return messages

    def flush_pieces(self, pieces: Sequence[MarkdownPiece]) -> list[OutgoingMessage]:
        """Return these pieces and the whole buffer as messages, with open marks closed."""
        messages = self.accept_pieces(pieces[:-1])
        for last in pieces[-1:]:
            append_piece(self._pending_parts, last)
        parts, self._pending_parts = self._pending_parts, []
        if parts and parts[-1].kind == "text":
            parts[-1] = MessagePart(close_open_marks(parts[-1].text.strip()), "text")
        return [*messages, *self._build_messages(parts)]

    def _take_ready_parts(self) -> list[MessagePart]:
        # After MAX_SINGLE_MESSAGES the last part stays in the buffer, so that later text can fill it.
        if self._delivery_style == 0:
            return []
        ready_count = len(self._pending_parts) - (0 if self._message_count < MAX_SINGLE_MESSAGES else 1)
        ready, self._pending_parts = self._pending_parts[:ready_count], self._pending_parts[ready_count:]
        return ready

    def _build_messages(self, parts: list[MessagePart]) -> list[OutgoingMessage]:
        messages = []
        for part in parts:
            text = part.text.strip()
            if self._message_count == MAX_MESSAGES:
                self.overflow_chars += len(text)
            elif text:
                messages.append(self._add_timing(text, part.kind))
                self._message_count += 1
        return messages

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
        self._cleaner = PieceCleaner(channel_members, prefill=prefill, block_impersonation=block_impersonation)
        self._humanizer = Humanizer(channel_members.all_names()) if delivery_style == 3 else None
        self._delivery = StreamDelivery(delivery_style, random_source)

    @property
    def overflow_chars(self) -> int:
        return self._delivery.overflow_chars

    def feed(self, text: str) -> list[OutgoingMessage]:
        pieces = self._segmenter.feed(text)
        return self._delivery.accept_pieces(self._clean_pieces(pieces)) if pieces else []

    def flush_boundary(self) -> list[OutgoingMessage]:
        """Return all buffered text as messages. More text may follow."""
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

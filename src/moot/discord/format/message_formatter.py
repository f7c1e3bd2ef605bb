"""Message formatter: converts the text stream of one turn into Discord messages. No I/O, no clock.

    members = ChannelMembers(participant="Alpha", other_participants=("Beta",))
    formatter = MessageFormatter(delivery_style="typing", channel_members=members, random_source=random.random)
    formatter.feed(delta)  # for each text delta
    formatter.flush()      # at a tool call, before a file of the answer, and at the end of the turn

Each method returns a list of messages to send now, in order. A text has 1 to 1,950 characters.
If the turn is interrupted or retried, discard the formatter and create another.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Literal

from msgspec.structs import replace

from moot.discord.format.cleaning import Humanizer, PieceCleaner
from moot.discord.format.mentions import ChannelMembers
from moot.discord.format.messages import MessageKind, PlannedMessage, append_piece, close_open_marks
from moot.discord.format.pieces import MarkdownPiece, Prose
from moot.discord.format.segmenter import Segmenter

# One message; one per paragraph; the same with typing pauses; one per sentence, in casual style.
DeliveryStyle = Literal["whole", "paragraphs", "typing", "sentences"]
MAX_MESSAGES = 40  # per stream
MAX_SINGLE_MESSAGES = 20  # after these, fill each message, so that a long list stays below the limit


class StreamDelivery:
    """Batches pieces into messages by delivery style, and adds pauses.

    `random_source`: returns values from 0 to 1 for the length of the pauses.
    """

    def __init__(self, delivery_style: DeliveryStyle, random_source: Callable[[], float]) -> None:
        self._delivery_style = delivery_style
        self._random_source = random_source
        self._message_count = 0
        self._pending: list[PlannedMessage] = []
        self.overflow_chars = 0  # characters dropped after `MAX_MESSAGES`

    def accept_pieces(self, pieces: Iterable[MarkdownPiece]) -> list[PlannedMessage]:
        """Buffer the pieces, and return the messages that are ready."""
        messages: list[PlannedMessage] = []
        for piece in pieces:
            append_piece(self._pending, piece)
            messages += self._finish_messages(self._take_ready())
        return messages

    def flush_pieces(self, pieces: Sequence[MarkdownPiece]) -> list[PlannedMessage]:
        """Return these pieces and the whole buffer as messages, with open marks closed."""
        messages = self.accept_pieces(pieces[:-1])
        for last in pieces[-1:]:
            append_piece(self._pending, last)
        rest, self._pending = self._pending, []
        if rest and rest[-1].kind == "text":
            rest[-1] = PlannedMessage(close_open_marks(rest[-1].text.strip()))
        return [*messages, *self._finish_messages(rest)]

    def _take_ready(self) -> list[PlannedMessage]:
        # After MAX_SINGLE_MESSAGES the last message stays in the buffer, so that later text can fill it.
        if self._delivery_style == "whole":
            return []
        ready_count = len(self._pending) - (0 if self._message_count < MAX_SINGLE_MESSAGES else 1)
        ready, self._pending = self._pending[:ready_count], self._pending[ready_count:]
        return ready

    def _finish_messages(self, messages: list[PlannedMessage]) -> list[PlannedMessage]:
        finished = []
        for message in messages:
            text = message.text.strip()
            if self._message_count == MAX_MESSAGES:
                self.overflow_chars += len(text)
            elif text:
                finished.append(self._add_timing(PlannedMessage(text, message.kind)))
                self._message_count += 1
        return finished

    def _add_timing(self, message: PlannedMessage) -> PlannedMessage:
        if self._message_count == 0 or self._delivery_style in {"whole", "paragraphs"}:
            return message
        pause = 0.25 + 1.25 * self._random_source()
        return replace(message, pause_seconds=pause, typing_seconds=typing_seconds(len(message.text), message.kind))


def typing_seconds(characters: int, kind: MessageKind) -> float:
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
        self._segmenter = Segmenter(sentences=delivery_style == "sentences")
        self._cleaner = PieceCleaner(channel_members, prefill=prefill, block_impersonation=block_impersonation)
        self._humanizer = Humanizer(channel_members.all_names()) if delivery_style == "sentences" else None
        self._delivery = StreamDelivery(delivery_style, random_source)

    @property
    def overflow_chars(self) -> int:
        return self._delivery.overflow_chars

    def feed(self, text: str) -> list[PlannedMessage]:
        pieces = self._segmenter.feed(text)
        return self._delivery.accept_pieces(self._clean_pieces(pieces)) if pieces else []

    def flush(self) -> list[PlannedMessage]:
        """Return all buffered text as messages. More text may follow."""
        pieces = self._clean_pieces(self._segmenter.finish_text(), last=True)
        return self._delivery.flush_pieces(pieces)

    def _clean_pieces(self, pieces: list[MarkdownPiece], *, last: bool = False) -> list[MarkdownPiece]:
        kept = [cleaned for piece in pieces for cleaned in self._cleaner.clean_piece(piece)]
        if last:
            kept += self._cleaner.flush_held()
        return [self._humanize_piece(piece) for piece in kept]

    def _humanize_piece(self, piece: MarkdownPiece) -> MarkdownPiece:
        if self._humanizer is None or not isinstance(piece, Prose):
            return piece
        return Prose(self._humanizer.humanize(piece.text))

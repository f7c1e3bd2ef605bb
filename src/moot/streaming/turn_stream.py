"""Stream consumer for one model response: provider chunks in, events out, one StreamResult at the end.

Stop requests and timeouts take effect on each batch and on each wait between batches.
Adjacent text chunks of a batch become one event. Errors become a result with a fault.
"""

import asyncio
import logging
import re
from collections.abc import Awaitable, Callable, Sequence
from contextlib import aclosing
from typing import Annotated, Literal, assert_never

from msgspec import Meta, Struct

from moot.providers.provider import ChunkStream
from moot.streaming.cancellation import StopSignal, StreamTimeouts
from moot.streaming.lesson_turn import ActionPerformed, LessonTurnParser, RejectedAction
from moot.streaming.reasoning_tags import ReasoningTagParser, StreamPiece, TextPiece, TextRetraction, ThoughtPiece
from moot.streaming.speaker_labels import SpeakerLabelFilter
from moot.types.chunks import Chunk, Done, Failed, FinishReason, Progress, Text, Thought, ToolCall, Usage
from moot.types.events import (
    ActionRejected,
    ActionTaken,
    Event,
    StopReason,
    TextDelta,
    TextRetracted,
    ThoughtDelta,
    TurnKey,
)
from moot.types.faults import Fault, make_fault

StreamStatus = StopReason | Literal["completed", "tool_call", "error", "timeout", "empty_response"]
ContentChunk = Text | Thought | ToolCall
Emit = Callable[[list[Event]], Awaitable[None]]
_TAG_OR_TEXT = re.compile(r"<[^<>]*>?|[^<]+")


class Limits(Struct, frozen=True, forbid_unknown_fields=True):
    """Limits of one stream."""

    idle: Annotated[float, Meta(gt=0)] = 180.0  # timeout in seconds without content
    total: Annotated[float, Meta(gt=0)] = 900.0  # timeout in seconds for the whole stream
    characters: Annotated[int, Meta(gt=0)] = 1_000_000


class StreamResult(Struct, frozen=True):
    status: StreamStatus
    text: str = ""
    thoughts: str = ""
    details: str = ""  # content of <details> blocks
    tool_calls: tuple[ToolCall, ...] = ()
    usage: Usage | None = None
    finish: FinishReason | None = None
    fault: Fault | None = None
    first_token_seconds: float | None = None
    lesson_items: str = ""  # JSON array of a lesson turn
    characters: int = 0  # received in total, including reasoning and discarded text
    parts: tuple[ContentChunk, ...] = ()  # only with tool calls: the content to send back in the next request
    impersonated: str | None = None  # the response spoke as this participant and was discarded


async def consume_stream(stream: ChunkStream, consumer: "StreamConsumer", stop: StopSignal, emit: Emit) -> StreamResult:
    """Consume one stream until it ends, stops or times out, and close it."""
    timeouts = StreamTimeouts(consumer.limits.idle, consumer.limits.total)
    try:
        async with timeouts, aclosing(stream):
            with stop.notify_on_stop(timeouts.cancel_stream):
                async for chunks in stream:
                    events = consumer.consume_chunks(chunks)
                    if events:
                        # The result includes these events, so a stop must not cancel the callback halfway.
                        with timeouts.cancellation_shield:
                            await emit(events)
                    elif consumer.has_progress:
                        timeouts.record_progress()
                    if timeouts.end_reason or consumer.is_finished:
                        break
    except Exception as error:
        # An unexpected exception fails this turn only. The other participants of the run continue.
        logging.getLogger(__name__).exception("turn failed: unexpected exception")
        consumer.record_failure(error)
    if events := consumer.close():
        await emit(events)
    return consumer.build_result(timeouts)


class StreamConsumer:
    """State of one stream. It does no I/O: `consume_stream` feeds it and publishes its events.

    `label_filter`: stop reading when the response impersonates another participant.
    `has_tools`: a response with only tool calls is valid.
    `has_spoken`: the turn has text from an earlier response, so an empty response is valid.
    """

    def __init__(
        self,
        turn_key: TurnKey,
        limits: Limits,
        lesson_parser: LessonTurnParser | None = None,
        label_filter: SpeakerLabelFilter | None = None,
        *,
        has_tools: bool = False,
        has_spoken: bool = False,
    ) -> None:
        self._turn_key = turn_key
        self._lesson_parser = lesson_parser
        self._label_filter = label_filter
        self._has_tools = has_tools
        self._has_spoken = has_spoken
        self._in_lesson_array = False  # True once the JSON array of a lesson turn begins
        self.limits = limits
        self._clock = asyncio.get_running_loop().time
        self._started_at = self._clock()
        self._reasoning_parser = ReasoningTagParser()
        self._tool_calls: list[ToolCall] = []
        self._content_chunks: list[ContentChunk] = []
        self._characters = 0
        self._first_token_seconds: float | None = None
        self._usage: Usage | None = None
        self._finish: FinishReason | None = None
        self._fault: Fault | None = None
        self.has_progress = False  # the last batch had content, even if it causes no event

    @property
    def is_finished(self) -> bool:
        return self._finish is not None or self._fault is not None or self._impersonated is not None

    @property
    def _impersonated(self) -> str | None:
        return self._label_filter.impersonated if self._label_filter else None

    def consume_chunks(self, chunks: list[Chunk]) -> list[Event]:
        events: list[Event] = []
        self.has_progress = False
        texts: list[str] = []
        for chunk in chunks:
            if self._has_tools and isinstance(chunk, (Text, Thought, ToolCall)):
                self._content_chunks.append(chunk)
            if isinstance(chunk, Text):
                texts.append(chunk.text)
            elif isinstance(chunk, Usage):
                self._usage = chunk
            else:
                events += self._consume_text(texts)
                events += self._handle_chunk(chunk)
        events += self._consume_text(texts)
        if self._first_token_seconds is None and (events or self._tool_calls):
            self._first_token_seconds = self._clock() - self._started_at
        return events

    def record_failure(self, error: Exception) -> None:
        if not self.is_finished:
            message = f"An internal error ended this turn ({type(error).__name__})."
            self._fault = make_fault("api_error", message, retryable=False)

    def close(self) -> list[Event]:
        events = self._events_for_pieces(self._reasoning_parser.close())
        if self._lesson_parser is not None:
            events += map(self._event_for_piece, self._lesson_parser.close())
        if self._label_filter is not None and (text := self._label_filter.close()):
            events.append(self._event_for_piece(TextPiece(text)))
        return events

    def build_result(self, timeouts: StreamTimeouts) -> StreamResult:
        source = self._lesson_parser or self._label_filter or self._reasoning_parser
        lesson_items = self._lesson_parser.lesson_items if self._lesson_parser else ""
        text, thoughts = source.text, self._reasoning_parser.thoughts
        status, fault_ = self._final_status(timeouts, text or lesson_items)
        return StreamResult(
            status,
            text,
            thoughts,
            self._reasoning_parser.details,
            tuple(self._tool_calls) if status == "tool_call" else (),
            self._usage,
            self._finish,
            fault_,
            self._first_token_seconds,
            lesson_items,
            self._characters,
            merge_chunks(self._content_chunks) if status == "tool_call" else (),
            self._impersonated if fault_ is None and timeouts.end_reason is None else None,
        )

    def _final_status(self, timeouts: StreamTimeouts, text: str) -> tuple[StreamStatus, Fault | None]:
        if self._fault is not None:
            return "error", self._fault
        if self._impersonated is not None and timeouts.end_reason is None:
            return "empty_response", None
        if self._finish is not None:
            return self._status_after_finish(text)
        match timeouts.end_reason:
            case "stopped_by_user" | "follow_up_interrupt" | "late" | "max_cost" as reason:
                return reason, None
            case "total":
                return "timeout", make_fault("timeout", f"The answer took longer than {self.limits.total:g} s.")
            case "idle":
                return "timeout", make_fault("timeout", f"No content came for {self.limits.idle:g} s.")
            case None:
                return "error", make_fault("network", "The stream ended early; the answer may be incomplete.")
            case unknown:
                assert_never(unknown)

    def _status_after_finish(self, text: str) -> tuple[StreamStatus, Fault | None]:
        if self._finish == "content_filter":
            return "error", make_fault("content_blocked", "The provider's content filter cut the answer.")
        is_answer = text.strip() or self._reasoning_parser.details or self._has_spoken
        if is_answer or (self._tool_calls and self._has_tools):
            return "tool_call" if self._tool_calls else "completed", None
        if self._finish == "length":
            return "error", make_fault(
                "context_length", "The token limit was used up before the answer began: allow more tokens."
            )
        message = "The model gave an empty answer."
        if self._tool_calls:
            name = self._tool_calls[0].name[:100]
            message = f"The model gave no answer, only a call of the tool {name}, which does not exist."
        return "empty_response", make_fault("bad_response", message)

    def _consume_text(self, texts: list[str]) -> list[Event]:
        if not texts:
            return []
        text = self._sanitize_text("".join(texts))
        texts.clear()
        return self._events_for_pieces(self._split_pieces(text))

    def _split_pieces(self, text: str) -> list[StreamPiece]:
        """Parse reasoning tags. In a lesson turn only before the array: inside it, tags are plain text."""
        if self._lesson_parser is None:
            return self._reasoning_parser.feed(text)
        if self._in_lesson_array:
            return [TextPiece(text)]
        pieces: list[StreamPiece] = []
        for part in _TAG_OR_TEXT.finditer(text):
            parsed = self._reasoning_parser.feed(part[0])
            pieces += parsed
            if any(isinstance(piece, TextPiece) for piece in parsed):
                self._in_lesson_array = True
                return [*pieces, *self._reasoning_parser.close(), TextPiece(text[part.end() :])]
        return pieces

    def _handle_chunk(self, chunk: Thought | ToolCall | Progress | Done | Failed) -> list[Event]:
        match chunk:
            case Thought(text) if text:
                return self._events_for_pieces(self._reasoning_parser.add_thought(self._sanitize_text(text)))
            case Thought():  # only a signature
                pass
            case Progress(characters):
                self._count_characters(characters)
            case ToolCall():
                self._tool_calls.append(chunk)
            case Done(finish):
                self._finish = finish
            case Failed(failure):
                self._fault = failure
            case _:
                assert_never(chunk)
        return []

    def _sanitize_text(self, text: str) -> str:
        """Remove NUL and lone surrogates, which the database rejects."""
        self._count_characters(len(text))
        if not text.isascii():
            text = _repair_surrogates(text)
        return text.replace("\0", "") if "\0" in text else text

    def _count_characters(self, characters: int) -> None:
        """Enforce the character limit, so that an endless stream ends."""
        self.has_progress = True
        self._characters += characters
        if self._characters > self.limits.characters:
            self._fault = make_fault(
                "bad_response", f"The answer was stopped at {self.limits.characters:,} characters.", retryable=False
            )

    def _events_for_pieces(self, pieces: list[StreamPiece]) -> list[Event]:
        events: list[Event] = []
        for piece in pieces:
            if self._lesson_parser is not None and isinstance(piece, TextPiece):
                events += map(self._event_for_piece, self._lesson_parser.feed(piece.text))
            elif self._label_filter is not None and isinstance(piece, TextPiece):
                if text := self._label_filter.feed(piece.text):
                    events.append(self._event_for_piece(TextPiece(text)))
            else:
                if self._label_filter is not None and isinstance(piece, TextRetraction):
                    self._label_filter.reset_filter()
                events.append(self._event_for_piece(piece))
        return events

    def _event_for_piece(self, piece: StreamPiece | ActionPerformed | RejectedAction) -> Event:
        who, stage, round_ = self._turn_key.participant, self._turn_key.stage, self._turn_key.round
        match piece:
            case TextPiece(text):
                return TextDelta(participant=who, stage=stage, round=round_, text=text)
            case ThoughtPiece(text):
                return ThoughtDelta(participant=who, stage=stage, round=round_, text=text)
            case TextRetraction():
                return TextRetracted(participant=who, stage=stage, round=round_)
            case ActionPerformed(id, action):
                return ActionTaken(participant=who, stage=stage, round=round_, id=id, action=action)
            case RejectedAction(name, reason):
                return ActionRejected(participant=who, stage=stage, round=round_, name=name, reason=reason)


def merge_chunks(chunks: Sequence[ContentChunk]) -> tuple[ContentChunk, ...]:
    """Merge adjacent chunks of the same type. A signature ends its thought, so the next one stays separate."""
    groups: list[list[ContentChunk]] = []
    for chunk in chunks:
        if groups and _can_merge(groups[-1][-1], chunk):
            groups[-1].append(chunk)
        else:
            groups.append([chunk])
    return tuple(map(_merge_group, groups))


def _can_merge(last: ContentChunk, chunk: ContentChunk) -> bool:
    match last, chunk:
        case (Text(), Text()) | (Thought(signature=""), Thought()):
            return True
    return False


def _merge_group(pieces: Sequence[ContentChunk]) -> ContentChunk:
    last = pieces[-1]
    match last:
        case Text():
            return Text("".join(one.text for one in pieces if isinstance(one, Text)))
        case Thought(signature=signature):
            return Thought("".join(one.text for one in pieces if isinstance(one, Thought)), signature)
    return last


def _repair_surrogates(text: str) -> str:
    """Join surrogate pairs, and replace lone surrogates by U+FFFD."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text

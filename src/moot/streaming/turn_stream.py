"""The turn state machine: chunks in, events out, and one result at the end, whatever happens.

Stop and time-outs are looked at on every batch of chunks and in every wait between them. Neighbouring text
chunks of one batch arrived together, so they leave as one event.
"""

import asyncio
import logging
import re
from collections.abc import Awaitable, Callable, Sequence
from contextlib import aclosing
from typing import Annotated, Literal, assert_never

from msgspec import Meta, Struct

from moot.providers.provider import ChunkStream
from moot.streaming.cancellation import Guard, Stop
from moot.streaming.lesson_turn import Act, Dropped, Took
from moot.streaming.reasoning_tags import Capture, Piece, Retracted, Said, Thinking
from moot.streaming.speaker_labels import Introduction
from moot.types.chunks import Chunk, Done, Failed, Finish, Progress, Text, Thought, ToolCall, Usage
from moot.types.events import (
    ActionDropped,
    ActionTaken,
    Event,
    Reason,
    Seat,
    TextDelta,
    TextRetracted,
    ThoughtDelta,
)
from moot.types.faults import Fault, fault

Status = Reason | Literal["completed", "tool_call", "error", "timeout", "empty_response"]
Came = Text | Thought | ToolCall
Emit = Callable[[list[Event]], Awaitable[None]]
_TAGS_APART = re.compile(r"<[^<>]*>?|[^<]+")


class Limits(Struct, frozen=True, forbid_unknown_fields=True):
    """Seconds without content, seconds in all, and characters that one stream may have."""

    idle: Annotated[float, Meta(gt=0)] = 180.0
    total: Annotated[float, Meta(gt=0)] = 900.0
    characters: Annotated[int, Meta(gt=0)] = 1_000_000


class StreamResult(Struct, frozen=True):
    status: Status
    text: str = ""
    thoughts: str = ""
    details: str = ""
    tool_calls: tuple[ToolCall, ...] = ()
    usage: Usage | None = None
    finish: Finish | None = None
    fault: Fault | None = None
    first_token: float | None = None
    script: str = ""
    characters: int = 0  # of all that came, whatever became of it
    parts: tuple[Came, ...] = ()  # of an answer that calls tools, to be handed back as it came
    foreign: str | None = None  # as whom it spoke: it was thrown away


async def listen(
    stream: ChunkStream,
    seat: Seat,
    stop: Stop,
    limits: Limits,
    emit: Emit,
    act: Act | None = None,
    *,
    introduction: Introduction | None = None,
    tools: bool = False,
    said: bool = False,
) -> StreamResult:
    """Follow one stream to its end, or to the stop or time-out that comes first, and close it.

    With an `introduction`, an answer is listened to no longer than it speaks as somebody at the table may. Where there are `tools`, an answer may consist of calls alone; where the turn has `said` something before, of nothing.
    """
    listener = Listener(seat, limits, act, introduction, tools=tools, said=said)
    guard = Guard(limits.idle, limits.total)
    try:
        async with guard, aclosing(stream):
            with stop.watched(guard.end):
                async for chunks in stream:
                    events = listener.take(chunks)
                    if events:
                        with guard.undisturbed:  # what was heard is told, whole
                            await emit(events)
                    elif listener.progressed:
                        guard.touch()
                    if guard.ending or listener.over:
                        break
    except Exception as error:
        # A mistake of ours must not end the other lanes; here, and only here, it becomes a failed turn.
        logging.getLogger(__name__).exception("a turn failed")
        listener.fail(error)
    if events := listener.close():
        await emit(events)
    return listener.result(guard)


class Listener:
    """What has been heard of one stream so far."""

    def __init__(
        self,
        seat: Seat,
        limits: Limits,
        act: Act | None = None,
        introduction: Introduction | None = None,
        *,
        tools: bool = False,
        said: bool = False,
    ) -> None:
        self._seat = seat
        self._act = act
        self._introduction = introduction
        self._tools = tools
        self._said = said
        self._acting = False  # the thoughts before an act are over
        self._limits = limits
        self._clock = asyncio.get_running_loop().time
        self._started = self._clock()
        self._capture = Capture()
        self._calls: list[ToolCall] = []
        self._came: list[Came] = []
        self._characters = 0
        self._first: float | None = None
        self._usage: Usage | None = None
        self._finish: Finish | None = None
        self._fault: Fault | None = None
        self.progressed = False  # whether the last batch had content, shown or not

    @property
    def over(self) -> bool:
        return self._finish is not None or self._fault is not None or self._foreign is not None

    @property
    def _foreign(self) -> str | None:
        return self._introduction.foreign if self._introduction else None

    def take(self, chunks: list[Chunk]) -> list[Event]:
        events: list[Event] = []
        self.progressed = False
        texts: list[str] = []
        for chunk in chunks:
            if self._tools and isinstance(chunk, (Text, Thought, ToolCall)):
                self._came.append(chunk)
            if isinstance(chunk, Text):
                texts.append(chunk.text)
            elif isinstance(chunk, Usage):
                self._usage = chunk
            else:
                events += self._hear(texts)
                events += self._note(chunk)
        events += self._hear(texts)
        if self._first is None and (events or self._calls):
            self._first = self._clock() - self._started
        return events

    def fail(self, error: Exception) -> None:
        if not self.over:
            words = f"A mistake in Moot itself ended this turn ({type(error).__name__})."
            self._fault = fault("api_error", words, retryable=False)

    def close(self) -> list[Event]:
        events = self._events(self._capture.close())
        if self._act is not None:
            events += map(self._event, self._act.close())
        if self._introduction is not None and (text := self._introduction.close()):
            events.append(self._event(Said(text)))
        return events

    def result(self, guard: Guard) -> StreamResult:
        heard = self._act or self._introduction or self._capture
        script = self._act.script if self._act else ""
        text, thoughts = heard.text, self._capture.thoughts
        status, fault_ = self._ending(guard, text or script)
        return StreamResult(
            status,
            text,
            thoughts,
            self._capture.details,
            tuple(self._calls) if status == "tool_call" else (),
            self._usage,
            self._finish,
            fault_,
            self._first,
            script,
            self._characters,
            joined(self._came) if status == "tool_call" else (),
            self._foreign if fault_ is None and guard.ending is None else None,
        )

    def _ending(self, guard: Guard, text: str) -> tuple[Status, Fault | None]:
        if self._fault is not None:
            return "error", self._fault
        if self._foreign is not None and guard.ending is None:
            return "empty_response", None
        if self._finish is not None:
            return self._finished(text)
        match guard.ending:
            case "stopped_by_user" | "follow_up_interrupt" | "late" | "over_cap" as reason:
                return reason, None
            case "total":
                return "timeout", fault("timeout", f"The answer took longer than {self._limits.total:g} s.")
            case "idle":
                return "timeout", fault("timeout", f"No content came for {self._limits.idle:g} s.")
            case None:
                return "error", fault("network", "The stream ended early; the answer may be incomplete.")
            case unknown:
                assert_never(unknown)

    def _finished(self, text: str) -> tuple[Status, Fault | None]:
        if self._finish == "content_filter":
            return "error", fault("content_blocked", "The provider's content filter cut the answer.")
        is_answer = text.strip() or self._capture.details or self._said
        if is_answer or (self._calls and self._tools):
            return "tool_call" if self._calls else "completed", None
        if self._finish == "length":
            return "error", fault(
                "context_length", "The token limit was used up before the answer began: allow more tokens."
            )
        words = "The model gave an empty answer."
        if self._calls:
            words = f"The model gave no answer but a call of the tool {self._calls[0].name[:100]}, which is not there."
        return "empty_response", fault("bad_response", words)

    def _hear(self, texts: list[str]) -> list[Event]:
        if not texts:
            return []
        text = self._clean("".join(texts))
        texts.clear()
        return self._events(self._pieces(text))

    def _pieces(self, text: str) -> list[Piece]:
        """Take blocks out of a text. In an array tags are only characters, but thoughts may come before it."""
        if self._act is None:
            return self._capture.feed(text)
        if self._acting:
            return [Said(text)]
        pieces: list[Piece] = []
        for part in _TAGS_APART.finditer(text):
            heard = self._capture.feed(part[0])
            pieces += heard
            if any(isinstance(piece, Said) for piece in heard):
                self._acting = True
                return [*pieces, *self._capture.close(), Said(text[part.end() :])]
        return pieces

    def _note(self, chunk: Thought | ToolCall | Progress | Done | Failed) -> list[Event]:
        match chunk:
            case Thought(text):
                return self._events(self._capture.think(self._clean(text))) if text else []
            case Progress(characters):
                self._count(characters)
            case ToolCall():
                self._calls.append(chunk)
            case Done(finish):
                self._finish = finish
            case Failed(failure):
                self._fault = failure
            case _:
                assert_never(chunk)
        return []

    def _clean(self, text: str) -> str:
        """Drop what no database keeps."""
        self._count(len(text))
        if not text.isascii():
            text = _without_surrogates(text)
        return text.replace("\0", "") if "\0" in text else text

    def _count(self, characters: int) -> None:
        """Note progress, and see to it that a stream has an end."""
        self.progressed = True
        self._characters += characters
        if self._characters > self._limits.characters:
            self._fault = fault(
                "bad_response",
                f"The answer was stopped at {self._limits.characters:,} characters.",
                retryable=False,
            )

    def _events(self, pieces: list[Piece]) -> list[Event]:
        events: list[Event] = []
        for piece in pieces:
            if self._act is not None and isinstance(piece, Said):
                events += map(self._event, self._act.feed(piece.text))
            elif self._introduction is not None and isinstance(piece, Said):
                if text := self._introduction.feed(piece.text):
                    events.append(self._event(Said(text)))
            else:
                if self._introduction is not None and isinstance(piece, Retracted):
                    self._introduction.retract()
                events.append(self._event(piece))
        return events

    def _event(self, piece: Piece | Took | Dropped) -> Event:
        who, stage, round_ = self._seat.participant, self._seat.stage, self._seat.round
        match piece:
            case Said(text):
                return TextDelta(participant=who, stage=stage, round=round_, text=text)
            case Thinking(text):
                return ThoughtDelta(participant=who, stage=stage, round=round_, text=text)
            case Retracted():
                return TextRetracted(participant=who, stage=stage, round=round_)
            case Took(id, action):
                return ActionTaken(participant=who, stage=stage, round=round_, id=id, action=action)
            case Dropped(name, reason):
                return ActionDropped(participant=who, stage=stage, round=round_, name=name, reason=reason)


def joined(came: Sequence[Came]) -> tuple[Came, ...]:
    """Put together what came in pieces; a signature ends the thought that it is for."""
    groups: list[list[Came]] = []
    for chunk in came:
        if groups and _goes_on(groups[-1][-1], chunk):
            groups[-1].append(chunk)
        else:
            groups.append([chunk])
    return tuple(map(_whole, groups))


def _goes_on(last: Came, chunk: Came) -> bool:
    match last, chunk:
        case (Text(), Text()) | (Thought(signature=""), Thought()):
            return True
    return False


def _whole(pieces: Sequence[Came]) -> Came:
    last = pieces[-1]
    match last:
        case Text():
            return Text("".join(one.text for one in pieces if isinstance(one, Text)))
        case Thought(signature=signature):
            return Thought("".join(one.text for one in pieces if isinstance(one, Thought)), signature)
    return last


def _without_surrogates(text: str) -> str:
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text

"""Server-sent events as plain ASGI: frames come ready made, and a reader that does not read is cut off."""

import asyncio
import logging
import time
from collections.abc import AsyncGenerator, Iterator, Sequence
from contextlib import aclosing, suppress
from typing import Any

import msgspec
from litestar import Response
from litestar.types import HTTPResponseBodyEvent, Receive, Scope, Send
from msgspec import Struct

from moot.server.auth import Revocations
from moot.server.disconnects import hang_up
from moot.types.accounts import Caller
from moot.types.errors import StoreUnavailable

MEDIA_TYPE = "text/event-stream"
HEADERS = [
    (b"content-type", b"text/event-stream; charset=utf-8"),
    (b"cache-control", b"no-store"),
    (b"x-accel-buffering", b"no"),
    (b"x-content-type-options", b"nosniff"),
]
HEARTBEAT_SECONDS = 15.0
STUCK_SECONDS = 30.0
LOOKS = 10  # at a reader until it counts as stuck
A_WRITE = 64 * 1024  # bytes, and the frame that goes past them
HEARTBEAT = b": still here\n\n"
END: HTTPResponseBodyEvent = {"type": "http.response.body", "body": b"", "more_body": False}

Frames = AsyncGenerator[list[bytes], None]
log = logging.getLogger(__name__)


class Reader:
    """One open stream. It is ended from outside by cancelling its task; `parting` is what it is told then."""

    def __init__(self, frames: Frames, caller: Caller, opening: bytes, parting: bytes) -> None:
        self.caller = caller
        self.opening = opening
        self.parting = parting
        self.task: asyncio.Task[None] | None = None
        self.sending_since: float | None = None  # None while there is nothing to send
        self._frames = frames

    async def run(self, send: Send) -> None:
        sent = time.monotonic()
        async with aclosing(self._frames) as frames:
            async for some in frames:
                for piece in _pieces(some) if some else _heartbeat(sent):
                    self.sending_since = sent = time.monotonic()
                    await send({"type": "http.response.body", "body": piece, "more_body": True})
                    self.sending_since = None

    def end(self) -> None:
        if self.task is not None:
            self.task.cancel()


class Readers:
    """All open streams of this process."""

    def __init__(self, revocations: Revocations, stuck_seconds: float = STUCK_SECONDS) -> None:
        self._open: set[Reader] = set()
        self._revocations = revocations
        self._stuck_seconds = stuck_seconds

    def __len__(self) -> int:
        return len(self._open)

    def stream(
        self, frames: Frames, caller: Caller, opening: bytes = b"", parting: bytes = b""
    ) -> "EventStream":
        return EventStream(self, Reader(frames, caller, opening, parting))

    def end_all(self) -> None:
        for reader in tuple(self._open):
            reader.end()

    async def end_stuck_ones(self) -> None:
        """Cut off readers that take nothing; they may come back at their number."""
        while True:
            await asyncio.sleep(self._stuck_seconds / LOOKS)
            late = time.monotonic() - self._stuck_seconds
            for reader in tuple(self._open):
                if reader.sending_since is not None and reader.sending_since < late:
                    reader.end()

    async def serve(self, reader: Reader, scope: Scope, receive: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": HEADERS})
        await send({"type": "http.response.body", "body": reader.opening or HEARTBEAT, "more_body": True})
        reader.task = asyncio.create_task(reader.run(send))
        leaving = asyncio.create_task(_left(receive))
        self._open.add(reader)
        try:
            with self._revocations.watching(reader.caller, reader.end):
                await asyncio.wait({reader.task, leaving}, return_when=asyncio.FIRST_COMPLETED)
            if not leaving.done() and not await self._parted(reader, send) and hang_up(scope):
                await leaving
        finally:
            self._open.discard(reader)
            await _ended(reader.task, leaving)

    async def _parted(self, reader: Reader, send: Send) -> bool:
        """End a stream in good form, if its reader takes what it is sent."""
        if reader.sending_since is None:
            with suppress(TimeoutError):
                async with asyncio.timeout(self._stuck_seconds):
                    if reader.parting and reader.task is not None and not _ended_by_itself(reader.task):
                        await send({"type": "http.response.body", "body": reader.parting, "more_body": True})
                    await send(END)
                return True
        return False


class EventStream(Response[str]):
    """What a handler returns to answer with a stream."""

    def __init__(self, readers: Readers, reader: Reader) -> None:
        super().__init__("", media_type=MEDIA_TYPE)
        self._readers = readers
        self._reader = reader

    def to_asgi_response(self, *_: Any, **__: Any) -> Any:
        async def respond(scope: Scope, receive: Receive, send: Send) -> None:
            await self._readers.serve(self._reader, scope, receive, send)

        return respond


def _ended_by_itself(task: "asyncio.Task[None]") -> bool:
    return not task.cancelled() and task.exception() is None


def _pieces(frames: Sequence[bytes]) -> Iterator[bytes]:
    """Join frames to what is sent at once: whoever does not read keeps no more than that waiting."""
    start = size = 0
    for place, frame in enumerate(frames, 1):
        size += len(frame)
        if size >= A_WRITE or place == len(frames):
            yield b"".join(frames[start:place])
            start, size = place, 0


def _heartbeat(sent: float) -> Iterator[bytes]:
    if time.monotonic() - sent >= HEARTBEAT_SECONDS:
        yield HEARTBEAT


async def _left(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


async def _ended(*tasks: "asyncio.Task[None]") -> None:
    """End tasks; what went wrong in one is told, unless it is that the database was away."""
    for task in tasks:
        task.cancel()
    for outcome in await asyncio.gather(*tasks, return_exceptions=True):
        if isinstance(outcome, Exception) and not isinstance(outcome, StoreUnavailable):
            log.error("a stream failed", exc_info=outcome)


LOOK_SECONDS = 5.0


async def begun(events: AsyncGenerator[Struct, None]) -> Frames:
    """Wait for the first event, before which work may still be refused; then it is a stream."""
    return _frames(await anext(events), events)


async def _frames(first: Struct, events: AsyncGenerator[Struct, None]) -> Frames:
    """Yield events as they are sent; an empty list is: still here."""
    async with aclosing(events):
        event: Struct | None = first
        while event is not None:
            yield [_frame(event)]
            coming = asyncio.ensure_future(anext(events, None))
            try:
                while not (await asyncio.wait({coming}, timeout=LOOK_SECONDS))[0]:
                    yield []
                event = coming.result()
            finally:
                coming.cancel()
                await asyncio.gather(coming, return_exceptions=True)


def _frame(event: Struct) -> bytes:
    return b"data: " + msgspec.json.encode(event) + b"\n\n"

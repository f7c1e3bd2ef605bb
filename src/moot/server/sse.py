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
from moot.server.disconnects import abort_connection
from moot.types.accounts import Caller
from moot.types.errors import DatabaseUnavailable

SSE_MEDIA_TYPE = "text/event-stream"
SSE_HEADERS = [
    (b"content-type", b"text/event-stream; charset=utf-8"),
    (b"cache-control", b"no-store"),
    (b"x-accel-buffering", b"no"),
    (b"x-content-type-options", b"nosniff"),
]
HEARTBEAT_SECONDS = 15.0
STUCK_SECONDS = 30.0
STUCK_CHECKS = 10  # at a reader until it counts as stuck
MAX_WRITE_BYTES = 64 * 1024  # bytes, and the frame that goes past them
HEARTBEAT = b": still here\n\n"
END_OF_BODY: HTTPResponseBodyEvent = {"type": "http.response.body", "body": b"", "more_body": False}

Frames = AsyncGenerator[list[bytes], None]
log = logging.getLogger(__name__)


class SseConnection:
    """One open stream. It is ended from outside by cancelling its task; `parting` is what it is told then."""

    def __init__(self, frames: Frames, caller: Caller, opening_frame: bytes, closing_frame: bytes) -> None:
        self.caller = caller
        self.opening_frame = opening_frame
        self.closing_frame = closing_frame
        self.task: asyncio.Task[None] | None = None
        self.sending_since: float | None = None  # None while there is nothing to send
        self._frames = frames

    async def send_frames(self, send: Send) -> None:
        sent = time.monotonic()
        async with aclosing(self._frames) as frames:
            async for some in frames:
                for piece in _write_batches(some) if some else _heartbeat_if_due(sent):
                    self.sending_since = sent = time.monotonic()
                    await send({"type": "http.response.body", "body": piece, "more_body": True})
                    self.sending_since = None

    def cancel_stream(self) -> None:
        if self.task is not None:
            self.task.cancel()


class SseConnections:
    """All open streams of this process."""

    def __init__(self, revocations: Revocations, stuck_seconds: float = STUCK_SECONDS) -> None:
        self._connections: set[SseConnection] = set()
        self._revocations = revocations
        self._stuck_seconds = stuck_seconds

    def __len__(self) -> int:
        return len(self._connections)

    def stream_response(
        self, frames: Frames, caller: Caller, opening_frame: bytes = b"", closing_frame: bytes = b""
    ) -> "SseResponse":
        return SseResponse(self, SseConnection(frames, caller, opening_frame, closing_frame))

    def close_all(self) -> None:
        for reader in tuple(self._connections):
            reader.cancel_stream()

    async def close_stuck_connections(self) -> None:
        """Cut off readers that take nothing; they may come back at their number."""
        while True:
            await asyncio.sleep(self._stuck_seconds / STUCK_CHECKS)
            late = time.monotonic() - self._stuck_seconds
            for reader in tuple(self._connections):
                if reader.sending_since is not None and reader.sending_since < late:
                    reader.cancel_stream()

    async def serve_connection(
        self, connection: SseConnection, scope: Scope, receive: Receive, send: Send
    ) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": SSE_HEADERS})
        await send(
            {"type": "http.response.body", "body": connection.opening_frame or HEARTBEAT, "more_body": True}
        )
        connection.task = asyncio.create_task(connection.send_frames(send))
        leaving = asyncio.create_task(_wait_for_disconnect(receive))
        self._connections.add(connection)
        try:
            with self._revocations.watch_credential(connection.caller, connection.cancel_stream):
                await asyncio.wait({connection.task, leaving}, return_when=asyncio.FIRST_COMPLETED)
            if (
                not leaving.done()
                and not await self._close_gracefully(connection, send)
                and abort_connection(scope)
            ):
                await leaving
        finally:
            self._connections.discard(connection)
            await _cancel_tasks(connection.task, leaving)

    async def _close_gracefully(self, connection: SseConnection, send: Send) -> bool:
        """End a stream in good form, if its reader takes what it is sent."""
        if connection.sending_since is None:
            with suppress(TimeoutError):
                async with asyncio.timeout(self._stuck_seconds):
                    if (
                        connection.closing_frame
                        and connection.task is not None
                        and not _is_normal_end(connection.task)
                    ):
                        await send(
                            {
                                "type": "http.response.body",
                                "body": connection.closing_frame,
                                "more_body": True,
                            }
                        )
                    await send(END_OF_BODY)
                return True
        return False


class SseResponse(Response[str]):
    """What a handler returns to answer with a stream."""

    def __init__(self, connections: SseConnections, connection: SseConnection) -> None:
        super().__init__("", media_type=SSE_MEDIA_TYPE)
        self._connections = connections
        self._connection = connection

    def to_asgi_response(self, *_: Any, **__: Any) -> Any:
        async def respond(scope: Scope, receive: Receive, send: Send) -> None:
            await self._connections.serve_connection(self._connection, scope, receive, send)

        return respond


def _is_normal_end(task: "asyncio.Task[None]") -> bool:
    return not task.cancelled() and task.exception() is None


def _write_batches(frames: Sequence[bytes]) -> Iterator[bytes]:
    """Join frames to what is sent at once: whoever does not read keeps no more than that waiting."""
    start = size = 0
    for place, frame in enumerate(frames, 1):
        size += len(frame)
        if size >= MAX_WRITE_BYTES or place == len(frames):
            yield b"".join(frames[start:place])
            start, size = place, 0


def _heartbeat_if_due(last_sent: float) -> Iterator[bytes]:
    if time.monotonic() - last_sent >= HEARTBEAT_SECONDS:
        yield HEARTBEAT


async def _wait_for_disconnect(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


async def _cancel_tasks(*tasks: "asyncio.Task[None]") -> None:
    """End tasks; what went wrong in one is told, unless it is that the database was away."""
    for task in tasks:
        task.cancel()
    for outcome in await asyncio.gather(*tasks, return_exceptions=True):
        if isinstance(outcome, Exception) and not isinstance(outcome, DatabaseUnavailable):
            log.error("a stream failed", exc_info=outcome)


IDLE_POLL_SECONDS = 5.0


async def start_event_stream(events: AsyncGenerator[Struct, None]) -> Frames:
    """Wait for the first event, before which work may still be refused; then it is a stream."""
    return _event_frames(await anext(events), events)


async def _event_frames(first: Struct, events: AsyncGenerator[Struct, None]) -> Frames:
    """Yield events as they are sent; an empty list is: still here."""
    async with aclosing(events):
        event: Struct | None = first
        while event is not None:
            yield [_event_frame(event)]
            coming = asyncio.ensure_future(anext(events, None))
            try:
                while not (await asyncio.wait({coming}, timeout=IDLE_POLL_SECONDS))[0]:
                    yield []
                event = coming.result()
            finally:
                coming.cancel()
                await asyncio.gather(coming, return_exceptions=True)


def _event_frame(event: Struct) -> bytes:
    return b"data: " + msgspec.json.encode(event) + b"\n\n"

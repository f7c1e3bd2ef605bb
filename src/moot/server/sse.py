"""Server-sent events over plain ASGI. A client that does not read its stream is disconnected."""

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

from moot.server.abort import abort_connection
from moot.server.auth import Revocations
from moot.server.requests import wait_for_disconnect
from moot.streaming.cancellation import cancel_tasks
from moot.types.accounts import Caller
from moot.types.errors import DatabaseUnavailable
from moot.types.streams import HEARTBEAT, BatchStream

SSE_MEDIA_TYPE = "text/event-stream"
SSE_HEADERS = [
    (b"content-type", b"text/event-stream; charset=utf-8"),
    (b"cache-control", b"no-store"),
    (b"x-accel-buffering", b"no"),
    (b"x-content-type-options", b"nosniff"),
]
HEARTBEAT_SECONDS = 15.0
IDLE_POLL_SECONDS = 5.0
STUCK_SECONDS = 30.0
STUCK_CHECKS = 10  # per STUCK_SECONDS
MAX_WRITE_BYTES = 64 * 1024  # per write; the last frame may exceed it
HEARTBEAT_FRAME = b": still here\n\n"
MAX_SEQ_DIGITS = 15  # longer numbers are invalid
END_OF_BODY: HTTPResponseBodyEvent = {"type": "http.response.body", "body": b"", "more_body": False}

log = logging.getLogger(__name__)


class SseConnection:
    """One open event stream. Cancelling `task` closes it; the client then receives `closing_frame`."""

    def __init__(self, frames: BatchStream[bytes], caller: Caller, opening_frame: bytes, closing_frame: bytes) -> None:
        self.caller = caller
        self.opening_frame = opening_frame
        self.closing_frame = closing_frame
        self.task: asyncio.Task[None] | None = None
        self.sending_since: float | None = None  # start of the pending write; None if there is none
        self._frames = frames

    async def send_frames(self, send: Send) -> None:
        last_sent = time.monotonic()
        async with aclosing(self._frames) as frames:
            async for batch in frames:
                for body in _heartbeat_if_due(last_sent) if batch is HEARTBEAT else _write_batches(batch):
                    self.sending_since = last_sent = time.monotonic()
                    await send({"type": "http.response.body", "body": body, "more_body": True})
                    self.sending_since = None

    def cancel_stream(self) -> None:
        if self.task is not None:
            self.task.cancel()


class SseConnections:
    """All open event streams of this process."""

    def __init__(self, revocations: Revocations, stuck_seconds: float = STUCK_SECONDS) -> None:
        self._connections: set[SseConnection] = set()
        self._revocations = revocations
        self._stuck_seconds = stuck_seconds

    def __len__(self) -> int:
        return len(self._connections)

    def stream_response(
        self, frames: BatchStream[bytes], caller: Caller, opening_frame: bytes = b"", closing_frame: bytes = b""
    ) -> "SseResponse":
        return SseResponse(self, SseConnection(frames, caller, opening_frame, closing_frame))

    def close_all(self) -> None:
        for connection in tuple(self._connections):
            connection.cancel_stream()

    async def close_stuck_connections(self) -> None:
        """Runs forever. Cancels streams whose write is blocked too long; a client can resume by event number."""
        while True:
            await asyncio.sleep(self._stuck_seconds / STUCK_CHECKS)
            deadline = time.monotonic() - self._stuck_seconds
            for connection in tuple(self._connections):
                if connection.sending_since is not None and connection.sending_since < deadline:
                    connection.cancel_stream()

    async def serve_connection(self, connection: SseConnection, scope: Scope, receive: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": SSE_HEADERS})
        await send(
            {"type": "http.response.body", "body": connection.opening_frame or HEARTBEAT_FRAME, "more_body": True}
        )
        connection.task = asyncio.create_task(connection.send_frames(send))
        disconnect_task = asyncio.create_task(wait_for_disconnect(receive))
        self._connections.add(connection)
        try:
            with self._revocations.watch_credential(connection.caller, connection.cancel_stream):
                await asyncio.wait({connection.task, disconnect_task}, return_when=asyncio.FIRST_COMPLETED)
            # A blocked client cannot receive the end of the body: abort the transport, then wait for uvicorn's
            # disconnect message.
            if (
                not disconnect_task.done()
                and not await self._close_gracefully(connection, send)
                and abort_connection(scope)
            ):
                await disconnect_task
        finally:
            self._connections.discard(connection)
            await _cancel_and_log(connection.task, disconnect_task)

    async def _close_gracefully(self, connection: SseConnection, send: Send) -> bool:
        """End the response body. Return False if the client does not read.

        The closing frame is sent only if the stream was cancelled or failed.
        """
        if connection.sending_since is None:
            with suppress(TimeoutError):
                async with asyncio.timeout(self._stuck_seconds):
                    if connection.closing_frame and connection.task is not None and not _is_normal_end(connection.task):
                        await send({"type": "http.response.body", "body": connection.closing_frame, "more_body": True})
                    await send(END_OF_BODY)
                return True
        return False


class SseResponse(Response[str]):
    """Return value of a handler that responds with an event stream."""

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
    """Join frames into writes of limited size, which bounds the buffer of a client that does not read."""
    start = size = 0
    for index, frame in enumerate(frames, 1):
        size += len(frame)
        if size >= MAX_WRITE_BYTES or index == len(frames):
            yield b"".join(frames[start:index])
            start, size = index, 0


def _heartbeat_if_due(last_sent: float) -> Iterator[bytes]:
    if time.monotonic() - last_sent >= HEARTBEAT_SECONDS:
        yield HEARTBEAT_FRAME


async def _cancel_and_log(*tasks: "asyncio.Task[None]") -> None:
    """Cancel tasks and log their exceptions, except `DatabaseUnavailable`."""
    for outcome in await cancel_tasks(*tasks):
        if isinstance(outcome, Exception) and not isinstance(outcome, DatabaseUnavailable):
            log.error("event stream failed", exc_info=outcome)


async def start_event_stream(events: AsyncGenerator[Struct, None]) -> BatchStream[bytes]:
    """Wait for the first event, so that an earlier exception becomes an error response instead of a stream."""
    return _event_frames(await anext(events), events)


async def _event_frames(first: Struct, events: AsyncGenerator[Struct, None]) -> BatchStream[bytes]:
    """Yield one frame per event, and a heartbeat after each `IDLE_POLL_SECONDS` without one."""
    async with aclosing(events):
        event: Struct | None = first
        while event is not None:
            yield [b"data: " + msgspec.json.encode(event) + b"\n\n"]
            # `wait` does not cancel the pending `anext` on timeout; cancelling would close the generator.
            next_event = asyncio.ensure_future(anext(events, None))
            try:
                while not (await asyncio.wait({next_event}, timeout=IDLE_POLL_SECONDS))[0]:
                    yield HEARTBEAT
                event = next_event.result()
            finally:
                await cancel_tasks(next_event)


class Resync(Struct, frozen=True, tag_field="type", tag="resync"):
    """Tells the client to discard its events of this run. The stream continues after event number `after`."""

    run: str
    after: int


def resync_frame(run: str) -> bytes:
    return b"event: resync\ndata: " + msgspec.json.encode(Resync(run, 0)) + b"\n\n"


def parse_event_seq(text: str) -> int | None:
    """Return None if the text is not a valid event number."""
    return int(text) if text.isascii() and text.isdigit() and len(text) <= MAX_SEQ_DIGITS else None

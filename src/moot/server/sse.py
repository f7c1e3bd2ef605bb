"""Server-sent events as plain ASGI: frames come ready made, and a reader that does not read is cut off."""

import asyncio
import time
from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Any

from litestar import Response
from litestar.types import Receive, Scope, Send

from moot.model.accounts import Caller
from moot.server.revocations import Revocations

HEADERS = [
    (b"content-type", b"text/event-stream; charset=utf-8"),
    (b"cache-control", b"no-store"),
    (b"x-accel-buffering", b"no"),
    (b"x-content-type-options", b"nosniff"),
]
HEARTBEAT_SECONDS = 15.0
STUCK_SECONDS = 30.0
LOOK_SECONDS = 2.0
HEARTBEAT = b": still here\n\n"

Frames = AsyncGenerator[list[bytes], None]


class Reader:
    """One open stream. It is ended from outside by cancelling its task."""

    def __init__(self, frames: Frames, caller: Caller, opening: bytes) -> None:
        self.caller = caller
        self.opening = opening
        self.task: asyncio.Task[None] | None = None
        self.sending_since: float | None = None
        self._frames = frames

    async def run(self, send: Send) -> None:
        sent = time.monotonic()
        async with aclosing(self._frames) as frames:
            async for some in frames:
                now = time.monotonic()
                if some or now - sent >= HEARTBEAT_SECONDS:
                    self.sending_since = sent = now
                    body = b"".join(some) if some else HEARTBEAT
                    await send({"type": "http.response.body", "body": body, "more_body": True})
                    self.sending_since = None

    def end(self) -> None:
        if self.task is not None:
            self.task.cancel()


class Readers:
    """All open streams of this process."""

    def __init__(self, revocations: Revocations) -> None:
        self._open: set[Reader] = set()
        self._revocations = revocations

    def __len__(self) -> int:
        return len(self._open)

    def stream(self, frames: Frames, caller: Caller, opening: bytes = b"") -> "EventStream":
        return EventStream(self, Reader(frames, caller, opening))

    def end_all(self) -> None:
        for reader in tuple(self._open):
            reader.end()

    async def end_stuck_ones(self) -> None:
        """Cut off readers that take nothing; they may come back at their number."""
        while True:
            await asyncio.sleep(LOOK_SECONDS)
            late = time.monotonic() - STUCK_SECONDS
            for reader in tuple(self._open):
                if reader.sending_since is not None and reader.sending_since < late:
                    reader.end()

    async def serve(self, reader: Reader, receive: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": HEADERS})
        await send({"type": "http.response.body", "body": reader.opening or HEARTBEAT, "more_body": True})
        reader.task = asyncio.ensure_future(reader.run(send))
        leaving = asyncio.ensure_future(_left(receive))
        self._open.add(reader)
        try:
            with self._revocations.watching(reader.caller, reader.end):
                await asyncio.wait({reader.task, leaving}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            self._open.discard(reader)
            reader.task.cancel()
            leaving.cancel()
            await asyncio.gather(reader.task, leaving, return_exceptions=True)
        if not leaving.done() or leaving.cancelled():
            await send({"type": "http.response.body", "body": b"", "more_body": False})


class EventStream(Response[None]):
    """What a handler returns to answer with a stream."""

    def __init__(self, readers: Readers, reader: Reader) -> None:
        super().__init__(None, media_type="text/event-stream")
        self._readers = readers
        self._reader = reader

    def to_asgi_response(self, *_: Any, **__: Any) -> Any:
        async def respond(_scope: Scope, receive: Receive, send: Send) -> None:
            await self._readers.serve(self._reader, receive, send)

        return respond


async def _left(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass

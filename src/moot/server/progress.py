"""Work that is told as it goes on, as server-sent events: who leaves ends it, and what refuses it is an error."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing

import msgspec
from msgspec import Struct

from moot.server.sse import Frames

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

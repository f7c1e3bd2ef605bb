"""From whoever tells to one reader: what waits in between is bounded, and nobody waits for a reader that has left."""

import asyncio
from collections.abc import AsyncGenerator
from typing import Generic, TypeVar

WAITING = 256  # batches that wait for the reader; then whoever tells waits too
LOOK_SECONDS = 1.0  # after which a reader that waits is due a look at the time

T = TypeVar("T")


class Relay(Generic[T]):
    def __init__(self) -> None:
        self._waiting: asyncio.Queue[list[T] | None] = asyncio.Queue(WAITING)
        self._left = asyncio.Event()
        self._closed = False

    async def tell(self, some: list[T]) -> None:
        await self._put(some)

    async def end(self) -> None:
        """Say that nothing follows, and wait until all was read, or the reader has left."""
        await self._put(None)
        await self._left.wait()

    def close(self) -> None:
        """Say that nobody will tell anything any more, whatever became of them."""
        self._closed = True

    async def read(self) -> AsyncGenerator[list[T], None]:
        """Yield what is told, until the end; an empty list is: still here."""
        try:
            while (some := await self._next()) is not None:
                yield some
        finally:
            self._leave()

    async def _put(self, some: list[T] | None) -> None:
        if not self._left.is_set():
            await self._waiting.put(some)

    async def _next(self) -> list[T] | None:
        try:
            async with asyncio.timeout(LOOK_SECONDS):
                return await self._waiting.get()
        except TimeoutError:
            return None if self._closed else []

    def _leave(self) -> None:
        self._left.set()
        while not self._waiting.empty():  # so that whoever waits to tell goes on
            self._waiting.get_nowait()

"""Several streams as one: each has a task of its own, and waits until what it brought was taken; none waits for another."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing

Frames = AsyncGenerator[list[bytes], None]


class Confluence:
    """What one reader reads. While it does not read, one batch of every stream waits, and no more."""

    def __init__(self) -> None:
        self._tasks: set[asyncio.Task[None]] = set()
        self._brought: list[list[bytes]] = []
        self._news = asyncio.Event()
        self._taken = asyncio.Event()  # what waits now; what comes later waits for another one
        self._error: BaseException | None = None

    def add(self, stream: Frames) -> None:
        """Let another stream flow into this one."""
        self._tasks.add(task := asyncio.create_task(self._bring(stream)))
        task.add_done_callback(self._ended)

    async def flow(self, first: Frames) -> Frames:
        """Yield what a stream brings, and all that are added, until all have ended or one has failed.

        Whoever leaves ends them all.
        """
        self.add(first)
        try:
            while self._tasks or self._brought:
                await self._news.wait()
                self._news.clear()
                if self._error is not None:
                    raise self._error
                brought, self._brought = self._brought, []
                taken, self._taken = self._taken, asyncio.Event()
                if brought:
                    yield [frame for some in brought for frame in some]
                taken.set()
        finally:
            await self._end()

    async def _bring(self, stream: Frames) -> None:
        async with aclosing(stream):
            async for some in stream:
                self._brought.append(some)
                self._news.set()
                await self._taken.wait()

    def _ended(self, task: "asyncio.Task[None]") -> None:
        self._tasks.discard(task)
        if not task.cancelled():
            self._error = self._error or task.exception()
        self._news.set()

    async def _end(self) -> None:
        ending = tuple(self._tasks)
        for task in ending:
            task.cancel()
        await asyncio.gather(*ending, return_exceptions=True)

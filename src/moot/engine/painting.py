"""Pictures of whiteboards, painted in a process of its own: painting holds the interpreter, and everybody would wait."""

import asyncio
import multiprocessing
import signal
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool

from moot.board.png import png
from moot.board.replay import Board

SECONDS = 30.0


class Painter:
    """One process paints for all, one picture after the other; it begins with the first one."""

    def __init__(self) -> None:
        self._pool: ProcessPoolExecutor | None = None

    async def png(self, board: Board) -> bytes:
        """Paint a board; a painter that was killed is replaced once."""
        try:
            return await self._painted(board)
        except BrokenProcessPool:
            self._pool = None
            return await self._painted(board)

    def close(self) -> None:
        if self._pool is not None:
            self._pool.shutdown(wait=False, cancel_futures=True)

    async def _painted(self, board: Board) -> bytes:
        if self._pool is None:
            self._pool = ProcessPoolExecutor(1, multiprocessing.get_context("spawn"), _begin)
        async with asyncio.timeout(SECONDS):
            return await asyncio.get_running_loop().run_in_executor(self._pool, png, board)


def _begin() -> None:
    """Leave it to the server to end: Ctrl-C is sent to both."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)

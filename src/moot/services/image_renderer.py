"""Pictures of whiteboards, painted in a process of its own: painting holds the interpreter, and everybody would wait."""

import asyncio
import multiprocessing
import os
import signal
import threading
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool

from moot.types.errors import RateLimited, UsageError
from moot.whiteboard.geometry import CANVAS_HEIGHT
from moot.whiteboard.render.png import DEFAULT_ZOOM, render_png
from moot.whiteboard.state import Board

RENDER_TIMEOUT_SECONDS = 10.0
MAX_WAITING = 20


class ImageRenderer:
    """One process paints for all, one picture after the other; it begins with the first one."""

    def __init__(self) -> None:
        self._pool: ProcessPoolExecutor | None = None
        self._lock = asyncio.Lock()
        self._waiting = 0

    async def render_png(self, board: Board, height: float = CANVAS_HEIGHT) -> bytes:
        """Paint a board, or what is above a height; a painter that was killed is replaced once."""
        if self._waiting >= MAX_WAITING:
            raise RateLimited(
                "Too many whiteboards are being painted: try again in a moment.", retry_after=1.0
            )
        self._waiting += 1
        try:
            async with self._lock:
                try:
                    return await self._render_in_process(board, height)
                except BrokenProcessPool:
                    self._pool = None
                    return await self._render_in_process(board, height)
        finally:
            self._waiting -= 1

    def close(self) -> None:
        if self._pool is not None:
            self._pool.shutdown(wait=False, cancel_futures=True)

    async def _render_in_process(self, board: Board, height: float) -> bytes:
        if self._pool is None:
            self._pool = ProcessPoolExecutor(1, multiprocessing.get_context("spawn"), _init_worker)
        try:
            async with asyncio.timeout(RENDER_TIMEOUT_SECONDS):
                return await asyncio.get_running_loop().run_in_executor(
                    self._pool, render_png, board, DEFAULT_ZOOM, height
                )
        except TimeoutError:
            self._kill_pool(self._pool)
            raise UsageError(
                f"It is not painted within {RENDER_TIMEOUT_SECONDS:g} s: take formulas off the board."
            ) from None

    def _kill_pool(self, pool: ProcessPoolExecutor) -> None:
        """End a painter that would go on with what nobody waits for; the next picture gets another one."""
        self._pool = None
        for process in multiprocessing.active_children():
            if process.pid in pool._processes:  # noqa: SLF001 - there is no public way
                process.kill()


def _init_worker() -> None:
    """Leave it to the server to end: Ctrl-C is sent to both. With a server that was killed its painter ends too."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_exit_with_parent, daemon=True).start()


def _exit_with_parent() -> None:
    if (server := multiprocessing.parent_process()) is not None:
        server.join()
        os._exit(0)

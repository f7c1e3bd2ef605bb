"""Whiteboard images, rendered in a separate process.

Rendering holds the interpreter lock, so in the server process it would block all requests.
"""

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
    """Renders one image at a time in one process, which starts with the first image."""

    def __init__(self) -> None:
        self._pool: ProcessPoolExecutor | None = None
        self._lock = asyncio.Lock()
        self._waiting = 0

    async def render_png(self, board: Board, height: float = CANVAS_HEIGHT) -> bytes:
        """Render a board as PNG, cut at `height`. Retries once if the process was killed.

        Raises RateLimited if too many requests wait, and UsageError on a timeout.
        """
        if self._waiting >= MAX_WAITING:
            raise RateLimited("Too many whiteboard images are in the queue. Try again in a moment.", retry_after=1.0)
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
                f"Rendering timed out after {RENDER_TIMEOUT_SECONDS:g} s. Remove formulas from the whiteboard."
            ) from None

    def _kill_pool(self, pool: ProcessPoolExecutor) -> None:
        """Kill a process that timed out: a running task of a pool cannot be cancelled."""
        self._pool = None
        for process in multiprocessing.active_children():
            if process.pid in pool._processes:  # noqa: SLF001 - there is no public way
                process.kill()


def _init_worker() -> None:
    """Ignore Ctrl-C, which the terminal sends to both processes, and exit when the server process does."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_exit_with_parent, daemon=True).start()


def _exit_with_parent() -> None:
    if (server := multiprocessing.parent_process()) is not None:
        server.join()
        os._exit(0)

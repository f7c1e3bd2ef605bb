"""Work that is done until it has taken long enough: what comes after that is done the cheap way.

It counts the processor time of its thread: a busy machine draws slowly, and draws all the same.
"""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager


class Work:
    def __init__(self, seconds: float, clock: Callable[[], float] = time.thread_time) -> None:
        self._left = seconds
        self._clock = clock

    @property
    def is_over(self) -> bool:
        return self._left <= 0

    @contextmanager
    def going_on(self) -> Iterator[None]:
        """Count how long the block takes."""
        began = self._clock()
        try:
            yield
        finally:
            self._left -= self._clock() - began

"""Rate limits as Discord counts them: so many requests in a window, for a route and the channel or webhook in it."""

import time
from collections.abc import Callable
from hashlib import sha256

from msgspec import Struct


class Window(Struct):
    until: float = 0.0
    used: int = 0


class Buckets:
    def __init__(
        self, limit: int = 5, seconds: float = 0.2, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self.limit = limit
        self.seconds = seconds
        self._clock = clock
        self._windows: dict[str, Window] = {}

    def take(self, route: str, major: str) -> tuple[bool, dict[str, str]]:
        """Count a request; tell whether there was room for it, and what the headers say."""
        now = self._clock()
        window = self._windows.setdefault(f"{route} {major}", Window())
        if now >= window.until:
            window.until, window.used = now + self.seconds, 0
        room = window.used < self.limit
        window.used += room
        return room, {
            "X-RateLimit-Limit": str(self.limit),
            "X-RateLimit-Remaining": str(self.limit - window.used),
            "X-RateLimit-Reset": f"{time.time() + window.until - now:.3f}",
            "X-RateLimit-Reset-After": f"{window.until - now:.3f}",
            "X-RateLimit-Bucket": sha256(route.encode()).hexdigest()[:32],
        }

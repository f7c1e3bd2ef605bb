"""Faults that the fake Discord injects, and its rate limits."""

import time
from collections.abc import Callable
from hashlib import sha256
from typing import Literal

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


Kind = Literal[
    "rate",  # 429, and when to try again
    "cloudflare",  # 429 of whoever stands before Discord
    "broken",  # 502, and nothing was done
    "done_and_broken",  # 502, although it was done
    "lost",  # done, and the connection breaks before the answer
]


class Fault(Struct):
    """The next `times` requests whose method and path begin so go wrong in this way, after `skip` that do not."""

    begins: str
    kind: Kind
    times: int = 1
    skip: int = 0
    retry_after: float = 0.05


class Faults:
    def __init__(self) -> None:
        self._due: list[Fault] = []

    def add(self, begins: str, kind: Kind, times: int = 1, skip: int = 0) -> None:
        self._due.append(Fault(begins, kind, times, skip))

    def take(self, request: str) -> Fault | None:
        """Find out whether a request, such as `POST /channels/…`, goes wrong."""
        for fault in self._due:
            if request.startswith(fault.begins):
                if fault.skip:
                    fault.skip -= 1
                    continue
                fault.times -= 1
                if not fault.times:
                    self._due.remove(fault)
                return fault
        return None

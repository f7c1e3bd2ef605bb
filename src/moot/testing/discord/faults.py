"""Faults that the fake Discord injects, and its rate limits."""

import time
from collections.abc import Callable
from hashlib import sha256
from typing import Literal

from msgspec import Struct


class RateWindow(Struct):
    resets_at: float = 0.0
    request_count: int = 0


class RateLimitBuckets:
    def __init__(
        self, limit: int = 5, window_seconds: float = 0.2, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self.limit = limit
        self.window_seconds = window_seconds
        self._clock = clock
        self._windows: dict[str, RateWindow] = {}

    def count_request(self, route: str, major: str) -> tuple[bool, dict[str, str]]:
        """Count a request; tell whether there was room for it, and what the headers say."""
        now = self._clock()
        window = self._windows.setdefault(f"{route} {major}", RateWindow())
        if now >= window.resets_at:
            window.resets_at, window.request_count = now + self.window_seconds, 0
        room = window.request_count < self.limit
        window.request_count += room
        return room, {
            "X-RateLimit-Limit": str(self.limit),
            "X-RateLimit-Remaining": str(self.limit - window.request_count),
            "X-RateLimit-Reset": f"{time.time() + window.resets_at - now:.3f}",
            "X-RateLimit-Reset-After": f"{window.resets_at - now:.3f}",
            "X-RateLimit-Bucket": sha256(route.encode()).hexdigest()[:32],
        }


FaultKind = Literal[
    "rate",  # 429, and when to try again
    "cloudflare",  # 429 of whoever stands before Discord
    "broken",  # 502, and nothing was done
    "done_and_broken",  # 502, although it was done
    "lost",  # done, and the connection breaks before the answer
]


class InjectedFault(Struct):
    """The next `times` requests whose method and path begin so go wrong in this way, after `skip` that do not."""

    request_prefix: str
    kind: FaultKind
    times: int = 1
    skip: int = 0
    retry_after: float = 0.05


class FaultInjector:
    def __init__(self) -> None:
        self._pending_faults: list[InjectedFault] = []

    def add_fault(self, request_prefix: str, kind: FaultKind, times: int = 1, skip: int = 0) -> None:
        self._pending_faults.append(InjectedFault(request_prefix, kind, times, skip))

    def take_fault(self, request: str) -> InjectedFault | None:
        """Find out whether a request, such as `POST /channels/…`, goes wrong."""
        for fault in self._pending_faults:
            if request.startswith(fault.request_prefix):
                if fault.skip:
                    fault.skip -= 1
                    continue
                fault.times -= 1
                if not fault.times:
                    self._pending_faults.remove(fault)
                return fault
        return None

"""Fault injection and rate limits of the fake Discord."""

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
        """Count a request in its bucket. Returns whether it is allowed, and the rate limit headers."""
        now = self._clock()
        window = self._windows.setdefault(f"{route} {major}", RateWindow())
        if now >= window.resets_at:
            window.resets_at, window.request_count = now + self.window_seconds, 0
        allowed = window.request_count < self.limit
        window.request_count += allowed
        return allowed, {
            "X-RateLimit-Limit": str(self.limit),
            "X-RateLimit-Remaining": str(self.limit - window.request_count),
            "X-RateLimit-Reset": f"{time.time() + window.resets_at - now:.3f}",
            "X-RateLimit-Reset-After": f"{window.resets_at - now:.3f}",
            "X-RateLimit-Bucket": sha256(route.encode()).hexdigest()[:32],
        }


FaultKind = Literal[
    "rate",  # 429 with retry_after
    "cloudflare",  # 429 of Cloudflare, without a JSON body
    "broken",  # 502; the request was not processed
    "done_and_broken",  # 502, although the request was processed
    "lost",  # the request was processed, but the connection closes before the response
]


class InjectedFault(Struct):
    request_prefix: str  # method and path, such as `POST /channels/`
    kind: FaultKind
    times: int = 1  # matching requests that fail
    skip: int = 0  # matching requests that succeed first
    retry_after: float = 0.05  # seconds


class FaultInjector:
    def __init__(self) -> None:
        self._pending_faults: list[InjectedFault] = []

    def add_fault(self, request_prefix: str, kind: FaultKind, times: int = 1, skip: int = 0) -> None:
        self._pending_faults.append(InjectedFault(request_prefix, kind, times, skip))

    def take_fault(self, request: str) -> InjectedFault | None:
        """Return the fault for a request, such as `POST /channels/…`, or None. Uses up one of its `times`."""
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

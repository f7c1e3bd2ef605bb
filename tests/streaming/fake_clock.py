"""A clock for `StreamTimeouts` that only the test advances."""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from moot.streaming import cancellation


class FakeClock:
    """Replaces the event loop and `asyncio` of `StreamTimeouts`."""

    def __init__(self) -> None:
        self._now = 0.0
        self._timers: list[asyncio.TimerHandle] = []

    def __getattr__(self, name: str) -> Any:
        return getattr(asyncio, name)

    def get_running_loop(self) -> "FakeClock":
        return self

    def time(self) -> float:
        return self._now

    def call_at(self, when: float, callback: Callable[[], object]) -> asyncio.TimerHandle:
        timer = asyncio.TimerHandle(when, callback, (), asyncio.get_running_loop())
        self._timers.append(timer)
        return timer

    def advance(self, seconds: float) -> None:
        """Advance the time, and run each due callback at its own time."""
        until = self._now + seconds
        while due := [timer for timer in self._timers if timer.when() <= until and not timer.cancelled()]:
            timer = min(due)
            self._timers.remove(timer)
            self._now = timer.when()
            timer._run()
        self._now = until


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> FakeClock:
    clock = FakeClock()
    monkeypatch.setattr(cancellation, "asyncio", clock)
    return clock

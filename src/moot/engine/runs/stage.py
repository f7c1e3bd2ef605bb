"""Barrier of a stage with concurrent turns: quorum, deadline, and retries while other turns run."""

import asyncio
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager

from moot.types.events import ANSWERED_STATUSES, TurnStatus


class QuorumBarrier:
    """`on_late` is called with the unfinished participants at the quorum or the deadline. None waits for all."""

    def __init__(
        self, participants: Collection[str], quorum: int | None, on_late: Callable[[Collection[str]], None]
    ) -> None:
        self._unfinished = set(participants)
        self._answered: set[str] = set()
        self._quorum = quorum
        self._on_late = on_late
        self._retry_waiters: dict[str, asyncio.Future[bool]] = {}  # failed participants that can be retried

    @contextmanager
    def with_deadline(self, seconds: float | None) -> Iterator[None]:
        if seconds is None:
            yield
            return
        timer = asyncio.get_running_loop().call_later(seconds, lambda: self._on_late(frozenset(self._unfinished)))
        try:
            yield
        finally:
            timer.cancel()

    def record_turn_end(self, participant: str, status: TurnStatus) -> None:
        """Idempotent. After the last turn, no failed participant can be retried in this stage."""
        self._unfinished.discard(participant)
        if status in ANSWERED_STATUSES:
            self._answered.add(participant)
        if not self._unfinished:
            for waiting in self._retry_waiters.values():
                if not waiting.done():  # a cancelled future is done
                    waiting.set_result(False)
            self._retry_waiters.clear()
        elif self._quorum is not None and len(self._answered) >= self._quorum:
            self._on_late(frozenset(self._unfinished))

    async def wait_for_retry(self, participant: str) -> bool:
        """Wait for a retry command while other turns run; return False when the last one ends."""
        if not self._unfinished:
            return False
        waiting: asyncio.Future[bool] = asyncio.get_running_loop().create_future()
        self._retry_waiters[participant] = waiting
        try:
            return await waiting
        finally:
            self._retry_waiters.pop(participant, None)

    def can_retry(self, participant: str) -> bool:
        return participant in self._retry_waiters

    def retry_participant(self, participant: str) -> None:
        """Resume a participant for which `can_retry` is true."""
        self._unfinished.add(participant)
        self._retry_waiters.pop(participant).set_result(True)

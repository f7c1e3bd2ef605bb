"""Several who speak at once: whom the others wait for, and who may try again while they do."""

import asyncio
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager

from moot.types.events import ANSWERED, TurnStatus


class Stage:
    """`late` is called with those whom nobody waits for any more: enough have answered, or the time is over."""

    def __init__(
        self, speakers: Collection[str], quorum: int | None, late: Callable[[Collection[str]], None]
    ) -> None:
        self._speaking = set(speakers)
        self._answered: set[str] = set()
        self._quorum = quorum
        self._late = late
        self._failed: dict[str, asyncio.Future[bool]] = {}  # who waits to hear whether to try again

    @contextmanager
    def within(self, seconds: float | None) -> Iterator[None]:
        """Wait for nobody longer than this."""
        if seconds is None:
            yield
            return
        timer = asyncio.get_running_loop().call_later(seconds, lambda: self._late(frozenset(self._speaking)))
        try:
            yield
        finally:
            timer.cancel()

    def ended(self, who: str, status: TurnStatus) -> None:
        self._speaking.discard(who)
        if status in ANSWERED:
            self._answered.add(who)
        if not self._speaking:
            for waiting in self._failed.values():
                if not waiting.done():  # and not cancelled
                    waiting.set_result(False)
            self._failed.clear()
        elif self._quorum is not None and len(self._answered) >= self._quorum:
            self._late(frozenset(self._speaking))

    async def is_to_try_again(self, who: str) -> bool:
        """Wait, as long as others speak, for the wish that this one tries again."""
        if not self._speaking:
            return False
        waiting: asyncio.Future[bool] = asyncio.get_running_loop().create_future()
        self._failed[who] = waiting
        try:
            return await waiting
        finally:
            self._failed.pop(who, None)

    def may_try_again(self, who: str) -> bool:
        return who in self._failed

    def try_again(self, who: str) -> None:
        """Let somebody who failed, and waits, speak once more."""
        self._speaking.add(who)
        self._failed.pop(who).set_result(True)

"""A run that a program reads, event by event or as a whole."""

from collections.abc import AsyncGenerator, Callable, Generator
from contextlib import aclosing
from typing import Any

from moot.library.results import Result, result_of
from moot.model.errors import ProviderError, UsageError
from moot.model.events import Event, RunEnded
from moot.streams.stop import Stop


class Talk:
    """A run that begins when it is read: `async for` tells its events, `await` returns what it came to."""

    def __init__(self, hold: Callable[[Stop], AsyncGenerator[list[Event], None]]) -> None:
        self._hold = hold
        self._stop = Stop()
        self._begun = False
        self._events: list[Event] = []

    def stop(self) -> None:
        """Let everybody end; what was said is kept in the result."""
        self._stop.request()

    async def __aiter__(self) -> AsyncGenerator[Event, None]:
        if self._begun:
            raise UsageError("This was read already: ask again.")
        self._begun = True
        async with aclosing(self._hold(self._stop)) as told:
            async for some in told:
                self._events += some
                for event in some:
                    yield event

    def __await__(self) -> Generator[Any, None, Result]:
        return self._answer().__await__()

    async def _answer(self) -> Result:
        """Read it to its end; where nobody could answer, the reason of the last is raised."""
        if not self._begun:
            async for _ in self:
                pass
        result = self.result
        faults = [turn.fault for turn in result.turns if turn.fault is not None]
        if result.status == "failed" and faults:
            raise ProviderError(faults[-1])
        return result

    @property
    def result(self) -> Result:
        """What it came to, once it is over."""
        ended = next((one for one in reversed(self._events) if isinstance(one, RunEnded)), None)
        if ended is None:
            raise UsageError("This is not over: read it to its end, or await it.")
        return result_of(self._events, ended)

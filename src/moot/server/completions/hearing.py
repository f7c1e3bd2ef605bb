"""Hearing a run that is kept, for as long as its one listener is there: whoever leaves stops it."""

from collections.abc import AsyncGenerator
from contextlib import aclosing

from moot.engine.feeds import Feeds, event_of
from moot.model.accounts import Caller
from moot.model.events import Event, RunEnded
from moot.store.events import Events
from moot.store.runs import Runs


class Hearing:
    def __init__(self, feeds: Feeds, events: Events, runs: Runs) -> None:
        self._feeds = feeds
        self._events = events
        self._runs = runs

    async def of(self, caller: Caller, run: str) -> AsyncGenerator[list[Event], None]:
        """Yield the events of a run from the first on; an empty list is: still here."""
        is_over = False
        try:
            standing = await self._events.standing(caller.tenant, run)
            async with aclosing(self._feeds.follow(run, 0, standing)) as frames:
                async for some in frames:
                    events = [event_of(frame) for frame in some]
                    is_over = any(isinstance(event, RunEnded) for event in events)
                    yield events
        finally:
            if not is_over:
                await self._runs.wish_stop(caller.tenant, run)

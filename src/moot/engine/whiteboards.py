"""The whiteboard of a discussion at any moment: what earlier runs left on it, and what was done in one until then."""

import asyncio
from collections.abc import Sequence

import msgspec

from moot.prompts.lesson import acts_of, board_of
from moot.store.database import Database
from moot.store.discussions.discussions import Discussions
from moot.store.runs.event_log import Events
from moot.store.runs.runs import Runs
from moot.types.discussions import LIVE, Message, Run
from moot.types.errors import NotFound, UsageError
from moot.types.events import Event
from moot.whiteboard.state import Board, Entry, drawn, replayed


class Boards:
    def __init__(self, database: Database) -> None:
        self._discussions = Discussions(database)
        self._runs = Runs(database)
        self._events = Events(database)

    async def at(self, tenant: str, discussion: str, run: str | None = None, seq: int | None = None) -> Board:
        """Return the board after an event of a run; without a number as the run left it, without a run as it is now."""
        if seq is not None and run is None:
            raise UsageError("seq: events are numbered within a run: say which with run.")
        await self._discussions.get(tenant, discussion)
        playing = await self._playing(tenant, discussion, run)
        said = await self._discussions.messages(discussion)
        if playing is None or (playing.again and playing.status not in (*LIVE, "completed")):
            return await asyncio.to_thread(board_of, said)
        told = await self._told(playing.id, seq)
        return await asyncio.to_thread(_with, said, playing, drawn(told))

    async def _playing(self, tenant: str, discussion: str, run: str | None) -> Run | None:
        """Find the run that is asked for, or the newest that goes on, if one does."""
        if run is None:
            live = await self._discussions.live_runs(tenant, discussion)
            return live[-1] if live else None
        found = await self._runs.get(tenant, run)
        if found.discussion != discussion:
            raise NotFound(f"There is no run {run!r} in this discussion.")
        return found

    async def _told(self, run: str, upto: int | None) -> list[Event]:
        told: list[Event] = []
        while page := await self._events.read(run, told[-1].seq if told else 0):
            told += [msgspec.json.decode(body, type=Event) for _, body in page]
            if upto is not None and told[-1].seq >= upto:
                return [event for event in told if event.seq <= upto]
        return told


def _with(said: Sequence[Message], run: Run, done: Sequence[Entry]) -> Board:
    """Do what was done in a run after all before it; where it gives an answer anew, in the place of that."""
    here = (at for at, one in enumerate(said) if run.id == one.run or run.again == one.id)
    place = next(here, len(said))
    board = replayed(done, board_of(said[:place]))
    return replayed(acts_of(said[place + 1 :]), board) if run.again else board

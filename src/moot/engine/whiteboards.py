"""The whiteboard of a discussion at any moment: what earlier runs left on it, and what was done in one until then."""

import asyncio
from collections.abc import Sequence

import msgspec

from moot.prompts.lesson import board_entries, replay_messages
from moot.store.database import Database
from moot.store.discussions.discussions import Discussions
from moot.store.runs.event_log import EventLog
from moot.store.runs.runs import Runs
from moot.types.discussions import LIVE_STATUSES, Message, Run
from moot.types.errors import NotFound, UsageError
from moot.types.events import Event
from moot.whiteboard.state import Board, RecordedAction, board_actions, replay_actions


class Whiteboards:
    def __init__(self, database: Database) -> None:
        self._discussions = Discussions(database)
        self._runs = Runs(database)
        self._events = EventLog(database)

    async def whiteboard_at(
        self, tenant: str, discussion: str, run: str | None = None, seq: int | None = None
    ) -> Board:
        """Return the board after an event of a run; without a number as the run left it, without a run as it is now."""
        if seq is not None and run is None:
            raise UsageError("seq: events are numbered within a run: say which with run.")
        await self._discussions.get_discussion(tenant, discussion)
        playing = await self._find_run(tenant, discussion, run)
        said = await self._discussions.list_messages(discussion)
        if playing is None or (playing.again and playing.status not in (*LIVE_STATUSES, "completed")):
            return await asyncio.to_thread(replay_messages, said)
        told = await self._read_events(playing.id, seq)
        return await asyncio.to_thread(_apply_run_entries, said, playing, board_actions(told))

    async def _find_run(self, tenant: str, discussion: str, run: str | None) -> Run | None:
        """Find the run that is asked for, or the newest that goes on, if one does."""
        if run is None:
            live = await self._discussions.live_runs(tenant, discussion)
            return live[-1] if live else None
        found = await self._runs.get_run(tenant, run)
        if found.discussion != discussion:
            raise NotFound(f"There is no run {run!r} in this discussion.")
        return found

    async def _read_events(self, run: str, last_seq: int | None) -> list[Event]:
        told: list[Event] = []
        while page := await self._events.read_events(run, told[-1].seq if told else 0):
            told += [msgspec.json.decode(body, type=Event) for _, body in page]
            if last_seq is not None and told[-1].seq >= last_seq:
                return [event for event in told if event.seq <= last_seq]
        return told


def _apply_run_entries(messages: Sequence[Message], run: Run, entries: Sequence[RecordedAction]) -> Board:
    """Do what was done in a run after all before it; where it gives an answer anew, in the place of that."""
    here = (at for at, one in enumerate(messages) if run.id == one.run or run.again == one.id)
    place = next(here, len(messages))
    board = replay_actions(entries, replay_messages(messages[:place]))
    return replay_actions(board_entries(messages[place + 1 :]), board) if run.again else board

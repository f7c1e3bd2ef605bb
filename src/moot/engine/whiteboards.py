"""The whiteboard of a discussion after any event, rebuilt from stored messages and the event log."""

import asyncio
from collections.abc import Sequence

from moot.engine.events.hub import read_run_events
from moot.prompts.lesson import board_entries, replay_messages
from moot.store.stores import Stores
from moot.types.discussions import LIVE_STATUSES, Message, Run
from moot.types.errors import NotFound, UsageError
from moot.types.events import ActionTaken
from moot.types.run_state import fold_events
from moot.whiteboard.state import Board, replay_actions


class Whiteboards:
    def __init__(self, stores: Stores) -> None:
        self._discussions = stores.discussions
        self._runs = stores.runs
        self._events = stores.events

    async def whiteboard_at(
        self, tenant: str, discussion: str, run: str | None = None, seq: int | None = None
    ) -> Board:
        """Return the board after event `seq` of a run; without `seq`, after the run; without `run`, as it is now.

        Raises UsageError for a `seq` without a run, and NotFound if the run is not in the discussion.
        """
        if seq is not None and run is None:
            raise UsageError("seq: event numbers belong to a run. Set run too.")
        await self._discussions.get_discussion(tenant, discussion)
        found = await self._find_run(tenant, discussion, run)
        messages = await self._discussions.list_messages(discussion)
        # A failed regeneration left the old answer in place, so its events do not count.
        if found is None or (found.regenerates and found.status not in (*LIVE_STATUSES, "completed")):
            return await asyncio.to_thread(replay_messages, messages)
        events = await read_run_events(self._events, found.id, seq)
        return await asyncio.to_thread(_apply_run_actions, messages, found, fold_events(events).actions)

    async def _find_run(self, tenant: str, discussion: str, run: str | None) -> Run | None:
        """Without an id, return the newest live run, or None."""
        if run is None:
            live = await self._discussions.live_runs(tenant, discussion)
            return live[-1] if live else None
        found = await self._runs.get_run(tenant, run)
        if found.discussion != discussion:
            raise NotFound(f"There is no run {run!r} in this discussion.")
        return found


def _apply_run_actions(messages: Sequence[Message], run: Run, actions: Sequence[ActionTaken]) -> Board:
    """Replay earlier messages, then the actions of the run.

    A regenerated answer replaces the old one, so the later messages are replayed after it.
    """
    matches = (at for at, message in enumerate(messages) if run.id == message.run or run.regenerates == message.id)
    index = next(matches, len(messages))
    board = replay_actions(actions, replay_messages(messages[:index]))
    return replay_actions(board_entries(messages[index + 1 :]), board) if run.regenerates else board

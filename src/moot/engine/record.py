"""What was said, as one execution of a run sees it: read once when the run is taken up, then kept in step."""

from collections.abc import Mapping, Sequence

from msgspec.structs import replace

from moot.engine import metrics, remains, traces
from moot.engine.journal import RunJournal
from moot.engine.remains import Remains
from moot.model.discussions import Message
from moot.model.events import Event, Seat, StageStarted, TextDelta, TurnEnded, TurnStarted
from moot.store.runs import Claim
from moot.streams.stop import Reason


class Record:
    """A transcript in the database. `left` are turns that a crash cut off, of which readers have seen something."""

    def __init__(
        self, journal: RunJournal, claim: Claim, said: Sequence[Message], left: Mapping[Seat, Remains]
    ) -> None:
        self.said = list(said)
        self._journal = journal
        self._claim = claim
        self._opened = set(claim.stages)
        self._left = dict(left)

    async def append(self, events: list[Event]) -> None:
        fresh = [event for event in events if type(event) is TextDelta or self._is_new(event)]
        if fresh:
            await self._journal.append(fresh)

    async def keep(self, ended: TurnEnded, message: Message) -> None:
        if (left := self._left.pop(remains.seat(ended), None)) is not None:  # it ended before it began anew
            ended = replace(ended, message=left.answer)
            message = replace(message, content=left.answer.text, thoughts=left.answer.thoughts)
        await self._keep(ended, message)

    async def close(self, reason: Reason | None) -> None:
        """End the turns that will not be spoken anew."""
        for left in tuple(self._left.values()):
            ended = left.ended(reason)
            await self._keep(ended, remains.message(self._claim, ended))
        self._left.clear()

    async def _keep(self, ended: TurnEnded, message: Message) -> None:
        number = await self._journal.keep(ended, message)
        self.said.append(replace(message, number=number))
        metrics.count_turn(ended)
        traces.turn(self._claim.run, ended)

    def _is_new(self, event: Event) -> bool:
        """Tell whether an event is to be told, and not of a stage that was announced before a crash."""
        if isinstance(event, TurnStarted):  # it is spoken anew, and what was seen of it is void
            self._left.pop(remains.seat(event), None)
        if not isinstance(event, StageStarted):
            return True
        key = (event.stage, event.round)
        known = key in self._opened
        self._opened.add(key)
        return not known

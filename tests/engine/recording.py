"""A record at work, and what became of it in the database."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

import msgspec
import pytest

from moot.engine.events.hub import EventHub
from moot.engine.events.writer import EventWriter
from moot.engine.runs.transcript import StoredTranscript
from moot.store.database import Database
from moot.store.discussions.discussions import Discussions
from moot.store.runs.event_log import EventLog
from moot.store.runs.runs import RunLease
from moot.types.chunks import Usage
from moot.types.events import Answer, Event, TurnEnded, TurnStatus
from tests.store.running import first_run


class Kept:
    def __init__(self, database: Database, run: RunLease, record: StoredTranscript) -> None:
        self.run = run
        self.record = record
        self._database = database

    async def events(self) -> list[Event]:
        return await told(self._database, self.run)

    async def messages(self) -> list[tuple[str, str, str]]:
        said = await Discussions(self._database).list_messages(self.run.discussion)
        return [(message.content, message.thoughts, message.status) for message in said]


async def told(database: Database, run: RunLease) -> list[Event]:
    rows = await EventLog(database).read_events(run.run, 0)
    return [msgspec.json.decode(body, type=Event) for _, body in rows]


@asynccontextmanager
async def kept(
    database: Database, before: Sequence[Event] = (), *, again: RunLease | None = None
) -> AsyncIterator[Kept]:
    run = again or await first_run(database)
    before = [*before, *await told(database, run)]
    events = EventLog(database)
    journal = EventWriter(events, EventHub(events), lambda _: pytest.fail("nobody else has the run"))
    writing = asyncio.create_task(journal.write_forever())

    async def log() -> list[Event]:
        await journal.flush_events()
        return await told(database, run)

    try:
        yield Kept(database, run, StoredTranscript(journal.open_run(run), run, (), before, log))
        await journal.flush_events()
    finally:
        writing.cancel()
        await asyncio.gather(writing, return_exceptions=True)


def ended(words: str = "", status: TurnStatus = "completed") -> TurnEnded:
    return TurnEnded(
        participant="alpha",
        stage="answer",
        round=0,
        status=status,
        message=Answer(words),
        model="lab/one",
        usage=Usage(),
        cost=0.0,
    )

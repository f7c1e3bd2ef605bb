"""A stored transcript, and what it wrote to the database."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

import msgspec
import pytest

from moot.engine.events.hub import EventHub
from moot.engine.events.writer import EventWriter
from moot.engine.runs.execution import StoredTranscript
from moot.store.database import Database
from moot.store.discussions.discussions import Discussions
from moot.store.runs.event_log import EventLog
from moot.store.runs.runs import RunLease
from moot.types.chunks import Usage
from moot.types.events import Answer, Event, TurnEnded, TurnStatus
from tests.support.runs import prepare_leased_run


class TranscriptHarness:
    def __init__(self, database: Database, lease: RunLease, transcript: StoredTranscript) -> None:
        self.lease = lease
        self.transcript = transcript
        self._database = database

    async def read_events(self) -> list[Event]:
        return await read_run_events(self._database, self.lease)

    async def read_messages(self) -> list[tuple[str, str, str]]:
        messages = await Discussions(self._database).list_messages(self.lease.discussion)
        return [(message.content, message.thoughts, message.status) for message in messages]


async def read_run_events(database: Database, lease: RunLease) -> list[Event]:
    rows = await EventLog(database).read_events(lease.run, 0)
    return [msgspec.json.decode(body, type=Event) for _, body in rows]


@asynccontextmanager
async def open_stored_transcript(
    database: Database, earlier_events: Sequence[Event] = (), *, existing_lease: RunLease | None = None
) -> AsyncIterator[TranscriptHarness]:
    lease = existing_lease or await prepare_leased_run(database)
    earlier_events = [*earlier_events, *await read_run_events(database, lease)]
    events = EventLog(database)
    event_writer = EventWriter(events, EventHub(events), lambda _: pytest.fail("no other worker has the run"))
    writing = asyncio.create_task(event_writer.write_forever())

    async def load_events() -> list[Event]:
        await event_writer.flush_events()
        return await read_run_events(database, lease)

    try:
        yield TranscriptHarness(
            database, lease, StoredTranscript(event_writer.open_run(lease), lease, (), earlier_events, load_events)
        )
        await event_writer.flush_events()
    finally:
        writing.cancel()
        await asyncio.gather(writing, return_exceptions=True)


def make_turn_ended(text: str = "", status: TurnStatus = "completed") -> TurnEnded:
    return TurnEnded(
        participant="alpha",
        stage="answer",
        round=0,
        status=status,
        message=Answer(text),
        model="lab/one",
        usage=Usage(),
        cost_usd=0.0,
    )

"""Debates that are stored: their lanes, what was said in them, and what became of it."""

from collections.abc import Sequence

import msgspec
from msgspec.structs import replace

from moot.store.database import Database
from moot.store.discussions.discussions import add_discussion
from moot.store.runs.event_insert import EventLogEntry, RunEnding, RunRecords
from moot.store.runs.event_log import EventLog
from moot.store.runs.runs import RunLease
from moot.types.debate import Lane, LaneStatus
from moot.types.discussions import Discussion, Message, Run
from moot.types.events import Notice, RunStatus, TurnStatus
from moot.types.participants import make_participants
from moot.types.primitives import new_id
from tests.store.people import ANNA, discuss, settle
from tests.store.running import OTHER, WORKER, answer, claim, employ, start


async def debating(database: Database, model: str = "scripted/echo") -> Discussion:
    """A discussion of three that is a debate."""
    one = await discuss(database)
    three = replace(one, id=new_id("dis"), mode="debate", participants=make_participants((model,) * 3))
    async with database.write() as connection:
        await add_discussion(connection, ANNA, ANNA, three)
    return three


async def first_debate(database: Database) -> tuple[Run, RunLease]:
    """Settle a database, and claim the first debate in it."""
    await settle(database)
    await employ(database, WORKER, OTHER)
    run = await start(database, await debating(database), words="Why?")
    return run, await claim(database, run.id)


def turn(
    held: RunLease, who: str, stage: str = "initial", status: TurnStatus = "completed", **more: object
) -> Message:
    words = "" if status == "failed" else f"{who} in {stage}"
    said = answer(held, words, participant=who)
    return replace(said, stage=stage, status=status, thread=who, **more)


def brief(held: RunLease, who: str, stage: str, thread: str | None) -> Message:
    return Message(
        id=new_id("msg"),
        discussion=held.discussion,
        run=held.run,
        role="user",
        content=f"For {who}",
        stage=stage,
        audience=(who,),
        thread=thread,
        hidden=True,
        created_at=1.0,
    )


def lane(who: str, status: LaneStatus = "error", **more: object) -> Lane:
    return Lane(participant=who, status=status, **more)  # type: ignore[arg-type]


class Pen:
    """Writes what comes of a claimed run, event by event."""

    def __init__(self, database: Database, held: RunLease) -> None:
        self._events = EventLog(database)
        self._held = held
        self._seq = held.seq

    async def keep(
        self, messages: Sequence[Message] = (), lanes: Sequence[Lane] = (), **more: object
    ) -> None:
        await self._write(kept=RunRecords(list(messages), list(lanes), **more))  # type: ignore[arg-type]

    async def end(self, status: RunStatus = "completed", revision: int = 0) -> None:
        await self._write(ending=RunEnding(status, 9.0, revision))

    async def _write(self, kept: RunRecords | None = None, ending: RunEnding | None = None) -> None:
        self._seq += 1
        told = msgspec.json.encode(Notice(kind="waiting", message="Something was written.", seq=self._seq))
        entry = EventLogEntry(self._held, self._seq, [told.decode()], kept, ending)
        written = await self._events.write_entries([entry])
        assert not written.stale_runs

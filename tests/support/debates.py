"""Stored debates: their lanes, messages and events."""

from collections.abc import Sequence

import msgspec
from msgspec.structs import replace

from moot.store.database import Database
from moot.store.discussions.discussions import add_discussion
from moot.store.runs.event_log import EventLog, EventLogEntry, RunEnding, RunRecords
from moot.store.runs.runs import RunLease
from moot.types.debate import Lane, LaneStatus
from moot.types.discussions import Discussion, Message, Run
from moot.types.events import Notice, RunStatus, TurnStatus
from moot.types.participants import make_participants
from moot.types.primitives import new_id
from tests.support.accounts import ANNA, create_accounts, create_discussion
from tests.support.runs import OTHER_WORKER, WORKER, create_run, lease_run, make_answer, register_workers


async def create_debate(database: Database, model: str = "scripted/echo") -> Discussion:
    """Store a debate with three participants."""
    one = await create_discussion(database)
    three = replace(one, id=new_id("dis"), mode="debate", participants=make_participants((model,) * 3))
    async with database.write() as connection:
        await add_discussion(connection, ANNA, ANNA, three)
    return three


async def prepare_leased_debate(database: Database) -> tuple[Run, RunLease]:
    """Create accounts and workers, and lease a debate."""
    await create_accounts(database)
    await register_workers(database, WORKER, OTHER_WORKER)
    run = await create_run(database, await create_debate(database), question="Why?")
    return run, await lease_run(database, run.id)


def make_turn(
    lease: RunLease,
    participant: str,
    stage: str = "initial",
    status: TurnStatus = "completed",
    **fields: object,
) -> Message:
    text = "" if status == "failed" else f"{participant} in {stage}"
    answer = make_answer(lease, text, participant=participant)
    return replace(answer, stage=stage, status=status, thread=participant, **fields)


def make_instructions(lease: RunLease, participant: str, stage: str, thread: str | None) -> Message:
    return Message(
        id=new_id("msg"),
        discussion=lease.discussion,
        run=lease.run,
        role="user",
        content=f"For {participant}",
        stage=stage,
        visible_to=(participant,),
        thread=thread,
        hidden=True,
        created_at=1.0,
    )


def make_lane(participant: str, status: LaneStatus = "error", **fields: object) -> Lane:
    return Lane(participant=participant, status=status, **fields)  # type: ignore[arg-type]


class RunWriter:
    """Writes the records of a leased run, event by event."""

    def __init__(self, database: Database, lease: RunLease) -> None:
        self._event_log = EventLog(database)
        self._lease = lease
        self._seq = lease.seq

    async def write_records(
        self, messages: Sequence[Message] = (), lanes: Sequence[Lane] = (), **fields: object
    ) -> None:
        await self._write_entry(records=RunRecords(list(messages), list(lanes), **fields))  # type: ignore[arg-type]

    async def end_run(self, status: RunStatus = "completed", revision: int = 0) -> None:
        await self._write_entry(ending=RunEnding(status, 9.0, revision))

    async def _write_entry(self, records: RunRecords | None = None, ending: RunEnding | None = None) -> None:
        self._seq += 1
        event = msgspec.json.encode(Notice(kind="waiting", message="Something was written.", seq=self._seq))
        entry = EventLogEntry(self._lease, self._seq, [event.decode()], records, ending)
        written = await self._event_log.write_entries([entry])
        assert not written.stale_runs

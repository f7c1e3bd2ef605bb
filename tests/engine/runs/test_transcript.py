from typing import Any

import msgspec
import pytest

from moot.store.billing.usage import UsageReports
from moot.store.database import Database
from moot.store.discussions.discussions import Discussions
from moot.store.runs.retries import Retries
from moot.types.billing import Charge
from moot.types.chunks import Usage
from moot.types.events import (
    Answer,
    Event,
    Notice,
    StageStarted,
    StopReason,
    TextDelta,
    ThoughtDelta,
    TurnEnded,
    TurnKey,
    TurnStarted,
    TurnStatus,
)
from moot.types.faults import make_fault
from tests.support.accounts import ANNA
from tests.support.debates import RunWriter, make_instructions, make_lane, make_turn, prepare_leased_debate
from tests.support.runs import WORKER, lease_run, make_answer
from tests.support.transcript_harness import make_turn_ended, open_stored_transcript

TURN_KEY = TurnKey("alpha", "answer", 0)
TURN_FIELDS: dict[str, Any] = {"participant": "alpha", "stage": "answer", "round": 0}
INTERRUPTED_EVENTS = (
    TurnStarted(**TURN_FIELDS, attempt=1, model="lab/one"),
    ThoughtDelta(**TURN_FIELDS, text="Hm"),
    TextDelta(**TURN_FIELDS, text="So far"),
)


async def test_commit_event_stores_message_for_next_turn(database: Database) -> None:
    async with open_stored_transcript(database) as opened:
        await opened.transcript.commit_event(make_turn_ended("Round."), make_answer(opened.lease, "Round."))
        assert await opened.read_messages() == [("Round.", "", "completed")]
        (message,) = opened.transcript.messages
        assert message.content == "Round."
        assert message.seq > 0


async def test_commit_event_adds_charges_to_spent_usd(database: Database) -> None:
    async with open_stored_transcript(database) as opened:
        for cost in (0.25, None, 0.5):
            charge = Charge(purpose="summary", model="lab/one", usage=Usage(1, 1), cost_usd=cost)
            await opened.transcript.commit_event(Notice(kind="missing", message="No summary."), charge=charge)
        assert opened.transcript.spent_usd == 0.75


async def test_stage_started_is_written_once_even_after_crash(database: Database) -> None:
    async with open_stored_transcript(database) as opened:
        await opened.transcript.append_events(
            [StageStarted(stage="round", round=0), StageStarted(stage="round", round=0)]
        )
    async with open_stored_transcript(database, existing_lease=await lease_run(database, opened.lease.run)) as again:
        await again.transcript.append_events([StageStarted(stage="round", round=0)])
        await again.transcript.append_events([StageStarted(stage="round", round=1)])
    assert [event.round for event in await again.read_events() if isinstance(event, StageStarted)] == [0, 1]


async def test_interrupted_turn_is_replaced_by_its_new_attempt_and_charged(database: Database) -> None:
    async with open_stored_transcript(database, INTERRUPTED_EVENTS) as opened:
        start = TurnStarted(participant="alpha", stage="answer", round=0, attempt=1, model="lab/one")
        await opened.transcript.append_events(
            [start, TextDelta(participant="alpha", stage="answer", round=0, text="New.")]
        )
        await opened.transcript.commit_event(make_turn_ended("New."), make_answer(opened.lease, "New."))
        await opened.transcript.end_open_turns(None)
        assert await opened.read_messages() == [("New.", "", "completed")]
        lost = await UsageReports(database).run_spending(opened.lease.run)
        assert (lost.output, lost.estimated, lost.unpriced_calls) == (2, True, 1), "it was paid"


async def test_interrupted_turn_is_stored_as_seen_when_stopped_before_new_attempt(
    database: Database,
) -> None:
    async with open_stored_transcript(database, INTERRUPTED_EVENTS) as opened:
        stopped = msgspec.structs.replace(make_answer(opened.lease, ""), status="stopped")
        await opened.transcript.commit_event(make_turn_ended(status="stopped"), stopped)
        await opened.transcript.end_open_turns("stopped_by_user")
        assert await opened.read_messages() == [("So far", "Hm", "stopped")]
        (end,) = await opened.read_events()
        assert isinstance(end, TurnEnded)
        assert end.message == Answer("So far", "Hm")
        (message,) = opened.transcript.messages
        for record in (end, message):
            assert (record.usage, record.cost_usd) == (Usage(output=2, estimated=True), None)


async def test_interrupted_turn_is_stored_as_seen_when_new_attempt_is_impossible(database: Database) -> None:
    no_key = make_fault("auth", "No key.", retryable=False)
    async with open_stored_transcript(database, INTERRUPTED_EVENTS) as opened:
        failed = msgspec.structs.replace(make_answer(opened.lease, ""), view="blind", visible_until=1, status="failed")
        await opened.transcript.commit_event(
            msgspec.structs.replace(make_turn_ended(status="failed"), fault=no_key), failed
        )
        (message,) = await Discussions(database).list_messages(opened.lease.discussion)
        assert (message.content, message.status, message.fault) == ("So far", "partial", no_key)
        assert (message.view, message.visible_until) == ("blind", 1)


async def test_end_open_turns_stores_turns_that_an_internal_error_interrupted(
    database: Database,
) -> None:
    def begins(round_: int) -> list[Event]:
        at: dict[str, Any] = {"participant": "alpha", "stage": "answer", "round": round_}
        return [TurnStarted(**at, attempt=1, model="lab/one"), TextDelta(**at, text="So far")]

    async with open_stored_transcript(database) as opened:
        await opened.transcript.append_events(begins(0))
        assert opened.transcript.has_open_turn(TURN_KEY)
        await opened.transcript.commit_event(make_turn_ended("So."), make_answer(opened.lease, "So."))
        assert not opened.transcript.has_open_turn(TURN_KEY)
        await opened.transcript.append_events(begins(1))
        await opened.transcript.end_open_turns(None)
        await opened.transcript.end_open_turns(None)
        assert await opened.read_messages() == [("So.", "", "completed"), ("So far", "", "partial")]


@pytest.mark.parametrize(("reason", "status"), [("stopped_by_user", "stopped"), ("follow_up_interrupt", "interrupted")])
async def test_end_open_turns_stores_interrupted_turns_without_new_attempt(
    database: Database, reason: StopReason, status: TurnStatus
) -> None:
    async with open_stored_transcript(database, INTERRUPTED_EVENTS) as opened:
        await opened.transcript.append_events([Notice(kind="resumed", message="It goes on.")])
        await opened.transcript.end_open_turns(reason)
        await opened.transcript.end_open_turns(reason)
        assert await opened.read_messages() == [("So far", "Hm", status)]
        assert [type(event) for event in await opened.read_events()] == [Notice, TurnEnded]


async def test_discard_failed_turns_matches_retry_in_database(database: Database) -> None:
    run, lease = await prepare_leased_debate(database)
    turns = [
        make_turn(lease, "alpha"),
        make_turn(lease, "beta"),
        make_instructions(lease, "alpha", "debate", "alpha"),
        make_instructions(lease, "beta", "debate", "beta"),
        make_instructions(lease, "beta", "synthesis", None),
        make_turn(lease, "alpha", "debate"),
        make_turn(lease, "beta", "debate", "failed"),
    ]
    await RunWriter(database, lease).write_records(turns, [make_lane("beta")])
    discussions = Discussions(database)
    async with open_stored_transcript(database, existing_lease=await lease_run(database, run.id)) as opened:
        opened.transcript.messages[:] = await discussions.list_messages(run.discussion)
        opened.transcript.discard_failed_turns("beta")
        await Retries(database, WORKER).retry_run(ANNA, run.id, "beta")
        assert tuple(opened.transcript.messages) == await discussions.list_messages(run.discussion)
        assert len(opened.transcript.messages) == 1 + len(turns) - 3

from typing import Any

import msgspec

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
    TextDelta,
    ThoughtDelta,
    TurnEnded,
    TurnKey,
    TurnStarted,
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
    async with open_stored_transcript(database) as here:
        await here.transcript.commit_event(make_turn_ended("Round."), make_answer(here.lease, "Round."))
        assert await here.read_messages() == [("Round.", "", "completed")]
        (said,) = here.transcript.messages
        assert said.content == "Round."
        assert said.seq > 0


async def test_commit_event_adds_charges_to_spent_usd(database: Database) -> None:
    async with open_stored_transcript(database) as here:
        for cost in (0.25, None, 0.5):
            charge = Charge(purpose="summary", model="lab/one", usage=Usage(1, 1), cost_usd=cost)
            await here.transcript.commit_event(Notice(kind="missing", message="No summary."), charges=[charge])
        assert here.transcript.spent_usd == 0.75


async def test_stage_started_is_written_once_even_after_crash(database: Database) -> None:
    async with open_stored_transcript(database) as here:
        await here.transcript.append_events(
            [StageStarted(stage="round", round=0), StageStarted(stage="round", round=0)]
        )
    async with open_stored_transcript(database, existing_lease=await lease_run(database, here.lease.run)) as again:
        await again.transcript.append_events([StageStarted(stage="round", round=0)])
        await again.transcript.append_events([StageStarted(stage="round", round=1)])
    assert [event.round for event in await again.read_events() if isinstance(event, StageStarted)] == [0, 1]


async def test_interrupted_turn_is_replaced_by_its_new_attempt_and_charged(database: Database) -> None:
    async with open_stored_transcript(database, INTERRUPTED_EVENTS) as here:
        start = TurnStarted(participant="alpha", stage="answer", round=0, attempt=1, model="lab/one")
        await here.transcript.append_events(
            [start, TextDelta(participant="alpha", stage="answer", round=0, text="New.")]
        )
        await here.transcript.commit_event(make_turn_ended("New."), make_answer(here.lease, "New."))
        await here.transcript.end_open_turns(None)
        assert await here.read_messages() == [("New.", "", "completed")]
        lost = await UsageReports(database).run_spending(here.lease.run)
        assert (lost.output, lost.estimated, lost.unpriced_calls) == (2, True, 1), "it was paid"


async def test_interrupted_turn_is_stored_as_seen_when_stopped_before_new_attempt(
    database: Database,
) -> None:
    async with open_stored_transcript(database, INTERRUPTED_EVENTS) as here:
        stopped = msgspec.structs.replace(make_answer(here.lease, ""), status="stopped")
        await here.transcript.commit_event(make_turn_ended(status="stopped"), stopped)
        await here.transcript.end_open_turns("stopped_by_user")
        assert await here.read_messages() == [("So far", "Hm", "stopped")]
        (end,) = await here.read_events()
        assert isinstance(end, TurnEnded)
        assert end.message == Answer("So far", "Hm")
        (said,) = here.transcript.messages
        for kept_as in (end, said):
            assert (kept_as.usage, kept_as.cost_usd) == (Usage(output=2, estimated=True), None)


async def test_interrupted_turn_is_stored_as_seen_when_new_attempt_is_impossible(database: Database) -> None:
    no_key = make_fault("auth", "No key.", retryable=False)
    async with open_stored_transcript(database, INTERRUPTED_EVENTS) as here:
        failed = msgspec.structs.replace(make_answer(here.lease, ""), view="blind", visible_until=1, status="failed")
        await here.transcript.commit_event(
            msgspec.structs.replace(make_turn_ended(status="failed"), fault=no_key), failed
        )
        (said,) = await Discussions(database).list_messages(here.lease.discussion)
        assert (said.content, said.status, said.fault) == ("So far", "partial", no_key)
        assert (said.view, said.visible_until) == ("blind", 1)


async def test_end_open_turns_stores_turns_that_an_internal_error_interrupted(
    database: Database,
) -> None:
    def begins(round_: int) -> list[Event]:
        at: dict[str, Any] = {"participant": "alpha", "stage": "answer", "round": round_}
        return [TurnStarted(**at, attempt=1, model="lab/one"), TextDelta(**at, text="So far")]

    async with open_stored_transcript(database) as here:
        await here.transcript.append_events(begins(0))
        assert here.transcript.has_open_turn(TURN_KEY)
        await here.transcript.commit_event(make_turn_ended("So."), make_answer(here.lease, "So."))
        assert not here.transcript.has_open_turn(TURN_KEY)
        await here.transcript.append_events(begins(1))
        await here.transcript.end_open_turns(None)
        await here.transcript.end_open_turns(None)
        assert await here.read_messages() == [("So.", "", "completed"), ("So far", "", "partial")]


async def test_end_open_turns_stores_interrupted_turns_without_new_attempt(database: Database) -> None:
    async with open_stored_transcript(database, INTERRUPTED_EVENTS) as here:
        await here.transcript.append_events([Notice(kind="resumed", message="It goes on.")])
        await here.transcript.end_open_turns("follow_up_interrupt")
        await here.transcript.end_open_turns("follow_up_interrupt")
        assert await here.read_messages() == [("So far", "Hm", "interrupted")]
        assert [type(event) for event in await here.read_events()] == [Notice, TurnEnded]


async def test_discard_failed_turns_matches_retry_in_database(database: Database) -> None:
    run, held = await prepare_leased_debate(database)
    turns = [
        make_turn(held, "alpha"),
        make_turn(held, "beta"),
        make_instructions(held, "alpha", "debate", "alpha"),
        make_instructions(held, "beta", "debate", "beta"),
        make_instructions(held, "beta", "synthesis", None),
        make_turn(held, "alpha", "debate"),
        make_turn(held, "beta", "debate", "failed"),
    ]
    await RunWriter(database, held).write_records(turns, [make_lane("beta")])
    discussions = Discussions(database)
    async with open_stored_transcript(database, existing_lease=await lease_run(database, run.id)) as here:
        here.transcript.messages[:] = await discussions.list_messages(run.discussion)
        here.transcript.discard_failed_turns("beta")
        await Retries(database, WORKER).retry_run(ANNA, run.id, "beta")
        assert tuple(here.transcript.messages) == await discussions.list_messages(run.discussion)
        assert len(here.transcript.messages) == 1 + len(turns) - 3

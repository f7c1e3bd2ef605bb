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
from tests.engine.recording import ended, kept
from tests.store.debating import Pen, brief, first_debate, lane, turn
from tests.store.people import ANNA
from tests.store.running import WORKER, answer, claim

SEAT = TurnKey("alpha", "answer", 0)
AT: dict[str, Any] = {"participant": "alpha", "stage": "answer", "round": 0}
LEFT = (
    TurnStarted(**AT, attempt=1, model="lab/one"),
    ThoughtDelta(**AT, text="Hm"),
    TextDelta(**AT, text="So far"),
)


async def test_what_is_kept_is_safe_and_is_seen_by_the_next_turn(database: Database) -> None:
    async with kept(database) as here:
        await here.record.commit_event(ended("Round."), answer(here.run, "Round."))
        assert await here.messages() == [("Round.", "", "completed")]
        (said,) = here.record.messages
        assert said.content == "Round."
        assert said.number > 0


async def test_what_is_kept_with_a_price_is_spent(database: Database) -> None:
    async with kept(database) as here:
        for cost in (0.25, None, 0.5):
            charge = Charge(purpose="summary", model="lab/one", usage=Usage(1, 1), cost=cost)
            await here.record.commit_event(Notice(kind="missing", message="No summary."), charges=[charge])
        assert here.record.spent_usd == 0.75


async def test_a_stage_is_announced_once_even_if_a_crash_lies_between(database: Database) -> None:
    async with kept(database) as here:
        await here.record.append_events(
            [StageStarted(stage="round", round=0), StageStarted(stage="round", round=0)]
        )
    async with kept(database, again=await claim(database, here.run.run)) as again:
        await again.record.append_events([StageStarted(stage="round", round=0)])
        await again.record.append_events([StageStarted(stage="round", round=1)])
    assert [event.round for event in await again.events() if isinstance(event, StageStarted)] == [0, 1]


async def test_a_turn_that_is_spoken_anew_is_kept_as_it_is_now(database: Database) -> None:
    async with kept(database, LEFT) as here:
        start = TurnStarted(participant="alpha", stage="answer", round=0, attempt=1, model="lab/one")
        await here.record.append_events(
            [start, TextDelta(participant="alpha", stage="answer", round=0, text="New.")]
        )
        await here.record.commit_event(ended("New."), answer(here.run, "New."))
        await here.record.end_open_turns(None)
        assert await here.messages() == [("New.", "", "completed")]
        lost = await UsageReports(database).run_spending(here.run.run)
        assert (lost.output, lost.estimated, lost.unpriced) == (2, True, 1), "it was paid"


async def test_a_turn_that_is_stopped_before_it_is_spoken_anew_keeps_what_was_seen(
    database: Database,
) -> None:
    async with kept(database, LEFT) as here:
        stopped = msgspec.structs.replace(answer(here.run, ""), status="stopped")
        await here.record.commit_event(ended(status="stopped"), stopped)
        await here.record.end_open_turns("stopped_by_user")
        assert await here.messages() == [("So far", "Hm", "stopped")]
        (end,) = await here.events()
        assert isinstance(end, TurnEnded)
        assert end.message == Answer("So far", "Hm")
        (said,) = here.record.messages
        for kept_as in (end, said):
            assert (kept_as.usage, kept_as.cost) == (Usage(output=2, estimated=True), None)


async def test_one_that_cannot_be_spoken_anew_is_kept_as_what_people_have_read(database: Database) -> None:
    no_key = make_fault("auth", "No key.", retryable=False)
    async with kept(database, LEFT) as here:
        failed = msgspec.structs.replace(answer(here.run, ""), view="blind", upto=1, status="failed")
        await here.record.commit_event(msgspec.structs.replace(ended(status="failed"), fault=no_key), failed)
        (said,) = await Discussions(database).list_messages(here.run.discussion)
        assert (said.content, said.status, said.fault) == ("So far", "partial", no_key)
        assert (said.view, said.upto) == ("blind", 1)


async def test_turns_that_were_in_flight_when_a_mistake_of_ours_ended_the_run_are_closed(
    database: Database,
) -> None:
    def begins(round_: int) -> list[Event]:
        at: dict[str, Any] = {"participant": "alpha", "stage": "answer", "round": round_}
        return [TurnStarted(**at, attempt=1, model="lab/one"), TextDelta(**at, text="So far")]

    async with kept(database) as here:
        await here.record.append_events(begins(0))
        assert here.record.has_open_turn(SEAT)
        await here.record.commit_event(ended("So."), answer(here.run, "So."))
        assert not here.record.has_open_turn(SEAT)
        await here.record.append_events(begins(1))
        await here.record.end_open_turns(None)
        await here.record.end_open_turns(None)
        assert await here.messages() == [("So.", "", "completed"), ("So far", "", "partial")]


async def test_turns_that_are_not_spoken_anew_are_closed(database: Database) -> None:
    async with kept(database, LEFT) as here:
        await here.record.append_events([Notice(kind="resumed", message="It goes on.")])
        await here.record.end_open_turns("follow_up_interrupt")
        await here.record.end_open_turns("follow_up_interrupt")
        assert await here.messages() == [("So far", "Hm", "interrupted")]
        assert [type(event) for event in await here.events()] == [Notice, TurnEnded]


async def test_what_is_to_be_spoken_anew_is_forgotten_as_it_is_in_the_database(database: Database) -> None:
    run, held = await first_debate(database)
    turns = [
        turn(held, "alpha"),
        turn(held, "beta"),
        brief(held, "alpha", "debate", "alpha"),
        brief(held, "beta", "debate", "beta"),
        brief(held, "beta", "synthesis", None),
        turn(held, "alpha", "debate"),
        turn(held, "beta", "debate", "failed"),
    ]
    await Pen(database, held).keep(turns, [lane("beta")])
    discussions = Discussions(database)
    async with kept(database, again=await claim(database, run.id)) as here:
        here.record.messages[:] = await discussions.list_messages(run.discussion)
        here.record.discard_failed_turns("beta")
        await Retries(database, WORKER).retry_run(ANNA, run.id, "beta")
        assert tuple(here.record.messages) == await discussions.list_messages(run.discussion)
        assert len(here.record.messages) == 1 + len(turns) - 3

"""The stored transcript and the fake of it keep alike what turns are taken on."""

from collections.abc import AsyncIterator

import pytest
from msgspec.structs import replace

from moot.engine.turns.context import RunTranscript
from moot.store.database import Database
from moot.types.billing import Charge
from moot.types.discussions import Message
from moot.types.events import Agreed, TurnKey
from tests.engine.recording import make_turn_ended, open_stored_transcript
from tests.engine.tables import FakeTranscript
from tests.store.running import make_answer

TURN_KEY = TurnKey("alpha", "answer", 0)


@pytest.fixture(params=["stored", "fake"])
async def transcript_and_answer(
    request: pytest.FixtureRequest, database: Database
) -> AsyncIterator[tuple[RunTranscript, Message]]:
    """A transcript of a run in which nobody has spoken, and an answer that may be given in it."""
    async with open_stored_transcript(database) as here:
        said = make_answer(here.lease, "Round.")
        yield (here.transcript if request.param == "stored" else FakeTranscript(())), said


async def test_what_is_kept_is_said_under_the_number_that_is_returned(
    transcript_and_answer: tuple[RunTranscript, Message],
) -> None:
    transcript, said = transcript_and_answer
    assert not transcript.messages
    number = await transcript.commit_event(make_turn_ended("Round."), said)
    assert list(transcript.messages) == [replace(said, number=number)]


async def test_what_it_cost_is_added_up_and_what_nobody_knows_counts_nothing(
    transcript_and_answer: tuple[RunTranscript, Message],
) -> None:
    transcript, said = transcript_and_answer
    for cost in (0.5, None, 0.25):
        charge = Charge(
            purpose="answer", model="lab/one", usage=make_turn_ended().usage, cost=cost, participant="alpha"
        )
        await transcript.commit_event(make_turn_ended(), said if cost == 0.5 else None, charges=[charge])
    assert transcript.spent_usd == 0.75


async def test_what_is_found_is_there_and_is_no_message(
    transcript_and_answer: tuple[RunTranscript, Message],
) -> None:
    transcript, _ = transcript_and_answer
    agreed = Agreed(basis="x", agree=True, reason="They do.", cost=None)
    await transcript.commit_event(agreed)
    assert (list(transcript.analysis_results), list(transcript.messages)) == ([agreed], [])


async def test_who_tries_again_has_not_spoken_unless_it_was_an_answer(
    transcript_and_answer: tuple[RunTranscript, Message],
) -> None:
    transcript, said = transcript_and_answer
    await transcript.commit_event(make_turn_ended("Round."), said)
    failed = replace(said, id="msg_failed", stage="debate", content="", status="failed")
    await transcript.commit_event(replace(make_turn_ended("", "failed"), stage="debate"), failed)
    transcript.discard_failed_turns("beta")
    assert len(transcript.messages) == 2
    transcript.discard_failed_turns("alpha")
    assert [one.content for one in transcript.messages] == ["Round."]


async def test_a_turn_that_nobody_has_seen_is_not_open(
    transcript_and_answer: tuple[RunTranscript, Message],
) -> None:
    transcript, _ = transcript_and_answer
    assert not transcript.has_open_turn(TURN_KEY)

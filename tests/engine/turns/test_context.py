"""The stored transcript and the fake of it keep alike what turns are taken on."""

from collections.abc import AsyncIterator

import pytest
from msgspec.structs import replace

from moot.engine.turns.context import RunTranscript
from moot.store.database import Database
from moot.types.billing import Charge
from moot.types.discussions import Message
from moot.types.events import Agreed, TurnKey
from tests.engine.recording import ended, kept
from tests.engine.tables import Said
from tests.store.running import answer

SEAT = TurnKey("alpha", "answer", 0)


@pytest.fixture(params=["stored", "fake"])
async def scene(
    request: pytest.FixtureRequest, database: Database
) -> AsyncIterator[tuple[RunTranscript, Message]]:
    """A transcript of a run in which nobody has spoken, and an answer that may be given in it."""
    async with kept(database) as here:
        said = answer(here.run, "Round.")
        yield (here.record if request.param == "stored" else Said(())), said


async def test_what_is_kept_is_said_under_the_number_that_is_returned(
    scene: tuple[RunTranscript, Message],
) -> None:
    transcript, said = scene
    assert not transcript.messages
    number = await transcript.commit_event(ended("Round."), said)
    assert list(transcript.messages) == [replace(said, number=number)]


async def test_what_it_cost_is_added_up_and_what_nobody_knows_counts_nothing(
    scene: tuple[RunTranscript, Message],
) -> None:
    transcript, said = scene
    for cost in (0.5, None, 0.25):
        charge = Charge(
            purpose="answer", model="lab/one", usage=ended().usage, cost=cost, participant="alpha"
        )
        await transcript.commit_event(ended(), said if cost == 0.5 else None, charges=[charge])
    assert transcript.spent_usd == 0.75


async def test_what_is_found_is_there_and_is_no_message(scene: tuple[RunTranscript, Message]) -> None:
    transcript, _ = scene
    agreed = Agreed(basis="x", agree=True, reason="They do.", cost=None)
    await transcript.commit_event(agreed)
    assert (list(transcript.analysis_results), list(transcript.messages)) == ([agreed], [])


async def test_who_tries_again_has_not_spoken_unless_it_was_an_answer(
    scene: tuple[RunTranscript, Message],
) -> None:
    transcript, said = scene
    await transcript.commit_event(ended("Round."), said)
    failed = replace(said, id="msg_failed", stage="debate", content="", status="failed")
    await transcript.commit_event(replace(ended("", "failed"), stage="debate"), failed)
    transcript.discard_failed_turns("beta")
    assert len(transcript.messages) == 2
    transcript.discard_failed_turns("alpha")
    assert [one.content for one in transcript.messages] == ["Round."]


async def test_a_turn_that_nobody_has_seen_is_not_open(scene: tuple[RunTranscript, Message]) -> None:
    transcript, _ = scene
    assert not transcript.has_open_turn(SEAT)

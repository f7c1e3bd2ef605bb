"""The stored transcript and its fake store turns in the same way."""

from collections.abc import AsyncIterator

import pytest
from msgspec.structs import replace

from moot.engine.turns.runner import RunTranscript
from moot.store.database import Database
from moot.types.billing import Charge
from moot.types.discussions import Message
from moot.types.events import AgreementChecked, TurnKey
from tests.support.runs import make_answer
from tests.support.table_harness import FakeTranscript
from tests.support.transcript_harness import make_turn_ended, open_stored_transcript

TURN_KEY = TurnKey("alpha", "answer", 0)


@pytest.fixture(params=["stored", "fake"])
async def transcript_and_answer(
    request: pytest.FixtureRequest, database: Database
) -> AsyncIterator[tuple[RunTranscript, Message]]:
    """An empty transcript of a run, and an answer for it."""
    async with open_stored_transcript(database) as opened:
        answer = make_answer(opened.lease, "Round.")
        yield (opened.transcript if request.param == "stored" else FakeTranscript(())), answer


async def test_commit_event_stores_message_with_returned_seq(
    transcript_and_answer: tuple[RunTranscript, Message],
) -> None:
    transcript, answer = transcript_and_answer
    assert not transcript.messages
    number = await transcript.commit_event(make_turn_ended("Round."), answer)
    assert list(transcript.messages) == [replace(answer, seq=number)]


async def test_spent_usd_sums_known_costs(
    transcript_and_answer: tuple[RunTranscript, Message],
) -> None:
    transcript, answer = transcript_and_answer
    for cost in (0.5, None, 0.25):
        charge = Charge(
            purpose="answer", model="lab/one", usage=make_turn_ended().usage, cost_usd=cost, participant="alpha"
        )
        await transcript.commit_event(make_turn_ended(), answer if cost == 0.5 else None, charge=charge)
    assert transcript.spent_usd == 0.75


async def test_analysis_result_is_stored_but_not_as_message(
    transcript_and_answer: tuple[RunTranscript, Message],
) -> None:
    transcript, _ = transcript_and_answer
    agreed = AgreementChecked(cache_key="x", agree=True, reason="They do.", cost_usd=None)
    await transcript.commit_event(agreed)
    assert (list(transcript.analysis_results), list(transcript.messages)) == ([agreed], [])


async def test_discard_failed_turns_keeps_answers(
    transcript_and_answer: tuple[RunTranscript, Message],
) -> None:
    transcript, answer = transcript_and_answer
    await transcript.commit_event(make_turn_ended("Round."), answer)
    failed = replace(answer, id="msg_failed", stage="debate", content="", status="failed")
    await transcript.commit_event(replace(make_turn_ended("", "failed"), stage="debate"), failed)
    transcript.discard_failed_turns("beta")
    assert len(transcript.messages) == 2
    transcript.discard_failed_turns("alpha")
    assert [one.content for one in transcript.messages] == ["Round."]


async def test_turn_without_events_is_not_open(
    transcript_and_answer: tuple[RunTranscript, Message],
) -> None:
    transcript, _ = transcript_and_answer
    assert not transcript.has_open_turn(TURN_KEY)

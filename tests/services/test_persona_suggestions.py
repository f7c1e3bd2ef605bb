"""Perspectives: proposals are told while they are written, what is there already is left out, and all of it is paid."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from msgspec.structs import replace

from moot.providers.scripted.scripts import Script, last_user_text
from moot.services.persona_suggestions import AllProposed, Proposed, Proposing, SuggestionEvent
from moot.types.errors import MissingKey, ProviderError, UsageError
from moot.types.personas import CATEGORIES, PersonaDraft, Reply
from tests.databases import SLOW_ON_POSTGRES
from tests.prompts.tasks.test_persona_suggestions import voice
from tests.server.trying import CALLER, Trying, trying
from tests.store.people import ANNA, settled

MODEL = "scripted/clerk"
EIGHT = [voice(f"Voice {place}", CATEGORIES[place // 2]) for place in range(8)]


@pytest.fixture(params=SLOW_ON_POSTGRES)
async def room(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Trying]:
    async with settled(request.param, tmp_path) as database, trying(database) as room:
        yield room


async def proposed(room: Trying, *replies: Reply) -> list[SuggestionEvent]:
    events = room.house.perspectives.suggest_personas(CALLER, "I want to move.", replies, MODEL)
    return [event async for event in events]


def names(events: list[SuggestionEvent]) -> list[str]:
    return [event.proposal.name for event in events if isinstance(event, Proposed)]


async def test_eight_are_proposed_and_paid_for(room: Trying) -> None:
    room.cast.says("clerk", EIGHT)
    events = await proposed(room, Reply(question="Since when?", answer="A year."))
    assert isinstance(events[0], Proposing)
    assert names(events) == [one["name"] for one in EIGHT]
    done = events[-1]
    assert isinstance(done, AllProposed)
    assert (done.proposals, done.dropped, done.message) == (8, (), "")
    assert list(await room.paid()) == ["perspective"]
    assert "A year." in last_user_text(room.cast.asked[0])


async def test_each_is_told_as_soon_as_it_is_written(room: Trying) -> None:
    """The model never comes to an end: what it wrote until then is told all the same."""
    first = msgspec.json.encode(EIGHT[:2]).decode()[:-1]
    room.cast.scripts.by_name["clerk"] = Script(answer=f"{first}, ", fault="endless", pace=0.01, chunk=5)
    events = room.house.perspectives.suggest_personas(CALLER, "I want to move.", (), MODEL)
    async with asyncio.timeout(60):
        told = [await anext(events) for _ in range(3)]
    assert names(told) == ["Voice 0", "Voice 1"]
    await events.aclose()
    assert (await room.paid())["perspective"]["calls"] == 1, "what was said is paid"


async def test_what_is_there_already_comes_twice_or_does_not_fit_is_left_out(room: Trying) -> None:
    await room.house.personas.create_persona(ANNA, PersonaDraft(name="Hypatia", description="You teach."))
    odd = [voice("HYPATIA"), voice("sceptic"), voice("Ada"), voice("ada "), voice("Bo", "friend"), 7]
    room.cast.says("clerk", odd)
    events = await proposed(room)
    assert names(events) == ["Ada"]
    done = events[-1]
    assert isinstance(done, AllProposed)
    assert [one.name for one in done.dropped] == ["HYPATIA", "sceptic", "ada", "Bo"]
    assert "Hypatia, " in last_user_text(room.cast.asked[0]), "the model is told whom there is"


@pytest.mark.parametrize("around", ["{}", "Here you are:\n```json\n{}\n```\nEnjoy."])
async def test_words_around_the_array_do_no_harm(room: Trying, around: str) -> None:
    room.cast.says("clerk", around.replace("{}", msgspec.json.encode(EIGHT).decode()))
    assert len(names(await proposed(room))) == 8


@pytest.mark.parametrize(
    ("script", "words"),
    [
        (Script(answer="I cannot do that."), "nothing that can be used"),
        (Script(fault="unauthorized"), "Check the key"),
        (
            Script(answer=msgspec.json.encode(EIGHT).decode(), fault="reset", chunk=200, fault_after=3),
            "broke",
        ),
    ],
)
async def test_a_model_that_fails_says_so_at_the_end(room: Trying, script: Script, words: str) -> None:
    room.cast.scripts.by_name["clerk"] = replace(script)
    done = (await proposed(room))[-1]
    assert isinstance(done, AllProposed)
    assert words in done.message


async def test_questions_are_three_at_most(room: Trying) -> None:
    room.cast.says("clerk", {"questions": ["Since when?", "What binds you?"]})
    asked = await room.house.perspectives.ask_questions(CALLER, "I want to move.", MODEL)
    assert asked.questions == ("Since when?", "What binds you?")
    room.cast.says("clerk", {"questions": ["x"] * 4})
    with pytest.raises(ProviderError):
        await room.house.perspectives.ask_questions(CALLER, "I want to move.", MODEL)


async def test_a_model_that_cannot_be_asked_is_refused_before_it_begins(room: Trying) -> None:
    async def first(model: str) -> Any:
        return await anext(room.house.perspectives.suggest_personas(CALLER, "I want to move.", (), model))

    for model, kind in (("openai/gpt-x", MissingKey), ("nobody/x", UsageError)):
        with pytest.raises(kind):
            await first(model)

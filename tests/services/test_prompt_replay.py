"""What somebody was told before an answer, told again."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from moot.types.errors import NotFound
from tests.databases import SLOW_ON_POSTGRES
from tests.server.trying import Trying, trying
from tests.store.people import ANNA, settled


@pytest.fixture(params=SLOW_ON_POSTGRES)
async def room(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Trying]:
    async with settled(request.param, tmp_path) as database, trying(database) as room:
        yield room


async def test_it_is_what_was_there_then(room: Trying) -> None:
    message = await room.answered(persona="shipped_sceptic")
    told = await room.house.retelling.replay_prompt(ANNA, message)
    request = told.build_request()
    assert (told.participant.id, request.messages[0].parts[0].text) == ("alpha", "Why is a table round?")  # type: ignore[union-attr]
    assert request.system.startswith("You are the sceptic.")


async def test_another_part_takes_the_place_of_the_persona_and_of_nothing_else(room: Trying) -> None:
    plain = await room.house.retelling.replay_prompt(ANNA, await room.answered())
    assert plain.build_request("You are brief.").system.startswith("You are brief.\n\n")
    played = await room.house.retelling.replay_prompt(ANNA, await room.answered(persona="shipped_sceptic"))
    assert played.build_request("You are brief.") == plain.build_request("You are brief.")


async def test_what_is_no_turn_was_told_nothing(room: Trying) -> None:
    message = await room.answered()
    run = await room.house.runs.get_run(ANNA, message.run or "")
    asked = await room.house.discussions.find_message(ANNA, run.message or "")
    with pytest.raises(NotFound, match="no turn"):
        await room.house.retelling.replay_prompt(ANNA, asked)

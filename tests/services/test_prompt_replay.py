"""What somebody was told before an answer, told again."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from moot.types.errors import NotFound
from tests.databases import SLOW_ON_POSTGRES
from tests.server.trying import EvaluationApp, create_evaluation_app
from tests.store.people import ANNA, database_with_accounts


@pytest.fixture(params=SLOW_ON_POSTGRES)
async def harness(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[EvaluationApp]:
    async with (
        database_with_accounts(request.param, tmp_path) as database,
        create_evaluation_app(database) as room,
    ):
        yield room


async def test_it_is_what_was_there_then(harness: EvaluationApp) -> None:
    message = await harness.record_answer(persona="shipped_sceptic")
    told = await harness.services.prompt_replay.replay_prompt(ANNA, message)
    request = told.build_request()
    assert (told.participant.id, request.messages[0].parts[0].text) == ("alpha", "Why is a table round?")  # type: ignore[union-attr]
    assert request.system.startswith("You are the sceptic.")


async def test_another_part_takes_the_place_of_the_persona_and_of_nothing_else(
    harness: EvaluationApp,
) -> None:
    plain = await harness.services.prompt_replay.replay_prompt(ANNA, await harness.record_answer())
    assert plain.build_request("You are brief.").system.startswith("You are brief.\n\n")
    played = await harness.services.prompt_replay.replay_prompt(
        ANNA, await harness.record_answer(persona="shipped_sceptic")
    )
    assert played.build_request("You are brief.") == plain.build_request("You are brief.")


async def test_what_is_no_turn_was_told_nothing(harness: EvaluationApp) -> None:
    message = await harness.record_answer()
    run = await harness.services.runs.get_run(ANNA, message.run or "")
    asked = await harness.services.discussions.find_message(ANNA, run.message or "")
    with pytest.raises(NotFound, match="no turn"):
        await harness.services.prompt_replay.replay_prompt(ANNA, asked)

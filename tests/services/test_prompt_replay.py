"""The prompt of a stored answer, built again."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from moot.types.errors import NotFound
from tests.support.accounts import ANNA, database_with_accounts
from tests.support.databases import SLOW_ON_POSTGRES
from tests.support.evaluation_app import EvaluationApp, create_evaluation_app


@pytest.fixture(params=SLOW_ON_POSTGRES)
async def harness(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[EvaluationApp]:
    async with (
        database_with_accounts(request.param, tmp_path) as database,
        create_evaluation_app(database) as app,
    ):
        yield app


async def test_replay_prompt_builds_the_original_request(harness: EvaluationApp) -> None:
    message = await harness.record_answer(persona="shipped_sceptic")
    replayed = await harness.services.prompt_replay.replay_prompt(ANNA, message)
    request = replayed.build_request()
    assert (replayed.participant.id, request.messages[0].parts[0].text) == ("alpha", "Why is a table round?")  # type: ignore[union-attr]
    assert request.system.startswith("You are the sceptic.")


async def test_replay_with_other_persona_replaces_only_the_persona(
    harness: EvaluationApp,
) -> None:
    plain = await harness.services.prompt_replay.replay_prompt(ANNA, await harness.record_answer())
    assert plain.build_request("You are brief.").system.startswith("You are brief.\n\n")
    replayed = await harness.services.prompt_replay.replay_prompt(
        ANNA, await harness.record_answer(persona="shipped_sceptic")
    )
    assert replayed.build_request("You are brief.") == plain.build_request("You are brief.")


async def test_replay_prompt_rejects_message_that_is_no_turn(harness: EvaluationApp) -> None:
    message = await harness.record_answer()
    run = await harness.services.runs.get_run(ANNA, message.run or "")
    asked = await harness.services.discussions.find_message(ANNA, run.message or "")
    with pytest.raises(NotFound, match="not a turn"):
        await harness.services.prompt_replay.replay_prompt(ANNA, asked)

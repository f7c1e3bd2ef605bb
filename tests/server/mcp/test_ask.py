"""The ask tool without a worker: the test writes the answers itself."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from moot.server.mcp.ask import AskInput, AskResult, AskRunner
from moot.settings import RateSettings
from moot.types.accounts import Caller
from moot.types.errors import Forbidden, NotFound, RateLimited, UsageError
from tests.support.app_fixture import LocalApp, create_local_app
from tests.support.databases import open_migrated_database

MODELS = ["scripted/echo", "scripted/steady"]


class AskHarness:
    """Asks questions, and records the progress reports."""

    def __init__(self, local_app: LocalApp, caller: Caller) -> None:
        self.local_app = local_app
        self.services = local_app.services
        self.caller = caller
        self.progress_reports: list[tuple[float, str]] = []
        self._ask_runner = AskRunner(
            local_app.worker.stores,
            self.services.discussion_service,
            self.services.run_planner,
            self.services.rate_limits,
            self.services.event_hub,
            self.services.revocations,
        )

    async def _record_progress(self, progress: float, text: str) -> None:
        self.progress_reports.append((progress, text))

    def ask(self, caller: Caller | None = None, **fields: Any) -> "asyncio.Task[AskResult]":
        question = AskInput(**{"question": "What is a moot?"} | fields)
        return asyncio.create_task(
            self._ask_runner.ask_question(caller or self.caller, question, self._record_progress)
        )

    async def wait_for_run(self, task: "asyncio.Task[AskResult]", number: int = 1) -> str:
        """Wait until run `number` has started, and return its ID."""
        async with asyncio.timeout(60):
            while len(self.local_app.started_runs) < number:
                assert not task.done(), task
                await asyncio.sleep(0.01)
        return self.local_app.started_runs[number - 1]

    async def cancel_and_wait(self, task: "asyncio.Task[AskResult]") -> None:
        """Cancel the question, and wait until its run has been stopped."""
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task
        await asyncio.gather(*self._ask_runner._stop_tasks)


@pytest.fixture
async def ask_harness(tmp_path: Path) -> AsyncIterator[AskHarness]:
    async with open_migrated_database("sqlite", tmp_path) as database, create_local_app(database) as local_app:
        yield AskHarness(local_app, await local_app.services.accounts.ensure_local_account())


async def test_ask_returns_answer_text_run_and_discussion(ask_harness: AskHarness) -> None:
    asking = ask_harness.ask(models=MODELS)
    run = await ask_harness.wait_for_run(asking)
    await ask_harness.local_app.record_answer(run, "A ", "meeting.")
    answered = await asking
    assert (answered.run, answered.status) == (run, "completed")
    discussion = await ask_harness.services.discussions.get_discussion(ask_harness.caller.tenant, answered.discussion)
    assert (discussion.mode, [who.model for who in discussion.participants]) == ("parallel", MODELS)
    assert answered.text.endswith(f"Discussion {discussion.id}: completed.")
    assert (10, "Alpha: A meeting.") in ask_harness.progress_reports


async def test_ask_continues_existing_discussion(ask_harness: AskHarness) -> None:
    opened = await ask_harness.local_app.create_discussion(mode="consensus")
    asking = ask_harness.ask(discussion=opened["discussion"]["id"], max_cost_usd=1.0)
    await ask_harness.local_app.record_answer(await ask_harness.wait_for_run(asking, 2), "Yes.")
    assert (await asking).discussion == opened["discussion"]["id"]


async def test_ask_uses_preset_by_name_with_its_options_or_other_mode(
    ask_harness: AskHarness,
) -> None:
    preset = {"name": "Woodwork", "participants": MODELS, "mode": "debate", "debate": {"quorum": 1}}
    await ask_harness.local_app.call_ok("POST", "/api/presets", preset)
    asking = ask_harness.ask(preset="woodWORK")
    await ask_harness.local_app.record_answer(await ask_harness.wait_for_run(asking), "Yes.")
    found = await ask_harness.services.discussions.get_discussion(ask_harness.caller.tenant, (await asking).discussion)
    assert (found.mode, found.debate and found.debate.quorum) == ("debate", 1)
    asking = ask_harness.ask(preset="Woodwork", mode="parallel")
    await ask_harness.local_app.record_answer(await ask_harness.wait_for_run(asking, 2), "Yes.")
    assert (
        await ask_harness.services.discussions.get_discussion(ask_harness.caller.tenant, (await asking).discussion)
    ).mode == "parallel"


async def test_ask_with_unknown_preset_lists_existing_presets(ask_harness: AskHarness) -> None:
    with pytest.raises(NotFound, match="There is none yet"):
        await ask_harness.ask(preset="Metal")
    await ask_harness.local_app.call_ok("POST", "/api/presets", {"name": "Woodwork", "participants": MODELS})
    with pytest.raises(NotFound, match=r"preset: there is no preset 'Metal'\. There are Woodwork\."):
        await ask_harness.ask(preset="Metal")


@pytest.mark.parametrize("who", [{}, {"models": MODELS, "preset": "x"}, {"models": MODELS, "discussion": "x"}])
async def test_ask_requires_exactly_one_of_preset_models_and_discussion(
    ask_harness: AskHarness, who: dict[str, Any]
) -> None:
    with pytest.raises(UsageError, match="exactly one of preset, models and discussion"):
        await ask_harness.ask(**who)


async def test_ask_names_field_of_unknown_model(
    ask_harness: AskHarness,
) -> None:
    with pytest.raises(UsageError, match=r"^models\[1\]: "):
        await ask_harness.ask(models=["scripted/echo", "nowhere/x"])


async def test_ask_rejects_mode_that_differs_from_discussion(ask_harness: AskHarness) -> None:
    opened = await ask_harness.local_app.create_discussion()
    with pytest.raises(UsageError, match="mode: this discussion has the mode parallel"):
        await ask_harness.ask(discussion=opened["discussion"]["id"], mode="debate")


async def test_ask_does_not_find_discussion_of_other_tenant(ask_harness: AskHarness) -> None:
    opened = await ask_harness.local_app.create_discussion()
    other_caller = Caller(account="x", tenant="elsewhere", name="x", kind="local")
    with pytest.raises(NotFound):
        await ask_harness.ask(other_caller, discussion=opened["discussion"]["id"])


async def test_cancelled_ask_stops_run(ask_harness: AskHarness) -> None:
    asking = ask_harness.ask(models=MODELS)
    run = await ask_harness.wait_for_run(asking)
    await ask_harness.cancel_and_wait(asking)
    assert (await ask_harness.services.runs.pending_commands(run)).stop_reason == "stopped_by_user"


async def test_cancelled_ask_does_not_stop_run_when_server_drains(ask_harness: AskHarness) -> None:
    asking = ask_harness.ask(models=MODELS)
    run = await ask_harness.wait_for_run(asking)
    ask_harness.services.discussion_service.drain()
    await ask_harness.cancel_and_wait(asking)
    assert (await ask_harness.services.runs.pending_commands(run)).stop_reason is None


async def test_ask_is_forbidden_after_credential_is_revoked(ask_harness: AskHarness) -> None:
    await ask_harness.services.accounts.create_account("ada", "correct horse")
    _, caller = await ask_harness.services.accounts.login("ada", "correct horse")
    asking = ask_harness.ask(caller, models=MODELS)
    await ask_harness.wait_for_run(asking)
    await ask_harness.services.accounts.logout(caller)
    async with asyncio.timeout(60):
        while not asking.done():
            await ask_harness.services.revocations.check_credentials()
            await asyncio.sleep(0.01)
    with pytest.raises(Forbidden):
        await asking


async def test_ask_counts_against_message_rate_limit(ask_harness: AskHarness) -> None:
    ask_harness.services.rate_limits._settings = RateSettings(messages_per_minute=1, messages_burst=1)
    asking = ask_harness.ask(models=MODELS)
    await ask_harness.wait_for_run(asking)
    with pytest.raises(RateLimited):
        await ask_harness.ask(models=MODELS)
    await ask_harness.cancel_and_wait(asking)

"""Asking, with nobody who would answer: a test lets the table speak."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from moot.server.mcp.ask import AskInput, AskResult, AskRunner
from moot.types.accounts import Caller
from moot.types.errors import Forbidden, NotFound, RateLimited, UsageError
from tests.databases import migrated
from tests.server.talking import Talking, talking

MODELS = ["scripted/echo", "scripted/steady"]


class Table:
    """Somebody who asks, and those who are asked."""

    def __init__(self, talking: Talking, caller: Caller) -> None:
        self.talking = talking
        self.house = talking.house
        self.caller = caller
        self.told: list[tuple[float, str]] = []
        self._asking = AskRunner(
            self.house.hall,
            self.house.drafts,
            self.house.limits,
            self.house.discussions,
            self.house.line_ups,
            self.house.events,
            self.house.feeds,
            self.house.runs,
            self.house.revocations,
        )

    async def _tell(self, progress: float, words: str) -> None:
        self.told.append((progress, words))

    def ask(self, caller: Caller | None = None, **asked: Any) -> "asyncio.Task[AskResult]":
        question = AskInput(**{"question": "What is a moot?"} | asked)
        return asyncio.create_task(self._asking.ask_question(caller or self.caller, question, self._tell))

    async def started(self, asking: "asyncio.Task[AskResult]", number: int = 1) -> str:
        """Wait until a run was started, and return it."""
        async with asyncio.timeout(60):
            while len(self.talking.started) < number:
                assert not asking.done(), asking
                await asyncio.sleep(0.01)
        return self.talking.started[number - 1]

    async def given_up(self, asking: "asyncio.Task[AskResult]") -> None:
        """Let nobody wait any more, and wait for what comes of that."""
        asking.cancel()
        with suppress(asyncio.CancelledError):
            await asking
        await asyncio.gather(*self._asking._stop_tasks)


@pytest.fixture
async def table(tmp_path: Path) -> AsyncIterator[Table]:
    async with migrated("sqlite", tmp_path) as database, talking(database) as talks:
        yield Table(talks, await talks.house.accounts.ensure_local_account())


async def test_a_question_is_answered_with_what_was_said_and_where(table: Table) -> None:
    asking = table.ask(models=MODELS)
    run = await table.started(asking)
    await table.talking.answer(run, "A ", "meeting.")
    answered = await asking
    assert (answered.run, answered.status) == (run, "completed")
    discussion = await table.house.discussions.get_discussion(table.caller.tenant, answered.discussion)
    assert (discussion.mode, [who.model for who in discussion.participants]) == ("parallel", MODELS)
    assert answered.text.endswith(f"Discussion {discussion.id}: completed.")
    assert (10, "Alpha: A meeting.") in table.told


async def test_a_discussion_is_gone_on_with(table: Table) -> None:
    opened = await table.talking.open(mode="consensus")
    asking = table.ask(discussion=opened["discussion"]["id"], cap=1.0)
    await table.talking.answer(await table.started(asking, 2), "Yes.")
    assert (await asking).discussion == opened["discussion"]["id"]


async def test_a_line_up_is_asked_by_its_name_with_its_rules_or_in_another_mode(table: Table) -> None:
    kept = {"name": "Woodwork", "participants": MODELS, "mode": "debate", "debate": {"quorum": 1}}
    await table.talking.ok("POST", "/api/line-ups", kept)
    asking = table.ask(line_up="woodWORK")
    await table.talking.answer(await table.started(asking), "Yes.")
    found = await table.house.discussions.get_discussion(table.caller.tenant, (await asking).discussion)
    assert (found.mode, found.debate and found.debate.quorum) == ("debate", 1)
    asking = table.ask(line_up="Woodwork", mode="parallel")
    await table.talking.answer(await table.started(asking, 2), "Yes.")
    assert (
        await table.house.discussions.get_discussion(table.caller.tenant, (await asking).discussion)
    ).mode == "parallel"


async def test_a_line_up_that_is_not_there_is_told_with_those_that_are(table: Table) -> None:
    with pytest.raises(NotFound, match="There is none yet"):
        await table.ask(line_up="Metal")
    await table.talking.ok("POST", "/api/line-ups", {"name": "Woodwork", "participants": MODELS})
    with pytest.raises(NotFound, match=r"line_up: nothing is called 'Metal'\. There are Woodwork\."):
        await table.ask(line_up="Metal")


@pytest.mark.parametrize(
    "who", [{}, {"models": MODELS, "line_up": "x"}, {"models": MODELS, "discussion": "x"}]
)
async def test_it_must_be_clear_who_is_asked(table: Table, who: dict[str, Any]) -> None:
    with pytest.raises(UsageError, match="name one of line_up, models and discussion"):
        await table.ask(**who)


async def test_a_model_that_nobody_offers_is_named_by_the_field_in_which_it_was_sent(table: Table) -> None:
    with pytest.raises(UsageError, match=r"^models\[1\]: "):
        await table.ask(models=["scripted/echo", "nowhere/x"])


async def test_another_mode_than_that_of_a_discussion_is_refused(table: Table) -> None:
    opened = await table.talking.open()
    with pytest.raises(UsageError, match="mode: this discussion is a parallel"):
        await table.ask(discussion=opened["discussion"]["id"], mode="debate")


async def test_another_tenants_discussion_is_not_there(table: Table) -> None:
    opened = await table.talking.open()
    stranger = Caller(account="x", tenant="elsewhere", name="x", kind="local")
    with pytest.raises(NotFound):
        await table.ask(stranger, discussion=opened["discussion"]["id"])


async def test_whoever_gives_up_waiting_stops_the_run(table: Table) -> None:
    asking = table.ask(models=MODELS)
    run = await table.started(asking)
    await table.given_up(asking)
    assert (await table.house.runs.pending_commands(run)).stop_reason == "stopped_by_user"


async def test_a_server_that_ends_leaves_the_run_to_the_next(table: Table) -> None:
    asking = table.ask(models=MODELS)
    run = await table.started(asking)
    table.house.hall.drain()
    await table.given_up(asking)
    assert (await table.house.runs.pending_commands(run)).stop_reason is None


async def test_whoever_may_not_ask_any_more_hears_no_more(table: Table) -> None:
    await table.house.accounts.create_account("ada", "correct horse")
    _, caller = await table.house.accounts.login("ada", "correct horse")
    asking = table.ask(caller, models=MODELS)
    await table.started(asking)
    await table.house.accounts.logout(caller)
    async with asyncio.timeout(60):
        while not asking.done():
            await table.house.revocations.check_credentials()
            await asyncio.sleep(0.01)
    with pytest.raises(Forbidden):
        await asking


async def test_questions_are_limited_as_messages_are(table: Table) -> None:
    table.house.limits._message_rate = (1, 1)
    asking = table.ask(models=MODELS)
    await table.started(asking)
    with pytest.raises(RateLimited):
        await table.ask(models=MODELS)
    await table.given_up(asking)

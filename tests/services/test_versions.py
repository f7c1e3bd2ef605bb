"""Versions of answers: made from the original prompt, visible from then on, and without effect on earlier prompts."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import update

from moot.store.schema.accounts import account
from moot.store.schema.discussions import message
from moot.store.schema.runs import run
from moot.types.discussions import Message
from moot.types.errors import Conflict, NotFound, OverBudget
from moot.types.requests import ModelRequest
from tests.support.accounts import ANNA, database_with_accounts
from tests.support.databases import SLOW_ON_POSTGRES
from tests.support.inline_services import CALLER, InlineServices, open_inline_services


@pytest.fixture(params=SLOW_ON_POSTGRES)
async def harness(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[InlineServices]:
    async with (
        database_with_accounts(request.param, tmp_path) as database,
        open_inline_services(database) as services,
    ):
        yield services


def prompt_of(request: ModelRequest) -> tuple[str, Any]:
    return request.system, request.messages


async def test_regenerate_uses_the_original_prompt(harness: InlineServices) -> None:
    opened = await harness.create_discussion("consensus", 2)
    id = opened.discussion.id
    await harness.send_message(id, "And then?")
    answers = await harness.answers(id)
    for answer in answers:
        await harness.regenerate(id, answer.id, "scripted/other")
        new = harness.provider.requests[-1]
        assert prompt_of(new) == prompt_of(harness.request_for(answer))
        assert new.model == "other"
    now = await harness.answers(id)
    assert [one.id for one in now] == [one.id for one in answers]
    assert {(one.version, one.versions, one.model) for one in now} == {(2, 2, "scripted/other")}


async def test_regenerate_runs_one_turn_and_report_names_it(harness: InlineServices) -> None:
    opened = await harness.create_discussion("debate", 2)
    (answer, *_) = await harness.answers(opened.discussion.id)
    calls = len(harness.provider.requests)
    started = await harness.regenerate(opened.discussion.id, answer.id)
    assert (started.message, started.run.regenerates, started.run.status) == (None, answer.id, "completed")
    assert len(harness.provider.requests) == calls + 1
    report = await harness.services.run_reports.get_report(ANNA, started.run.id)
    assert (report.regenerates, report.lanes) == (answer.id, ())


async def test_regenerated_version_belongs_to_the_first_version(harness: InlineServices) -> None:
    opened = await harness.create_discussion()
    id = opened.discussion.id
    (first,) = await harness.answers(id)
    await harness.regenerate(id, first.id)
    (second,) = await harness.answers(id)
    await harness.regenerate(id, second.version_id or "")
    listed = await harness.services.turn_versions.list_versions(CALLER, id, second.version_id or "")
    assert [one.version_of for one in listed.versions] == [None, first.id, first.id]
    (third,) = await harness.answers(id)
    assert (third.id, third.version, third.version_id) == (first.id, 3, listed.current)


async def test_failed_regeneration_adds_no_version(harness: InlineServices) -> None:
    opened = await harness.create_discussion()
    id = opened.discussion.id
    before = await harness.answers(id)
    started = await harness.regenerate(id, before[0].id, "scripted/broken")
    assert started.run.status == "failed"
    assert await harness.answers(id) == before
    assert len((await harness.services.turn_versions.list_versions(CALLER, id, before[0].id)).versions) == 1


async def test_regenerate_checks_the_budget(harness: InlineServices) -> None:
    opened = await harness.create_discussion()
    (answer,) = await harness.answers(opened.discussion.id)
    async with harness.services.database.write() as connection:
        await connection.execute(update(account).where(account.c.id == ANNA).values(weekly_budget_usd=0.1))
    with pytest.raises(OverBudget):
        await harness.regenerate(opened.discussion.id, answer.id, "scripted/dear")
    await harness.regenerate(opened.discussion.id, answer.id)


async def test_regenerate_with_same_key_starts_one_run(harness: InlineServices) -> None:
    opened = await harness.create_discussion()
    (answer,) = await harness.answers(opened.discussion.id)
    versions = harness.services.turn_versions
    one = await versions.regenerate_answer(CALLER, opened.discussion.id, answer.id, key="k")
    assert (await versions.regenerate_answer(CALLER, opened.discussion.id, answer.id, key="k")).run.id == one.run.id


async def test_regenerate_and_edit_reject_messages_that_are_no_answers(harness: InlineServices) -> None:
    opened = await harness.create_discussion("debate", 2)
    id, versions = opened.discussion.id, harness.services.turn_versions
    assert opened.message is not None
    with pytest.raises(NotFound, match="not a turn of a participant"):
        await versions.regenerate_answer(CALLER, id, opened.message.id)
    (instructions, *_) = await harness.services.discussions.run_instructions(opened.run.id)
    for refused in (
        versions.regenerate_answer(CALLER, id, instructions.id),
        versions.edit_turn(CALLER, id, instructions.id, "No."),
    ):
        with pytest.raises(NotFound, match="not a message of a user"):
            await refused
    (answer, *_) = await harness.answers(id)
    async with harness.services.database.write() as connection:
        await connection.execute(update(message).where(message.c.id == answer.id).values(view=None))
    with pytest.raises(Conflict, match="not stored"):
        await versions.regenerate_answer(CALLER, id, answer.id)


async def test_failed_turn_must_be_retried_instead_of_regenerated(harness: InlineServices) -> None:
    opened = await harness.create_discussion(model="scripted/broken")
    id, versions = opened.discussion.id, harness.services.turn_versions
    (failed,) = await harness.answers(id)
    for refused in (
        versions.regenerate_answer(CALLER, id, failed.id),
        versions.edit_turn(CALLER, id, failed.id, "Yes."),
    ):
        with pytest.raises(Conflict, match=f"{opened.run.id}/lanes/alpha/retry"):
            await refused


async def test_retry_is_rejected_while_answer_is_regenerated(harness: InlineServices) -> None:
    opened = await harness.create_discussion(model="scripted/broken")
    id = opened.discussion.id
    await harness.services.discussions.update_discussion(ANNA, id, {"model": None})
    await harness.send_message(id, "And now?")
    answer = (await harness.answers(id))[-1]
    regenerated = await harness.services.turn_versions.regenerate_answer(CALLER, id, answer.id, "scripted/broken")
    harness.services.retries._start = lambda *_: None
    with pytest.raises(Conflict, match=regenerated.run.id):
        await harness.services.retries.retry_run(CALLER, opened.run.id)
    await harness.execute_run(regenerated)
    assert (await harness.services.retries.retry_run(CALLER, opened.run.id)).status == "waiting"
    with pytest.raises(Conflict, match=opened.run.id):
        await harness.services.retries.retry_run(CALLER, regenerated.run.id)


async def test_edit_keeps_whiteboard_actions(harness: InlineServices) -> None:
    opened = await harness.create_discussion("directed", 1)
    (answer,) = await harness.answers(opened.discussion.id)
    script = '[{"type":"text","content":"Look."},{"type":"action","name":"wb_open","params":{}}]'
    async with harness.services.database.write() as connection:
        await connection.execute(update(message).where(message.c.id == answer.id).values(lesson_items=script))
    edited = await harness.services.turn_versions.edit_turn(CALLER, opened.discussion.id, answer.id, "See.")
    assert edited.lesson_items == script.replace("Look.", "See.")
    assert (await harness.services.whiteboards.whiteboard_at(ANNA, opened.discussion.id)).open


async def test_regenerating_turn_replaces_its_whiteboard_actions(harness: InlineServices) -> None:
    opened = await harness.create_discussion("directed", 1)
    id = opened.discussion.id
    (answer,) = await harness.answers(id)
    script = '[{"type":"action","name":"wb_open","params":{}}]'
    async with harness.services.database.write() as connection:
        await connection.execute(update(message).where(message.c.id == answer.id).values(lesson_items=script))
    regenerated = await harness.services.turn_versions.regenerate_answer(CALLER, id, answer.id)
    assert not (await harness.services.whiteboards.whiteboard_at(ANNA, id)).open
    async with harness.services.database.write() as connection:
        await connection.execute(update(run).where(run.c.id == regenerated.run.id).values(status="failed"))
    assert (await harness.services.whiteboards.whiteboard_at(ANNA, id, regenerated.run.id)).open


class DiscussionHistory:
    """The steps of a discussion, and every answer as it was when it was stored."""

    def __init__(self, harness: InlineServices, discussion: str) -> None:
        self.harness = harness
        self.discussion = discussion
        self.answers: dict[str, Message] = {}

    async def apply_step(self, step: tuple[str, int, int]) -> None:
        match step:
            case ("say", number, mode):
                chosen = list(MODES)[mode % len(MODES)]
                changes: dict[str, Any] = {"mode": chosen}
                await self.harness.services.discussions.update_discussion(ANNA, self.discussion, changes)
                to = ("alpha",) if number % 4 == 0 and chosen in {"single", "parallel"} else None
                await self.harness.send_message(self.discussion, f"Message {len(self.answers)}", to=to)
            case ("again", which, model):
                turn = self._pick_id(await self.harness.answers(self.discussion), which)
                await self.harness.regenerate(self.discussion, turn, [None, "scripted/other"][model % 2])
            case ("edit", which, words):
                turn = self._pick_id(await self.harness.messages(self.discussion), which)
                await self.harness.services.turn_versions.edit_turn(CALLER, self.discussion, turn, f"Edited {words}")
            case ("choose", which, version):
                turn = self._pick_id(await self.harness.messages(self.discussion), which)
                there = (
                    await self.harness.services.turn_versions.list_versions(CALLER, self.discussion, turn)
                ).versions
                chosen = there[version % len(there)].id
                await self.harness.services.turn_versions.select_version(CALLER, self.discussion, turn, chosen)
        await self.record_answers()

    def _pick_id(self, messages: Any, number: int) -> str:
        return str(messages[number % len(messages)].id)

    async def record_answers(self) -> None:
        for answer in await self.harness.answers(self.discussion):
            if answer.content.startswith("#"):
                self.answers.setdefault(answer.content, answer)


MODES = ("single", "parallel", "consensus", "debate", "advisors", "directed")
STEPS = st.tuples(st.sampled_from(["say", "say", "again", "edit", "choose"]), st.integers(0, 20), st.integers(0, 20))


@settings(  # one example executes up to eight runs
    max_examples=max(5, settings().max_examples // 25),
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(first=st.sampled_from(MODES), steps=st.lists(STEPS, max_size=7))
async def test_replayed_prompts_stay_unchanged_after_any_history(
    harness: InlineServices, first: str, steps: list[tuple[str, int, int]]
) -> None:
    opened = await harness.create_discussion(first, 3)
    history = DiscussionHistory(harness, opened.discussion.id)
    await history.record_answers()
    for step in steps:
        await history.apply_step(step)
    for answer in history.answers.values():
        replayed = await harness.services.prompt_replay.replay_prompt(ANNA, answer)
        assert prompt_of(replayed.build_request()) == prompt_of(harness.request_for(answer))
    ids = [one.id for one in await harness.messages(opened.discussion.id)]
    assert len(ids) == len(set(ids))

"""The memory of a channel, and the model that summarizes dropped messages."""

import time
from collections.abc import Sequence

import pytest
from msgspec.structs import replace
from sqlalchemy import select, update

from moot.prompts.memory import MAX_ENTRIES, SUMMARY_LIFETIME_SECONDS
from moot.providers.keys import KeyRing
from moot.providers.registry import ResolvedModel
from moot.providers.scripted.scripts import Script
from moot.services.channel_memory import ChannelMemory
from moot.services.model_tasks import ModelTasks
from moot.store.database import Database
from moot.store.discord.channels import Channels
from moot.store.discord.memories import ChannelMemories
from moot.store.runs.runs import RunLease
from moot.store.schema.billing import charge
from moot.store.schema.discussions import message
from moot.types.discord import MemorySummary
from moot.types.discussions import Discussion
from moot.types.errors import MissingKey
from moot.types.participants import make_participants
from moot.types.run_plan import RunPlan
from tests.store.discord.test_channels import GENERAL_BINDING
from tests.support.accounts import ANNA, create_accounts, create_discussion
from tests.support.runs import WORKER, create_run, register_workers
from tests.support.stores import make_stores
from tests.support.table_harness import MODEL_CALLER, RecordingProvider

PLAN = RunPlan(mode="consensus", participants=make_participants(("scripted/echo", "scripted/echo")))


class ChannelHarness:
    """A channel, its messages, and a scripted task model."""

    def __init__(self, database: Database) -> None:
        self.database = database
        self.memories = ChannelMemories(database)
        self.provider = RecordingProvider({"task-model": Script(answer="They counted.", usd_per_million_tokens=1.0)})
        self.resolve_error: Exception | None = None
        model_tasks = ModelTasks(make_stores(database), MODEL_CALLER)
        self.channel_memory = ChannelMemory(self.memories, self._resolve_model, model_tasks)

    async def _resolve_model(self, _tenant: str, model: str) -> Sequence[ResolvedModel]:
        if self.resolve_error is not None:
            raise self.resolve_error
        return [ResolvedModel(model, self.provider, model.removeprefix("scripted/"), KeyRing(()))]

    async def add_channel_messages(self, discussion: Discussion, *texts: str) -> None:
        """Add messages to the channel, one second apart, up to now."""
        for place, one in enumerate(texts):
            run = await create_run(self.database, discussion, question=one)
            await Channels(self.database).record_answering_run("100", f"{run.id}", run.id, "42")
            at = time.time() - len(texts) + place
            async with self.database.write() as connection:
                moved = update(message).where(message.c.run == run.id).values(created_at=at)
                await connection.execute(moved)

    async def summarize_after_run(
        self, discussion: Discussion, task_model: str | None = None
    ) -> dict[str, MemorySummary]:
        """End a run and return the summary of the dropped messages."""
        run = await create_run(self.database, discussion)
        claim = RunLease(
            run=run.id,
            tenant=ANNA,
            account=ANNA,
            discussion=discussion.id,
            plan=replace(PLAN, channel="100", task_model=task_model),
            epoch=1,
            seq=0,
            position=0,
        )
        await self.channel_memory.summarize_after_run(claim)
        return await self.memories.memory_summaries("100")

    async def charge_purposes(self) -> list[str]:
        async with self.database.read() as connection:
            return list((await connection.execute(select(charge.c.purpose))).scalars())


@pytest.fixture
async def harness(database: Database) -> ChannelHarness:
    await create_accounts(database)
    await register_workers(database, WORKER)
    await Channels(database).save_binding(GENERAL_BINDING)
    return ChannelHarness(database)


@pytest.fixture
async def long_discussion(harness: ChannelHarness) -> Discussion:
    """A discussion with more messages than the memory holds."""
    new = await create_discussion(harness.database)
    await harness.add_channel_messages(new, *(f"ada: {n}" for n in range(MAX_ENTRIES)), "bob: 10", "bob: 11")
    return new


async def test_plan_without_channel_gets_no_memory(harness: ChannelHarness, long_discussion: Discussion) -> None:
    assert await harness.channel_memory.add_memory_to_plan(ANNA, long_discussion.id, PLAN) == PLAN


async def test_plan_of_new_discussion_gets_channel_messages_and_people(
    harness: ChannelHarness, long_discussion: Discussion
) -> None:
    plan = await harness.channel_memory.add_memory_to_plan(ANNA, "dis_new", PLAN, "100", "cleo")
    assert (plan.channel, plan.human_names) == ("100", ("ada", "bob", "cleo"))
    assert plan.memories.keys() == {"alpha", "beta"}
    assert [line for line in plan.memories["alpha"].splitlines() if line.startswith("-")] == [
        *(f"- ada: {n}" for n in range(2, MAX_ENTRIES)),
        "- bob: 10",
        "- bob: 11",
    ]


async def test_plan_of_bound_discussion_gets_no_memory_of_itself(
    harness: ChannelHarness, long_discussion: Discussion
) -> None:
    await Channels(harness.database).save_binding(replace(GENERAL_BINDING, discussion=long_discussion.id))
    await harness.summarize_after_run(long_discussion)
    plan = await harness.channel_memory.add_memory_to_plan(ANNA, long_discussion.id, PLAN)
    assert (plan.channel, plan.memories) == ("100", {})


async def test_task_model_summarizes_forgotten_messages_once_for_all_participants(
    harness: ChannelHarness, long_discussion: Discussion
) -> None:
    left = await harness.summarize_after_run(long_discussion, "scripted/task-model")
    assert {who: one.text for who, one in left.items()} == {
        "alpha": "They counted.",
        "beta": "They counted.",
    }
    assert left["alpha"].discussions == (long_discussion.id,)
    assert await harness.charge_purposes() == ["memory"]
    assert await harness.summarize_after_run(long_discussion, "scripted/task-model") == left  # no new messages
    assert await harness.charge_purposes() == ["memory"]
    plan = await harness.channel_memory.add_memory_to_plan(ANNA, "dis_new", PLAN, "100")
    assert "They counted." in plan.memories["alpha"]


async def test_summary_is_cut_text_without_task_model(harness: ChannelHarness, long_discussion: Discussion) -> None:
    assert (await harness.summarize_after_run(long_discussion))["alpha"].text == "- ada: 0\n- ada: 1"
    assert await harness.charge_purposes() == []


async def test_summary_is_cut_text_when_task_model_is_unavailable(
    harness: ChannelHarness, long_discussion: Discussion
) -> None:
    harness.resolve_error = MissingKey("There is no key.")
    assert (await harness.summarize_after_run(long_discussion, "scripted/task-model"))[
        "alpha"
    ].text == "- ada: 0\n- ada: 1"


async def test_expired_summary_is_not_summarized_again(harness: ChannelHarness, long_discussion: Discussion) -> None:
    long_ago = time.time() - SUMMARY_LIFETIME_SECONDS - 60
    old = MemorySummary(text="Long ago.", discussions=("dis_0",), covers_until=long_ago, created_at=long_ago)
    await harness.memories.save_memory_summary("100", "alpha", old)
    assert (await harness.summarize_after_run(long_discussion))["alpha"].text == "- ada: 0\n- ada: 1"

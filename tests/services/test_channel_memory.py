"""What the table knows of its channel, and who sums up what fell out."""

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
from moot.store.billing.budgets import Budgets
from moot.store.database import Database
from moot.store.discord.channels import Channels
from moot.store.discord.memories import ChannelMemories
from moot.store.runs.runs import RunLease
from moot.store.schema import charge, message
from moot.types.discord import MemorySummary
from moot.types.discussions import Discussion
from moot.types.errors import MissingKey
from moot.types.participants import make_participants
from moot.types.run_plan import RunPlan
from tests.engine.tables import SPEAKER, Recorded
from tests.store.discord.test_channels import GENERAL
from tests.store.people import ANNA, discuss, settle
from tests.store.running import WORKER, employ, start

PLAN = RunPlan(mode="consensus", participants=make_participants(("scripted/echo", "scripted/echo")))


class Channel:
    """A channel, what is said in it, and a clerk that follows a script."""

    def __init__(self, database: Database) -> None:
        self.database = database
        self.memories = ChannelMemories(database)
        self.provider = Recorded({"clerk": Script(answer="They counted.", price=1.0)})
        self.refusal: Exception | None = None
        errands = ModelTasks(database, SPEAKER, Budgets(database))
        self.remembering = ChannelMemory(database, self._chain, errands)

    async def _chain(self, _tenant: str, model: str) -> Sequence[ResolvedModel]:
        if self.refusal is not None:
            raise self.refusal
        return [ResolvedModel(model, self.provider, model.removeprefix("scripted/"), KeyRing(()))]

    async def hear(self, discussion: Discussion, *words: str) -> None:
        """Let somebody say something here, one after the other, until now."""
        for place, one in enumerate(words):
            run = await start(self.database, discussion, words=one)
            await Channels(self.database).record_answering_run("100", f"{run.id}", run.id, "42")
            at = time.time() - len(words) + place
            async with self.database.write() as connection:
                moved = update(message).where(message.c.run == run.id).values(created_at=at)
                await connection.execute(moved)

    async def note(self, discussion: Discussion, clerk: str | None = None) -> dict[str, MemorySummary]:
        """Let a run be over, and return what is left of what fell out."""
        run = await start(self.database, discussion)
        claim = RunLease(
            run=run.id,
            tenant=ANNA,
            account=ANNA,
            discussion=discussion.id,
            plan=replace(PLAN, channel="100", clerk=clerk),
            epoch=1,
            seq=0,
            place=0,
        )
        await self.remembering.summarize_after_run(claim)
        return await self.memories.memory_summaries("100")

    async def paid(self) -> list[str]:
        async with self.database.read() as connection:
            return list((await connection.execute(select(charge.c.purpose))).scalars())


@pytest.fixture
async def channel(database: Database) -> Channel:
    await settle(database)
    await employ(database, WORKER)
    await Channels(database).save_binding(GENERAL)
    return Channel(database)


@pytest.fixture
async def talk(channel: Channel) -> Discussion:
    """A discussion in which more was said than is remembered."""
    new = await discuss(channel.database)
    await channel.hear(new, *(f"ada: {n}" for n in range(MAX_ENTRIES)), "bob: 10", "bob: 11")
    return new


async def test_who_has_no_channel_remembers_nothing(channel: Channel, talk: Discussion) -> None:
    assert await channel.remembering.add_memory_to_plan(ANNA, talk.id, PLAN) == PLAN


async def test_a_new_discussion_knows_what_was_said_in_its_channel_and_who_spoke(
    channel: Channel, talk: Discussion
) -> None:
    plan = await channel.remembering.add_memory_to_plan(ANNA, "dis_new", PLAN, "100", "cleo")
    assert (plan.channel, plan.people) == ("100", ("ada", "bob", "cleo"))
    assert plan.memories.keys() == {"alpha", "beta"}
    assert [line for line in plan.memories["alpha"].splitlines() if line.startswith("-")] == [
        *(f"- ada: {n}" for n in range(2, MAX_ENTRIES)),
        "- bob: 10",
        "- bob: 11",
    ]


async def test_the_discussion_that_is_bound_shows_its_words_itself(
    channel: Channel, talk: Discussion
) -> None:
    await Channels(channel.database).save_binding(replace(GENERAL, discussion=talk.id))
    await channel.note(talk)
    plan = await channel.remembering.add_memory_to_plan(ANNA, talk.id, PLAN)
    assert (plan.channel, plan.memories) == ("100", {})


async def test_a_clerk_sums_up_what_fell_out_once_for_all_who_forget_the_same(
    channel: Channel, talk: Discussion
) -> None:
    left = await channel.note(talk, "scripted/clerk")
    assert {who: one.words for who, one in left.items()} == {
        "alpha": "They counted.",
        "beta": "They counted.",
    }
    assert left["alpha"].discussions == (talk.id,)
    assert await channel.paid() == ["memory"]
    assert await channel.note(talk, "scripted/clerk") == left  # there is nothing new
    assert await channel.paid() == ["memory"]
    plan = await channel.remembering.add_memory_to_plan(ANNA, "dis_new", PLAN, "100")
    assert "They counted." in plan.memories["alpha"]


async def test_without_a_clerk_it_is_cut(channel: Channel, talk: Discussion) -> None:
    assert (await channel.note(talk))["alpha"].words == "- ada: 0\n- ada: 1"
    assert await channel.paid() == []


async def test_a_clerk_that_cannot_be_asked_hurts_nobody(channel: Channel, talk: Discussion) -> None:
    channel.refusal = MissingKey("There is no key.")
    assert (await channel.note(talk, "scripted/clerk"))["alpha"].words == "- ada: 0\n- ada: 1"


async def test_what_is_too_old_is_not_summed_up_again(channel: Channel, talk: Discussion) -> None:
    long_ago = time.time() - SUMMARY_LIFETIME_SECONDS - 60
    old = MemorySummary(words="Long ago.", discussions=("dis_0",), upto=long_ago, created_at=long_ago)
    await channel.memories.save_memory_summary("100", "alpha", old)
    assert (await channel.note(talk))["alpha"].words == "- ada: 0\n- ada: 1"

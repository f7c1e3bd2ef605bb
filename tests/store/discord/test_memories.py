import time

import pytest
from msgspec.structs import replace

from moot.store.database import Database
from moot.store.discord.channels import Channels
from moot.store.discord.memories import ChannelMemories
from moot.types.discord import MemorySummary
from tests.store.discord.test_channels import GENERAL_BINDING
from tests.support.accounts import ANNA, BERT, create_accounts, create_discussion
from tests.support.runs import WORKER, create_run, register_workers

SUMMARY = MemorySummary(text="Tea for six.", discussions=("dis_1",), covers_until=5.0, created_at=6.0)


@pytest.fixture
async def memories(database: Database) -> ChannelMemories:
    await create_accounts(database)
    await register_workers(database, WORKER)
    await Channels(database).save_binding(GENERAL_BINDING)
    return ChannelMemories(database)


async def test_channel_messages_span_all_discussions_of_the_channel(
    memories: ChannelMemories, database: Database
) -> None:
    channels = Channels(database)
    first, second = await create_discussion(database), await create_discussion(database)
    there = await create_run(database, first, question="ada: Tea?")
    on_page = await create_run(database, second, question="Cake?")
    await create_run(database, second, question="Said elsewhere.")
    await channels.record_answering_run("100", "7", there.id, "42")
    await channels.save_delivery_cursor("100", on_page.id, 1)
    found = await memories.channel_messages(ANNA, "100", 0.0)
    assert [(one.message.content, one.message.discussion, one.from_channel) for one in found] == [
        ("ada: Tea?", first.id, True),
        ("Cake?", second.id, False),
    ]
    assert await memories.channel_messages(ANNA, "100", time.time()) == []
    assert await memories.channel_messages(BERT, "100", 0.0) == []


async def test_find_channel_returns_channel_bound_to_discussion(memories: ChannelMemories, database: Database) -> None:
    discussion = await create_discussion(database)
    assert await memories.find_channel(ANNA, discussion.id) is None
    await Channels(database).save_binding(replace(GENERAL_BINDING, discussion=discussion.id))
    assert await memories.find_channel(ANNA, discussion.id) == "100"
    assert await memories.find_channel(BERT, discussion.id) is None


async def test_save_memory_summary_replaces_only_older_summary(memories: ChannelMemories) -> None:
    newer = replace(SUMMARY, text="Tea for eight.", covers_until=7.0)
    for one in (SUMMARY, newer, SUMMARY):
        await memories.save_memory_summary("100", "alpha", one)
    await memories.save_memory_summary("100", "beta", SUMMARY)
    assert await memories.memory_summaries("100") == {"alpha": newer, "beta": SUMMARY}
    assert await memories.memory_summaries("200") == {}

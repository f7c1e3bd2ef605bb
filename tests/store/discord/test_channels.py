import time

import pytest
from msgspec.structs import replace

from moot.store.database import Database
from moot.store.discord.channels import Channels
from moot.store.discussions.discussions import Discussions
from moot.types.discord import ChannelBinding, DeliveryProgress
from moot.types.participants import make_participants
from tests.store.people import ANNA, BERT, create_accounts, create_discussion
from tests.store.running import WORKER, create_run, register_workers

GENERAL_BINDING = ChannelBinding(
    id="100",
    tenant=ANNA,
    guild="1",
    mode="consensus",
    participants=make_participants(("scripted/echo", "scripted/steady")),
    rounds=3,
    created_at=1.0,
)


@pytest.fixture
async def channels(database: Database) -> Channels:
    await create_accounts(database)
    await register_workers(database, WORKER)
    return Channels(database)


async def test_a_channel_is_bound_and_bound_anew(channels: Channels) -> None:
    await channels.save_binding(GENERAL_BINDING)
    assert await channels.list_bindings(ANNA) == (GENERAL_BINDING,)
    assert await channels.find_binding(ANNA, "100") == GENERAL_BINDING
    other = replace(
        GENERAL_BINDING, mode="single", participants=make_participants(("scripted/echo",)), created_at=2.0
    )
    await channels.save_binding(other)
    assert await channels.list_bindings(ANNA) == (other,)


async def test_channels_are_those_of_a_tenant(channels: Channels) -> None:
    await channels.save_binding(GENERAL_BINDING)
    assert await channels.list_bindings(BERT) == ()
    assert await channels.find_binding(BERT, "100") is None


async def test_trouble_is_noted_and_forgotten(channels: Channels) -> None:
    await channels.save_binding(GENERAL_BINDING)
    for trouble in ("The channel is gone.", None):
        await channels.record_error("100", trouble)
        assert (await channels.find_binding(ANNA, "100")) == replace(GENERAL_BINDING, trouble=trouble)


async def test_what_was_heard_is_there_until_it_is_said_or_forgotten(
    channels: Channels, database: Database
) -> None:
    run = await create_run(database, await create_discussion(database))
    await channels.save_binding(GENERAL_BINDING)
    for message in ("7", "8", "9", "8"):
        await channels.enqueue_message("100", message)
    assert await channels.pending_messages("100") == ["7", "8", "9"]
    await channels.discard_message("7")
    for _ in range(2):  # it may be noted again after a crash
        await channels.record_answering_run("100", "8", run.id, "somebody")
    assert await channels.pending_messages("100") == ["9"]
    assert await channels.delivery_progress("100", run.id) == DeliveryProgress(message="8", author="somebody")


async def test_how_far_a_run_was_told(channels: Channels, database: Database) -> None:
    run = await create_run(database, await create_discussion(database))
    await channels.save_binding(GENERAL_BINDING)
    assert await channels.delivery_progress("100", run.id) == DeliveryProgress()
    await channels.record_post("100", run.id, 0)
    await channels.record_post("100", run.id, 0, "500")
    await channels.record_post("100", run.id, 1)
    await channels.save_delivery_cursor("100", run.id, 12)
    assert await channels.delivery_progress("100", run.id) == DeliveryProgress(
        seq=12, posts={0: "500", 1: None}
    )
    assert await channels.find_known_posts(["500", "501"]) == {"500"}
    await channels.record_answering_run("100", "8", run.id, "somebody")
    assert (await channels.delivery_progress("100", run.id)).seq == 12


async def test_only_runs_since_the_binding_are_told(channels: Channels, database: Database) -> None:
    table = await create_discussion(database)
    old = await create_run(database, table)
    bound = replace(GENERAL_BINDING, discussion=table.id, created_at=time.time())
    await channels.save_binding(bound)
    assert await channels.delivery_cursors(bound) == {}
    new = await create_run(database, table, question="Why?")
    assert await channels.delivery_cursors(bound) == {new.id: 0}
    await channels.save_delivery_cursor("100", new.id, 3)
    assert await channels.delivery_cursors(bound) == {new.id: 3}
    assert old.id not in await channels.delivery_cursors(bound)


async def test_a_channel_outlives_its_discussion(channels: Channels, database: Database) -> None:
    table = await create_discussion(database)
    await channels.save_binding(replace(GENERAL_BINDING, discussion=table.id))
    await Discussions(database).delete_discussion(ANNA, table.id)
    assert await channels.list_bindings(ANNA) == (GENERAL_BINDING,)

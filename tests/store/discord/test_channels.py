import time

import pytest
from msgspec.structs import replace

from moot.store.database import Database
from moot.store.discord.channels import Channels
from moot.store.discussions.discussions import Discussions
from moot.types.discord import ChannelBinding, DeliveryProgress
from moot.types.participants import make_participants
from tests.support.accounts import ANNA, BERT, create_accounts, create_discussion
from tests.support.runs import WORKER, create_run, register_workers

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


async def test_save_binding_replaces_existing_binding(channels: Channels) -> None:
    await channels.save_binding(GENERAL_BINDING)
    assert await channels.list_bindings(ANNA) == (GENERAL_BINDING,)
    assert await channels.find_binding(ANNA, "100") == GENERAL_BINDING
    other = replace(GENERAL_BINDING, mode="single", participants=make_participants(("scripted/echo",)), created_at=2.0)
    await channels.save_binding(other)
    assert await channels.list_bindings(ANNA) == (other,)


async def test_bindings_belong_to_their_tenant(channels: Channels) -> None:
    await channels.save_binding(GENERAL_BINDING)
    assert await channels.list_bindings(BERT) == ()
    assert await channels.find_binding(BERT, "100") is None


async def test_record_error_sets_and_clears_error(channels: Channels) -> None:
    await channels.save_binding(GENERAL_BINDING)
    for trouble in ("The channel is gone.", None):
        await channels.record_error("100", trouble)
        assert (await channels.find_binding(ANNA, "100")) == replace(GENERAL_BINDING, error=trouble)


async def test_incoming_message_is_pending_until_answered_or_discarded(channels: Channels, database: Database) -> None:
    run = await create_run(database, await create_discussion(database))
    await channels.save_binding(GENERAL_BINDING)
    for message in ("7", "8", "9", "8"):
        await channels.enqueue_message("100", message)
    assert await channels.pending_messages("100") == ["7", "8", "9"]
    await channels.discard_message("7")
    for _ in range(2):  # a crash may repeat it
        await channels.record_answering_run("100", "8", run.id, "somebody")
    assert await channels.pending_messages("100") == ["9"]
    assert await channels.delivery_progress("100", run.id) == DeliveryProgress(message="8", author="somebody")


async def test_delivery_progress_records_cursor_and_posts(channels: Channels, database: Database) -> None:
    run = await create_run(database, await create_discussion(database))
    await channels.save_binding(GENERAL_BINDING)
    assert await channels.delivery_progress("100", run.id) == DeliveryProgress()
    await channels.record_post("100", run.id, 0)
    await channels.record_post("100", run.id, 0, "500")
    await channels.record_post("100", run.id, 1)
    await channels.save_delivery_cursor("100", run.id, 12)
    assert await channels.delivery_progress("100", run.id) == DeliveryProgress(seq=12, posts={0: "500", 1: None})
    assert await channels.find_known_posts(["500", "501"]) == {"500"}
    await channels.record_answering_run("100", "8", run.id, "somebody")
    assert (await channels.delivery_progress("100", run.id)).seq == 12


async def test_delivery_cursors_include_only_runs_since_binding(channels: Channels, database: Database) -> None:
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


async def test_binding_survives_deletion_of_its_discussion(channels: Channels, database: Database) -> None:
    table = await create_discussion(database)
    await channels.save_binding(replace(GENERAL_BINDING, discussion=table.id))
    await Discussions(database).delete_discussion(ANNA, table.id)
    assert await channels.list_bindings(ANNA) == (GENERAL_BINDING,)

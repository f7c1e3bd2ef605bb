import time

import pytest
from msgspec.structs import replace

from moot.store.database import Database
from moot.store.discord.channels import Channels
from moot.store.discussions.discussions import Discussions
from moot.types.discord import Binding, Told
from moot.types.participants import seat
from tests.store.people import ANNA, BERT, discuss, settle
from tests.store.running import WORKER, employ, start

GENERAL = Binding(
    id="100",
    tenant=ANNA,
    guild="1",
    mode="consensus",
    participants=seat(("scripted/echo", "scripted/steady")),
    rounds=3,
    created_at=1.0,
)


@pytest.fixture
async def channels(database: Database) -> Channels:
    await settle(database)
    await employ(database, WORKER)
    return Channels(database)


async def test_a_channel_is_bound_and_bound_anew(channels: Channels) -> None:
    await channels.bind(GENERAL)
    assert await channels.all(ANNA) == (GENERAL,)
    assert await channels.get(ANNA, "100") == GENERAL
    other = replace(GENERAL, mode="single", participants=seat(("scripted/echo",)), created_at=2.0)
    await channels.bind(other)
    assert await channels.all(ANNA) == (other,)


async def test_channels_are_those_of_a_tenant(channels: Channels) -> None:
    await channels.bind(GENERAL)
    assert await channels.all(BERT) == ()
    assert await channels.get(BERT, "100") is None


async def test_trouble_is_noted_and_forgotten(channels: Channels) -> None:
    await channels.bind(GENERAL)
    for trouble in ("The channel is gone.", None):
        await channels.note_trouble("100", trouble)
        assert (await channels.get(ANNA, "100")) == replace(GENERAL, trouble=trouble)


async def test_what_was_heard_is_there_until_it_is_said_or_forgotten(
    channels: Channels, database: Database
) -> None:
    run = await start(database, await discuss(database))
    await channels.bind(GENERAL)
    for message in ("7", "8", "9", "8"):
        await channels.hear("100", message)
    assert await channels.unsaid("100") == ["7", "8", "9"]
    await channels.forget("7")
    for _ in range(2):  # it may be noted again after a crash
        await channels.said("100", "8", run.id, "somebody")
    assert await channels.unsaid("100") == ["9"]
    assert await channels.told("100", run.id) == Told(message="8", author="somebody")


async def test_how_far_a_run_was_told(channels: Channels, database: Database) -> None:
    run = await start(database, await discuss(database))
    await channels.bind(GENERAL)
    assert await channels.told("100", run.id) == Told()
    await channels.post("100", run.id, 0)
    await channels.post("100", run.id, 0, "500")
    await channels.post("100", run.id, 1)
    await channels.tell("100", run.id, 12)
    assert await channels.told("100", run.id) == Told(seq=12, posts={0: "500", 1: None})
    assert await channels.arrived(["500", "501"]) == {"500"}
    await channels.said("100", "8", run.id, "somebody")
    assert (await channels.told("100", run.id)).seq == 12


async def test_only_runs_since_the_binding_are_told(channels: Channels, database: Database) -> None:
    table = await discuss(database)
    old = await start(database, table)
    bound = replace(GENERAL, discussion=table.id, created_at=time.time())
    await channels.bind(bound)
    assert await channels.seqs(bound) == {}
    new = await start(database, table, words="Why?")
    assert await channels.seqs(bound) == {new.id: 0}
    await channels.tell("100", new.id, 3)
    assert await channels.seqs(bound) == {new.id: 3}
    assert old.id not in await channels.seqs(bound)


async def test_a_channel_outlives_its_discussion(channels: Channels, database: Database) -> None:
    table = await discuss(database)
    await channels.bind(replace(GENERAL, discussion=table.id))
    await Discussions(database).delete(ANNA, table.id)
    assert await channels.all(ANNA) == (GENERAL,)

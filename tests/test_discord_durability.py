"""A server that is in Discord can be killed: nothing is told twice there, and nothing is lost. Shown with a real process."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path

import pytest

from moot.testing.discord.guild import FakeChannel
from moot.testing.discord.server import FAKE_BOT_TOKEN, FakeDiscord
from moot.testing.discord.server import serve_discord as serving_discord
from tests.databases import SLOW_ON_POSTGRES, Kind, migrated_url
from tests.discord.pointed import point_at
from tests.serving import MootServer

SCRIPT = """
[telling]
answer = "One.\\n\\nTwo.\\n\\nThree.\\n\\nFour.\\n\\nFive.\\n\\nSix."
chunk = 4
pace = 0.05
"""
WORDS = ["One.", "Two.", "Three.", "Four.", "Five.", "Six."]


@asynccontextmanager
async def in_discord(kind: Kind, folder: Path) -> AsyncIterator[tuple[MootServer, FakeDiscord]]:
    async with migrated_url(kind, folder) as url, serving_discord(FakeDiscord()) as double:
        server = MootServer(
            folder,
            url,
            settings='[providers.scripted]\nscript = "scripts.toml"\n',
            MOOT_DISCORD_TOKEN=FAKE_BOT_TOKEN,
        )
        server.moot.write("scripts.toml", SCRIPT)
        server.arguments[0] = "discord"
        server.prepare = partial(point_at, double.api_base_url, double.gateway.gateway_url)
        try:
            yield server, double
        finally:
            await server.close()


def told(double: FakeDiscord, channel: FakeChannel, who: str) -> list[str]:
    return [text for name, text in double.channel_lines(channel) if name == who and not text.startswith("-#")]


def has_told(double: FakeDiscord, channel: FakeChannel, least: int) -> bool:
    return len(told(double, channel, "Alpha") + told(double, channel, "Beta")) >= least


@pytest.mark.parametrize("kills", [(7,), pytest.param((1, 7), marks=pytest.mark.slow)])
@pytest.mark.parametrize("kind", SLOW_ON_POSTGRES)
async def test_a_server_that_is_killed_again_and_again_tells_everything_once(
    kind: Kind, kills: tuple[int, ...], tmp_path: Path
) -> None:
    async with in_discord(kind, tmp_path / kind) as (server, double):
        channel = double.add_channel("general")
        await server.start()
        await double.wait_until(lambda: double.gateway.identify_count == 1)
        double.use_command(
            channel,
            "anna",
            "new",
            participants="scripted/telling, scripted/telling",
            mode="consensus",
            rounds=1,
        )
        await double.wait_for_message(channel, "begins the discussion")
        double.post_message(channel, "anna", "Tell me.")
        for seen in kills:
            await double.wait_until(partial(has_told, double, channel, seen))
            server.kill()
            await server.start()
        await double.wait_until(lambda: "Six." in told(double, channel, "Beta"))
        assert told(double, channel, "Alpha") == WORDS
        assert told(double, channel, "Beta") == WORDS
        assert [text.startswith("-# Replying") for _, text in double.channel_lines(channel)].count(True) == 1

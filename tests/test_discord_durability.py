"""A server that is in Discord can be killed: nothing is told twice there, and nothing is lost. Shown with a real process."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path

import pytest

from moot.testing.discord.guild import Channel
from moot.testing.discord.server import TOKEN, Double
from moot.testing.discord.server import serving as serving_discord
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
async def in_discord(kind: Kind, folder: Path) -> AsyncIterator[tuple[MootServer, Double]]:
    async with migrated_url(kind, folder) as url, serving_discord(Double()) as double:
        server = MootServer(
            folder,
            url,
            settings='[providers.scripted]\nscript = "scripts.toml"\n',
            MOOT_DISCORD_TOKEN=TOKEN,
        )
        server.moot.write("scripts.toml", SCRIPT)
        server.arguments[0] = "discord"
        server.prepare = partial(point_at, double.base, double.gateway.address)
        try:
            yield server, double
        finally:
            await server.close()


def told(double: Double, channel: Channel, who: str) -> list[str]:
    return [text for name, text in double.shown(channel) if name == who and not text.startswith("-#")]


def has_told(double: Double, channel: Channel, least: int) -> bool:
    return len(told(double, channel, "Alpha") + told(double, channel, "Beta")) >= least


@pytest.mark.parametrize("kills", [(7,), pytest.param((1, 7), marks=pytest.mark.slow)])
@pytest.mark.parametrize("kind", SLOW_ON_POSTGRES)
async def test_a_server_that_is_killed_again_and_again_tells_everything_once(
    kind: Kind, kills: tuple[int, ...], tmp_path: Path
) -> None:
    async with in_discord(kind, tmp_path / kind) as (server, double):
        channel = double.channel("general")
        await server.start()
        await double.until(lambda: double.gateway.identified == 1)
        double.command(
            channel,
            "anna",
            "new",
            participants="scripted/telling, scripted/telling",
            mode="consensus",
            rounds=1,
        )
        await double.until_shown(channel, "begins the discussion")
        double.say(channel, "anna", "Tell me.")
        for seen in kills:
            await double.until(partial(has_told, double, channel, seen))
            server.kill()
            await server.start()
        await double.until(lambda: "Six." in told(double, channel, "Beta"))
        assert told(double, channel, "Alpha") == WORDS
        assert told(double, channel, "Beta") == WORDS
        assert [text.startswith("-# Replying") for _, text in double.shown(channel)].count(True) == 1

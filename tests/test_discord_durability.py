"""The Discord bot can be killed: it posts nothing twice, and loses nothing. Tested with a real process."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path

import pytest

from moot.testing.discord.guild import FakeChannel
from moot.testing.discord.server import FAKE_BOT_TOKEN, FakeDiscord, serve_discord
from tests.support.databases import SLOW_ON_POSTGRES, DatabaseKind, migrated_database_url
from tests.support.discord_urls import set_discord_urls
from tests.support.moot_server import MootServer

SCRIPT = """
[telling]
answer = "One.\\n\\nTwo.\\n\\nThree.\\n\\nFour.\\n\\nFive.\\n\\nSix."
chunk_chars = 4
chunk_interval_seconds = 0.05
"""
PARAGRAPHS = ["One.", "Two.", "Three.", "Four.", "Five.", "Six."]


@asynccontextmanager
async def run_discord_bot(kind: DatabaseKind, folder: Path) -> AsyncIterator[tuple[MootServer, FakeDiscord]]:
    async with migrated_database_url(kind, folder) as url, serve_discord(FakeDiscord()) as fake_discord:
        server = MootServer(
            folder,
            url,
            settings='[providers.scripted]\nscript = "scripts.toml"\n',
            MOOT_DISCORD_TOKEN=FAKE_BOT_TOKEN,
        )
        server.moot.write_file("scripts.toml", SCRIPT)
        server.arguments[0] = "discord"
        server.prepare = partial(set_discord_urls, fake_discord.api_base_url, fake_discord.gateway.gateway_url)
        try:
            yield server, fake_discord
        finally:
            await server.close()


def participant_messages(fake: FakeDiscord, channel: FakeChannel, participant: str) -> list[str]:
    return [text for name, text in fake.channel_lines(channel) if name == participant and not text.startswith("-#")]


def has_posted(fake: FakeDiscord, channel: FakeChannel, minimum: int) -> bool:
    return len(participant_messages(fake, channel, "Alpha") + participant_messages(fake, channel, "Beta")) >= minimum


@pytest.mark.parametrize("kills", [(7,), pytest.param((1, 7), marks=pytest.mark.slow)])
@pytest.mark.parametrize("kind", SLOW_ON_POSTGRES)
async def test_discord_delivery_posts_everything_once_after_repeated_kills(
    kind: DatabaseKind, kills: tuple[int, ...], tmp_path: Path
) -> None:
    async with run_discord_bot(kind, tmp_path / kind) as (server, fake_discord):
        channel = fake_discord.add_channel("general")
        await server.start()
        await fake_discord.wait_until(lambda: fake_discord.gateway.identify_count == 1)
        fake_discord.use_command(
            channel,
            "anna",
            "new",
            participants="scripted/telling, scripted/telling",
            mode="consensus",
            rounds=1,
        )
        await fake_discord.wait_for_message(channel, "starts the discussion")
        fake_discord.post_message(channel, "anna", "Tell me.")
        for seen in kills:
            await fake_discord.wait_until(partial(has_posted, fake_discord, channel, seen))
            server.kill()
            await server.start()
        await fake_discord.wait_until(lambda: "Six." in participant_messages(fake_discord, channel, "Beta"))
        assert participant_messages(fake_discord, channel, "Alpha") == PARAGRAPHS
        assert participant_messages(fake_discord, channel, "Beta") == PARAGRAPHS
        assert [text.startswith("-# Replying") for _, text in fake_discord.channel_lines(channel)].count(True) == 1

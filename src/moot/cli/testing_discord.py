"""`moot lab discord`: demo of a consensus with three personas on a fake Discord server."""

import re
import secrets
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from moot.app import event_loop
from moot.cli import discord as bot
from moot.providers.catalog import ProviderConfig
from moot.settings import DiscordSettings, Settings
from moot.testing.discord.server import FAKE_BOT_TOKEN, FakeDiscord, serve_discord

DEMO_PARTICIPANTS = "sceptic = scripted/doubting, engineer = scripted/building, historian = scripted/remembering"
DEMO_SCRIPTS = """
[doubting]
answer = "Round for whom? A round table wastes every corner of a room."
answer_if_contains = { "Historian said" = "Kings are no reason. But nobody sits at its head: I give in." }
chunk_chars = 70

[building]
answer = "A round top needs one leg in the middle, and none in the way."
answer_if_contains = { "Historian said" = "Then let me draw it. One leg, three feet.\\n\\nFirst the foot: it must be as wide as the top is, or it tips over." }
chunk_chars = 70
chunk_interval_seconds = 600.0

[remembering]
answer = "Kings had long tables, so that everybody knew who was the king."
chunk_chars = 70
"""
MESSAGE_LINK = re.compile(r" \(https://\S+\)")


def run_discord_demo() -> int:
    bot.check_discord_installed()
    return event_loop.run_coroutine(_run_demo())


async def _run_demo() -> int:
    from moot.app.lifecycle import open_worker

    with TemporaryDirectory() as folder:
        chosen = _demo_settings(Path(folder))
        async with serve_discord(FakeDiscord()) as fake_discord:
            _use_fake_discord(fake_discord)
            async with open_worker(chosen, {"MOOT_SECRET": secrets.token_hex(16)}, fake_discord.url) as worker:
                async with bot.run_discord_bot(worker, chosen):
                    transcript = await _play_conversation(fake_discord)
                await worker.shut_down()
    sys.stdout.write(transcript)
    return 0


def _demo_settings(folder: Path) -> Settings:
    scripts = folder / "scripts.toml"
    scripts.write_text(DEMO_SCRIPTS, encoding="utf-8")
    return Settings(
        database_url=f"sqlite:///{folder / 'moot.db'}",
        providers={"scripted": ProviderConfig(script=str(scripts))},
        discord=DiscordSettings(token=FAKE_BOT_TOKEN),
    )


def _use_fake_discord(fake_discord: FakeDiscord) -> None:
    """Point discord.py at the fake server."""
    import yarl
    from discord.gateway import DiscordWebSocket
    from discord.http import Route

    Route.BASE = fake_discord.api_base_url
    DiscordWebSocket.DEFAULT_GATEWAY = yarl.URL(fake_discord.gateway.gateway_url)


async def _play_conversation(fake_discord: FakeDiscord) -> str:
    """Start a consensus, stop it in the second round, and return the channel transcript."""
    channel = fake_discord.add_channel("general")
    await fake_discord.wait_until(lambda: bool(fake_discord.gateway.identify_count))
    fake_discord.use_command(channel, "anna", "new", participants=DEMO_PARTICIPANTS, mode="consensus")
    await fake_discord.wait_for_message(channel, "starts the discussion")
    fake_discord.post_message(channel, "anna", "Should our table be round?")
    await fake_discord.wait_for_message(channel, "Then let me draw it.")
    fake_discord.post_message(channel, "anna", "stop")
    await fake_discord.wait_for_message(channel, "First the foot")
    return MESSAGE_LINK.sub("", fake_discord.channel_transcript(channel))

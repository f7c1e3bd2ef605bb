"""`moot lab`: fake provider server with scripted models and faults, for testing clients.

`moot lab discord` is a demo of a consensus with three personas on a fake Discord server.
"""

import asyncio
import re
import secrets
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from moot.providers.catalog import ProviderConfig
from moot.providers.scripted.scripts import SCRIPT_FAULTS, Scripts, load_scripts
from moot.settings import DiscordSettings, Settings
from moot.testing.discord.server import FAKE_BOT_TOKEN, FakeDiscord, serve_discord
from moot.testing.provider_server import FakeProviderServer, serve_provider
from moot.types.errors import UsageError

SETTINGS_HINT = """Put this into moot.toml and ask lab/echo, lab/slow, lab/reset, …:

[providers.lab]
api = "openai"            # or anthropic with base_url {url}/v1, or google with {url}/v1beta
base_url = "{url}/v1"

Ctrl-C stops.
"""
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


def list_scripts(script: Path | None) -> int:
    for name, written in load_scripts(script).items():
        sys.stdout.write(f"{name:<16} {SCRIPT_FAULTS.get(written.fault, 'answers as written')}\n")
    return 0


async def run_lab_server(port: int, script: Path | None) -> int:
    script_catalog = Scripts(load_scripts(script))
    try:
        async with serve_provider(FakeProviderServer(script_catalog), port) as url:
            sys.stdout.write(f"The failure lab serves {len(script_catalog.by_name)} scripts at {url}\n\n")
            sys.stdout.write(SETTINGS_HINT.format(url=url))
            sys.stdout.flush()
            await asyncio.Event().wait()
    except OSError as error:
        raise UsageError(f"--port {port}: cannot listen; it may be in use. Choose another port.") from error
    return 0


async def run_discord_demo() -> int:
    from moot.app.lifecycle import open_worker
    from moot.cli.discord import check_discord_installed, run_discord_bot

    check_discord_installed()
    with TemporaryDirectory() as folder:
        chosen = _demo_settings(Path(folder))
        async with serve_discord(FakeDiscord()) as fake_discord:
            _use_fake_discord(fake_discord)
            async with open_worker(chosen, {"MOOT_SECRET": secrets.token_hex(16)}, fake_discord.url) as worker:
                async with run_discord_bot(worker, chosen):
                    transcript = await _play_conversation(fake_discord)
                await worker.shut_down()
    sys.stdout.write(transcript)
    return 0


def _demo_settings(folder: Path) -> Settings:
    script = folder / "scripts.toml"
    script.write_text(DEMO_SCRIPTS, encoding="utf-8")
    return Settings(
        database_url=f"sqlite:///{folder / 'moot.db'}",
        providers={"scripted": ProviderConfig(script=str(script))},
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

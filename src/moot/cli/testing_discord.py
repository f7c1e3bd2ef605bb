"""`moot lab discord`: a consensus of three personas in a channel of the double, with a stop in the middle."""

import re
import secrets
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from moot.app import event_loop
from moot.cli import discord as bot
from moot.providers.catalog import ProviderConfig
from moot.settings import Discord, Settings
from moot.testing.discord.server import TOKEN, Double, serving

TABLE = "sceptic = scripted/doubting, engineer = scripted/building, historian = scripted/remembering"
SCRIPTS = """
[doubting]
answer = "Round for whom? A round table wastes every corner of a room."
when = { "Historian said" = "Kings are no reason. But nobody sits at its head: I give in." }
chunk = 70

[building]
answer = "A round top needs one leg in the middle, and none in the way."
when = { "Historian said" = "Then let me draw it. One leg, three feet.\\n\\nFirst the foot: it must be as wide as the top is, or it tips over." }
chunk = 70
pace = 600.0

[remembering]
answer = "Kings had long tables, so that everybody knew who was the king."
chunk = 70
"""
LINK = re.compile(r" \(https://\S+\)")


def run() -> int:
    bot.check_installed()
    return event_loop.run(_show())


async def _show() -> int:
    from moot.app.container import opened

    with TemporaryDirectory() as folder:
        chosen = _settings(Path(folder))
        async with serving(Double()) as double:
            _point_at(double)
            async with opened(chosen, {"MOOT_SECRET": secrets.token_hex(16)}, double.url) as house:
                async with bot.beside(house, chosen):
                    transcript = await _talk(double)
                await house.leave()
    sys.stdout.write(transcript)
    return 0


def _settings(folder: Path) -> Settings:
    scripts = folder / "scripts.toml"
    scripts.write_text(SCRIPTS, encoding="utf-8")
    return Settings(
        database_url=f"sqlite:///{folder / 'moot.db'}",
        providers={"scripted": ProviderConfig(script=str(scripts))},
        discord=Discord(token=TOKEN),
    )


def _point_at(double: Double) -> None:
    """Let discord.py find the double where it looks for Discord."""
    import yarl
    from discord.gateway import DiscordWebSocket
    from discord.http import Route

    Route.BASE = double.base
    DiscordWebSocket.DEFAULT_GATEWAY = yarl.URL(double.gateway.address)


async def _talk(double: Double) -> str:
    """Let Anna lay a table, ask, and stop the second round in the middle."""
    channel = double.channel("general")
    await double.until(lambda: bool(double.gateway.identified))
    double.command(channel, "anna", "new", participants=TABLE, mode="consensus")
    await double.until_shown(channel, "begins the discussion")
    double.say(channel, "anna", "Should our table be round?")
    await double.until_shown(channel, "Then let me draw it.")
    double.say(channel, "anna", "stop")
    await double.until_shown(channel, "First the foot")
    return LINK.sub("", double.transcript(channel))

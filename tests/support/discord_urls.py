"""The URLs that discord.py uses."""

import warnings

import yarl


def set_discord_urls(base_url: str, gateway_url: str) -> None:
    """Point discord.py at the fake Discord, in this process."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # about voice support, which Moot does not use
        from discord.gateway import DiscordWebSocket  # noqa: PLC0415 - loaded with its warning silenced
        from discord.http import Route  # noqa: PLC0415

    Route.BASE = base_url
    DiscordWebSocket.DEFAULT_GATEWAY = yarl.URL(gateway_url)

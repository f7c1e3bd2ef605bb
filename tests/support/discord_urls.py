"""Where discord.py, as it is, looks for Discord."""

import warnings

import yarl


def set_discord_urls(base_url: str, gateway_url: str) -> None:
    """Let it find the double there, in this process."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of voices, which nobody needs
        from discord.gateway import DiscordWebSocket  # noqa: PLC0415 - loaded with its warning silenced
        from discord.http import Route  # noqa: PLC0415

    Route.BASE = base_url
    DiscordWebSocket.DEFAULT_GATEWAY = yarl.URL(gateway_url)

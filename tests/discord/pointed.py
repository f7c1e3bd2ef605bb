"""Where discord.py, as it is, looks for Discord."""

import warnings

import yarl


def point_at(base: str, gateway: str) -> None:
    """Let it find the double there, in this process."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of voices, which nobody needs
        from discord.gateway import DiscordWebSocket  # noqa: PLC0415 - loaded with its warning silenced
        from discord.http import Route  # noqa: PLC0415

    Route.BASE = base
    DiscordWebSocket.DEFAULT_GATEWAY = yarl.URL(gateway)

"""`moot` as it is, but that discord.py finds the double where it looks for Discord: BASE GATEWAY ARGUMENTS…"""

import sys
import warnings

import yarl

warnings.filterwarnings("ignore", category=DeprecationWarning, message="'audioop'")

from discord.gateway import DiscordWebSocket  # noqa: E402 - a warning before that
from discord.http import Route  # noqa: E402

from moot.cli.app import main  # noqa: E402

if __name__ == "__main__":
    _, Route.BASE, gateway, *arguments = sys.argv
    DiscordWebSocket.DEFAULT_GATEWAY = yarl.URL(gateway)
    sys.argv = ["moot", *arguments]
    main()

"""`moot discord`: `moot serve`, and in the same house the bot that leads its discussions in Discord."""

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from moot import settings
from moot.cli import serve
from moot.types.accounts import Caller
from moot.types.errors import BadSettings, Unavailable

if TYPE_CHECKING:
    from moot.app.container import House
    from moot.discord.dependencies import Premises
    from moot.settings import Settings


def run(host: str, port: int, config: Path | None) -> int:
    check(settings.load(config, os.environ))
    return serve.run(serve.Options(host=host, port=port, config=config), beside)


def check(chosen: "Settings") -> None:
    """Refuse to begin without what nothing works without."""
    check_installed()
    if not chosen.discord.token:
        raise BadSettings(
            "There is no token for Discord: put the one of your bot into MOOT_DISCORD_TOKEN "
            "(Developer Portal, Bot, Reset Token)."
        )


def check_installed() -> None:
    if find_spec("discord") is None:
        raise Unavailable(
            "discord.py is not installed: in a clone of Moot, uv run --extra discord moot discord, "
            "or uv tool install '.[discord]'."
        )


@asynccontextmanager
async def beside(house: "House", chosen: "Settings") -> AsyncIterator[None]:
    """Be in Discord, on behalf of the account that the settings name."""
    from moot.discord.connection import attached

    async with attached(await premises(house, chosen), chosen.discord.token or ""):
        yield


async def premises(house: "House", chosen: "Settings") -> "Premises":
    from moot.discord.dependencies import Premises

    async def admit(account: str, mode: str) -> None:
        await house.limits.say(account)
        await house.limits.mode(account, mode)

    return Premises(
        caller=await _caller(house, chosen.discord.user),
        database=house.database,
        hall=house.hall,
        admit=admit,
        channels=house.channels,
        discussions=house.discussions,
        runs=house.runs,
        events=house.events,
        feeds=house.feeds,
        changes=house.changes,
        files=house.file_store,
        personas=house.personas,
        seating=house.seating,
        boards=house.boards,
        painter=house.painter,
        permissions=house.permissions,
        degree=chosen.discord.degree,
        guard=chosen.discord.guard,
        thoughts=chosen.discord.thoughts,
        model=chosen.model,
    )


async def _caller(house: "House", name: str | None) -> Caller:
    if name is None:
        return await house.accounts.ensure_local()
    for one in await house.accounts.all():
        if one.name == name:
            return Caller(account=one.id, tenant=one.tenant, name=one.name, kind="local")
    raise BadSettings(f"[discord] user: there is no account {name!r}: make it with `moot user add {name}`.")

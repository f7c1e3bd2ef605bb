"""`moot discord`: `moot serve` with the Discord bot in the same process."""

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from moot import settings
from moot.cli import serve
from moot.types.accounts import Caller
from moot.types.errors import BadSettings, FeatureUnavailable

if TYPE_CHECKING:
    from moot.app.lifecycle import Worker
    from moot.discord.dependencies import DiscordDeps


async def run_discord(host: str, port: int, config: Path | None) -> int:
    check_discord_settings(settings.load_settings(config, os.environ))
    return await serve.run_serve(host, port, config, background_service=run_discord_bot)


def check_discord_settings(app_settings: settings.Settings) -> None:
    """Raise if discord.py is not installed or the token is missing."""
    check_discord_installed()
    if not app_settings.discord.token:
        raise BadSettings(
            "MOOT_DISCORD_TOKEN: not set. Set it to the token of your bot (Developer Portal, Bot, Reset Token)."
        )


def check_discord_installed() -> None:
    if find_spec("discord") is None:
        raise FeatureUnavailable(
            "discord.py is not installed. In a clone of Moot, use uv run --extra discord moot discord, "
            "or uv tool install '.[discord]'."
        )


@asynccontextmanager
async def run_discord_bot(worker: "Worker", app_settings: settings.Settings) -> AsyncIterator[None]:
    """Run the bot until the block ends, on behalf of the account in the settings."""
    from moot.discord.bot import connect_discord

    async with connect_discord(await build_discord_deps(worker, app_settings), app_settings.discord.token or ""):
        yield


async def build_discord_deps(worker: "Worker", app_settings: settings.Settings) -> "DiscordDeps":
    from moot.discord.dependencies import DiscordDeps

    services = worker.services

    async def check_rate_limit(account: str, mode: str) -> None:
        await services.rate_limits.count_message(account)
        await services.rate_limits.count_run_start(account, mode)

    return DiscordDeps(
        caller=await _resolve_caller(worker, app_settings.discord.account),
        stores=worker.stores,
        settings=app_settings.discord,
        default_model=app_settings.model,
        discussion_service=services.discussion_service,
        run_planner=services.run_planner,
        check_rate_limit=check_rate_limit,
        event_hub=services.event_hub,
        discussion_changes=services.discussion_changes,
        whiteboards=services.whiteboards,
        image_renderer=services.image_renderer,
    )


async def _resolve_caller(worker: "Worker", name: str | None) -> Caller:
    if name is None:
        return await worker.stores.accounts.ensure_local_account()
    for one in await worker.stores.accounts.list_accounts():
        if one.name == name:
            return Caller(account=one.id, tenant=one.tenant, name=one.name, kind="local")
    raise BadSettings(f"[discord] account: there is no account {name!r}. Create it with `moot user add {name}`.")

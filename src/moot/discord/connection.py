"""Discord connection with reconnect and backoff.

One server per bot token connects, elected through the database. Without election every server would answer.
"""

import asyncio
import hashlib
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import aiohttp
import discord

from moot.discord.bot import Bot
from moot.discord.dependencies import DiscordDeps
from moot.discord.sender import open_webhook_session
from moot.store.locks import run_as_leader
from moot.streaming.cancellation import cancel_tasks

FIRST_BACKOFF_SECONDS, MAX_BACKOFF_SECONDS = 2.0, 300.0
REJECTED_TEXT = (
    "Discord rejected the bot token. Copy it again from the Developer Portal (Bot, Reset Token) into "
    "MOOT_DISCORD_TOKEN and restart. The server keeps running without Discord."
)
MISSING_INTENTS_TEXT = (
    "The Discord bot is not allowed to read messages. Enable Message Content Intent and Server Members Intent in the "
    "Developer Portal (Bot) and restart. The server keeps running without Discord."
)

log = logging.getLogger(__name__)


@asynccontextmanager
async def connect_discord(deps: DiscordDeps, token: str) -> AsyncIterator[None]:
    """Stay connected until the block ends. A Discord error is logged and does not end the block."""
    discord.VoiceClient.warn_nacl = discord.VoiceClient.warn_dave = False  # voice is not used
    leader_key = f"discord/{hashlib.sha256(token.encode()).hexdigest()[:16]}"
    connection = run_as_leader(deps.database, leader_key, lambda: _stay_connected(deps, token))
    task = asyncio.create_task(connection, name="discord")
    task.add_done_callback(_log_failure)
    try:
        yield
    finally:
        await cancel_tasks(task)


async def _stay_connected(deps: DiscordDeps, token: str) -> None:
    wait = FIRST_BACKOFF_SECONDS
    while True:
        async with open_webhook_session() as session:
            bot = Bot(deps, session)
            try:
                await bot.start(token)
            except discord.LoginFailure:
                log.error(REJECTED_TEXT)  # noqa: TRY400 - a traceback adds nothing
                return
            except discord.PrivilegedIntentsRequired:
                log.error(MISSING_INTENTS_TEXT)  # noqa: TRY400
                return
            except discord.ConnectionClosed as error:
                log.warning("discord closed the connection; retrying", extra={"code": error.code, "seconds": wait})
            except (discord.DiscordException, aiohttp.ClientError, OSError, TimeoutError) as error:
                log.warning("discord unreachable; retrying", extra={"reason": type(error).__name__, "seconds": wait})
            finally:
                await bot.shutdown_bot()
        await asyncio.sleep(wait)
        wait = min(2 * wait, MAX_BACKOFF_SECONDS)


def _log_failure(task: asyncio.Task[None]) -> None:
    if not task.cancelled() and (error := task.exception()) is not None:
        log.error("discord connection task failed; the server keeps running", exc_info=error)

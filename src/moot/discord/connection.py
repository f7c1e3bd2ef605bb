"""The connection to Discord: kept as long as Discord lets us in, and where it does not, it is said what to do."""

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

FIRST_BACKOFF_SECONDS, MAX_BACKOFF_SECONDS = 2.0, 300.0
REJECTED_TEXT = (
    "Discord refuses the token of the bot: copy it again from the Developer Portal (Bot, Reset Token) into "
    "MOOT_DISCORD_TOKEN, and start again. Everything else goes on without Discord."
)
MISSING_INTENTS_TEXT = (
    "Discord does not let the bot read messages: switch on Message Content Intent and Server Members Intent in the "
    "Developer Portal (Bot), and start again. Everything else goes on without Discord."
)

log = logging.getLogger(__name__)


@asynccontextmanager
async def connect_discord(deps: DiscordDeps, token: str) -> AsyncIterator[None]:
    """Be in Discord until the block ends; whatever is wrong there, the block goes on.

    Of several servers with one database one is there, and another one when that has ended: else all would answer.
    """
    discord.VoiceClient.warn_nacl = discord.VoiceClient.warn_dave = False  # nobody speaks aloud
    bot = f"discord/{hashlib.sha256(token.encode()).hexdigest()[:16]}"
    staying = run_as_leader(deps.database, bot, lambda: _stay_connected(deps, token))
    task = asyncio.create_task(staying, name="discord")
    task.add_done_callback(_log_failure)
    try:
        yield
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def _stay_connected(deps: DiscordDeps, token: str) -> None:
    wait = FIRST_BACKOFF_SECONDS
    while True:
        async with open_webhook_session() as session:
            bot = Bot(deps, session)
            try:
                await bot.start(token)
            except discord.LoginFailure:
                log.error(REJECTED_TEXT)  # noqa: TRY400 - it says all that there is to say
                return
            except discord.PrivilegedIntentsRequired:
                log.error(MISSING_INTENTS_TEXT)  # noqa: TRY400
                return
            except discord.ConnectionClosed as error:
                log.warning("Discord has closed the connection", extra={"code": error.code, "seconds": wait})
            except (discord.DiscordException, aiohttp.ClientError, OSError, TimeoutError) as error:
                log.warning(
                    "Discord cannot be reached", extra={"reason": type(error).__name__, "seconds": wait}
                )
            finally:
                await bot.shutdown_bot()
        await asyncio.sleep(wait)
        wait = min(2 * wait, MAX_BACKOFF_SECONDS)


def _log_failure(task: asyncio.Task[None]) -> None:
    if not task.cancelled() and (error := task.exception()) is not None:
        log.error("the Discord channel has failed; everything else goes on", exc_info=error)

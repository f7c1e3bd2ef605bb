"""What people write in a channel: their words, who is to answer, what is attached, and a reply to them alone."""

import asyncio
import hashlib
import logging

import aiohttp
import discord

from moot.discord.addressing import named
from moot.discord.dependencies import Premises
from moot.discord.sender import NOBODY
from moot.prompts.attachments import LARGEST, recognised
from moot.types.errors import UsageError
from moot.types.files import label
from moot.types.participants import Participant

ATTACHMENT_SECONDS = 60.0
LONGEST = 1900
A_FILE = "(a file)"

log = logging.getLogger(__name__)


def is_empty(message: discord.Message) -> bool:
    return not (_text(message) or message.attachments)


def words_of(message: discord.Message) -> str:
    """Write down what somebody said, and who; mentions as names, and without that of Moot itself."""
    return f"{message.author.display_name}: {_text(message) or A_FILE}"


def addressed(message: discord.Message, participants: tuple[Participant, ...]) -> tuple[str, ...]:
    """Find who is to answer: whose message is replied to, then whoever is named."""
    replied = message.reference.resolved if message.reference else None
    first = replied.author.name if isinstance(replied, discord.Message) and replied.webhook_id else ""
    return named(f"{first}\n{message.clean_content}", participants)


async def files_of(premises: Premises, message: discord.Message) -> tuple[str, ...]:
    """Keep what is attached to a message, and return the ids."""
    return tuple([await _kept(premises, attachment) for attachment in message.attachments])


async def _kept(premises: Premises, attachment: discord.Attachment) -> str:
    name = attachment.filename
    if attachment.size > LARGEST:
        raise UsageError(f"{name} is larger than {LARGEST // 2**20} MB: attach a smaller file.")
    try:
        async with asyncio.timeout(ATTACHMENT_SECONDS):
            data = await attachment.read()
    except (discord.HTTPException, aiohttp.ClientError, OSError, TimeoutError) as error:
        raise UsageError(f"{name} could not be loaded: send it again.") from error
    caller, kind = premises.caller, recognised(data, name)
    digest = hashlib.sha256(data).hexdigest()
    file = await premises.files.add(caller.tenant, caller.account, label(name), kind, digest, data)
    return file.id


async def reply(message: discord.Message, text: str) -> None:
    """Tell somebody what became of a message; where that cannot be told, it is not."""
    try:
        await message.reply(text[:LONGEST], allowed_mentions=NOBODY, mention_author=False)
    except (discord.HTTPException, aiohttp.ClientError, OSError) as error:
        log.info("a reply is lost", extra={"reason": type(error).__name__})


def _text(message: discord.Message) -> str:
    text = message.clean_content
    if message.guild is not None:
        text = text.replace(f"@{message.guild.me.display_name}", "")
    return text.strip()

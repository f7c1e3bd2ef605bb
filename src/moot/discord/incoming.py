"""What people write in a channel: their words, who is to answer, what is attached, and a reply to them alone."""

import asyncio
import hashlib
import logging

import aiohttp
import discord

from moot.discord.addressing import find_named_participants
from moot.discord.dependencies import DiscordDeps
from moot.discord.sender import NO_MENTIONS
from moot.prompts.attachments import MAX_FILE_BYTES, validate_media_type
from moot.types.errors import UsageError
from moot.types.files import sanitize_file_name
from moot.types.participants import Participant

ATTACHMENT_SECONDS = 60.0
MAX_REPLY_CHARS = 1900
FILE_ONLY_TEXT = "(a file)"

log = logging.getLogger(__name__)


def is_empty_message(message: discord.Message) -> bool:
    return not (_visible_text(message) or message.attachments)


def text_with_author(message: discord.Message) -> str:
    """Write down what somebody said, and who; mentions as names, and without that of Moot itself."""
    return f"{message.author.display_name}: {_visible_text(message) or FILE_ONLY_TEXT}"


def find_addressed_participants(
    message: discord.Message, participants: tuple[Participant, ...]
) -> tuple[str, ...]:
    """Find who is to answer: whose message is replied to, then whoever is named."""
    replied = message.reference.resolved if message.reference else None
    first = replied.author.name if isinstance(replied, discord.Message) and replied.webhook_id else ""
    return find_named_participants(f"{first}\n{message.clean_content}", participants)


async def store_attachments(deps: DiscordDeps, message: discord.Message) -> tuple[str, ...]:
    """Keep what is attached to a message, and return the ids."""
    return tuple([await _store_attachment(deps, attachment) for attachment in message.attachments])


async def _store_attachment(deps: DiscordDeps, attachment: discord.Attachment) -> str:
    name = attachment.filename
    if attachment.size > MAX_FILE_BYTES:
        raise UsageError(f"{name} is larger than {MAX_FILE_BYTES // 2**20} MB: attach a smaller file.")
    try:
        async with asyncio.timeout(ATTACHMENT_SECONDS):
            data = await attachment.read()
    except (discord.HTTPException, aiohttp.ClientError, OSError, TimeoutError) as error:
        raise UsageError(f"{name} could not be loaded: send it again.") from error
    caller, kind = deps.caller, validate_media_type(data, name)
    digest = hashlib.sha256(data).hexdigest()
    file = await deps.files.store_file(
        caller.tenant, caller.account, sanitize_file_name(name), kind, digest, data
    )
    return file.id


async def reply_to_message(message: discord.Message, text: str) -> None:
    """Tell somebody what became of a message; where that cannot be told, it is not."""
    try:
        await message.reply(text[:MAX_REPLY_CHARS], allowed_mentions=NO_MENTIONS, mention_author=False)
    except (discord.HTTPException, aiohttp.ClientError, OSError) as error:
        log.info("a reply is lost", extra={"reason": type(error).__name__})


def _visible_text(message: discord.Message) -> str:
    text = message.clean_content
    if message.guild is not None:
        text = text.replace(f"@{message.guild.me.display_name}", "")
    return text.strip()

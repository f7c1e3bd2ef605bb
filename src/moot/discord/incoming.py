"""Incoming Discord messages: text, addressed participants, attachments, and direct replies."""

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
    """Return `name: text`. Mentions become names; the mention of the bot is removed."""
    return f"{message.author.display_name}: {_visible_text(message) or FILE_ONLY_TEXT}"


def find_addressed_participants(message: discord.Message, participants: tuple[Participant, ...]) -> tuple[str, ...]:
    """Return participant ids: first the author of the replied-to message, then those named in the text."""
    replied = message.reference.resolved if message.reference else None
    replied_author = replied.author.name if isinstance(replied, discord.Message) and replied.webhook_id else ""
    return find_named_participants(f"{replied_author}\n{message.clean_content}", participants)


async def store_attachments(deps: DiscordDeps, message: discord.Message) -> tuple[str, ...]:
    """Store the attachments and return their file ids. Raises UsageError if one is too large or unreadable."""
    return tuple([await _store_attachment(deps, attachment) for attachment in message.attachments])


async def _store_attachment(deps: DiscordDeps, attachment: discord.Attachment) -> str:
    name = attachment.filename
    if attachment.size > MAX_FILE_BYTES:
        raise UsageError(f"{name}: larger than {MAX_FILE_BYTES // 2**20} MB. Attach a smaller file.")
    try:
        async with asyncio.timeout(ATTACHMENT_SECONDS):
            data = await attachment.read()
    except (discord.HTTPException, aiohttp.ClientError, OSError, TimeoutError) as error:
        raise UsageError(f"{name}: download from Discord failed. Send it again.") from error
    caller, media_type = deps.caller, validate_media_type(data, name)
    digest = hashlib.sha256(data).hexdigest()
    file = await deps.files.store_file(
        caller.tenant, caller.account, sanitize_file_name(name), media_type, digest, data
    )
    return file.id


async def reply_to_message(message: discord.Message, text: str) -> None:
    """Reply without mentions. Logs a failed request instead of raising."""
    try:
        await message.reply(text[:MAX_REPLY_CHARS], allowed_mentions=NO_MENTIONS, mention_author=False)
    except (discord.HTTPException, aiohttp.ClientError, OSError) as error:
        log.info("discord reply failed", extra={"reason": type(error).__name__})


def _visible_text(message: discord.Message) -> str:
    text = message.clean_content
    if message.guild is not None:
        text = text.replace(f"@{message.guild.me.display_name}", "")
    return text.strip()

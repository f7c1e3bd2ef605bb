"""Incoming Discord messages: text, named participants, attachments, direct replies, and the reply chain."""

import asyncio
import hashlib
import logging
import re
from collections.abc import Sequence

import aiohttp
import discord

from moot.discord.dependencies import DiscordDeps
from moot.discord.sender import NO_MENTIONS
from moot.prompts.attachments import MAX_FILE_BYTES, validate_media_type
from moot.types.discussions import Run
from moot.types.errors import MootError, UsageError
from moot.types.files import sanitize_file_name
from moot.types.modes import MODE_NAMES
from moot.types.participants import Participant

ATTACHMENT_SECONDS = 60.0
MAX_REPLY_CHARS = 1900
FILE_ONLY_TEXT = "(a file)"
MAX_RESPONDERS = 3
MAX_CHAINED_TURNS = 3
STOP_PHRASES = frozenset({"stop", "wait", "enough", "nevermind", "never mind"})
EDGE_PUNCTUATION = re.compile(r"^[\W_]+|[\W_]+$")

log = logging.getLogger(__name__)


def find_named_participants(text: str, participants: Sequence[Participant]) -> tuple[str, ...]:
    """Return participant ids in order of first mention, at most `MAX_RESPONDERS`."""
    ids = {who.name.casefold(): who.id for who in participants}
    if not ids:
        return ()
    longest_first = sorted(ids, key=len, reverse=True)  # so that "Alpha 2" does not match "Alpha"
    name = re.compile(rf"(?<!\w)(?:{'|'.join(map(re.escape, longest_first))})(?!\w)")
    found = (ids[match[0]] for match in name.finditer(text.casefold()))
    return tuple(dict.fromkeys(found))[:MAX_RESPONDERS]


def is_stop_request(text: str) -> bool:
    return " ".join(EDGE_PUNCTUATION.sub("", text).casefold().split()) in STOP_PHRASES


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
    file = await deps.stores.files.store_file(
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


async def continue_with_named_participant(deps: DiscordDeps, run: Run) -> None:
    """Start one more turn if the last answer names another participant.

    Idempotent: the run id is part of the idempotency key. Logs a rejected request instead of raising.
    """
    participant = await _next_participant_id(deps, run)
    if participant is not None:
        try:
            key = f"discord/after/{run.id}"
            await deps.discussion_service.continue_(deps.caller, run.discussion, 1, key, participant)
        except MootError as error:
            log.info("reply chain ended: request rejected", extra={"run": run.id, "reason": str(error)})


async def _next_participant_id(deps: DiscordDeps, run: Run) -> str | None:
    runs = await deps.stores.runs.list_runs(deps.caller.tenant, run.discussion)
    if not runs or runs[-1].id != run.id or runs[-1].status != "completed":
        return None
    # Counts the trailing `continue` runs, so that two participants cannot answer each other forever.
    chained = next((at for at, one in enumerate(reversed(runs)) if one.mode in MODE_NAMES), MAX_CHAINED_TURNS)
    if chained >= MAX_CHAINED_TURNS:
        return None
    plan = await deps.stores.runs.get_plan(runs[-1 - chained].id)
    answers = [one for one in await deps.stores.discussions.run_messages(run.id) if one.participant and one.content]
    if plan.responders is None or not answers:
        return None
    others = [who for who in plan.participants if who.id != answers[-1].participant]
    return next(iter(find_named_participants(answers[-1].content, others)), None)

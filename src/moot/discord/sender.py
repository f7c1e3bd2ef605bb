"""Message sender for one Discord channel: in order, one request at a time, exactly once.

If a response is lost, the sender searches the channel history for the message before it retries.
Messages sent without a webhook also carry a nonce.
"""

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Collection
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from typing import TypeVar

import aiohttp
import discord

from moot.discord.approvals import BUTTON_LABELS, ApprovalKey
from moot.discord.format.messages import MOOT_AUTHOR
from moot.discord.posts import MessagePayload
from moot.types.tools import ApprovalDecision

REQUEST_TIMEOUT_SECONDS = 60.0  # per attempt; discord.py may wait for a rate limit in it
TYPING_TIMEOUT_SECONDS = 2.0  # the typing indicator must not delay a message longer than this
FIRST_BACKOFF_SECONDS, MAX_BACKOFF_SECONDS = 1.0, 60.0
HISTORY_LIMIT = 50  # messages
CLOCK_SKEW_SECONDS = 60.0  # between this host and Discord
UNKNOWN_MESSAGE, UNKNOWN_WEBHOOK = 10008, 10015
TOO_MANY_WEBHOOKS = {30007, 30058}  # error codes: per channel, per guild
BUTTON_STYLES: dict[ApprovalDecision, discord.ButtonStyle] = {
    "allow": discord.ButtonStyle.success,
    "always": discord.ButtonStyle.secondary,
    "refuse": discord.ButtonStyle.danger,
}
NO_MENTIONS = discord.AllowedMentions.none()

log = logging.getLogger(__name__)

T = TypeVar("T")
FindKnownMessages = Callable[[list[str]], Awaitable[Collection[str]]]


class ChannelClosed(Exception):
    """The channel is deleted or no longer writable. The message text is shown to the user."""


class MessageRejected(Exception):
    """Discord rejected this message; a retry would fail the same way."""


class UnknownOutcome(Exception):
    """The request may or may not have been applied."""


class ChannelSender:
    """Sends, edits and deletes messages of one channel. Shared by all runs of the channel.

    `find_known`: returns those of the given message ids that are already recorded for another post.
    """

    def __init__(
        self, client: discord.Client, session: aiohttp.ClientSession, channel_id: str, find_known: FindKnownMessages
    ) -> None:
        self._client = client
        self._session = session
        self._channel_id = int(channel_id)
        self._find_known = find_known
        self._send_lock = asyncio.Lock()
        self._webhook: discord.Webhook | None = None
        self._has_no_webhook = False  # webhooks are forbidden here or the limit is reached; do not retry

    async def send_payload(self, payload: MessagePayload, *, maybe_sent: bool = False) -> str:
        """Send a message, with retries until it succeeds, and return its Discord message id.

        `maybe_sent`: search the history first, because an earlier attempt may have succeeded.
        Raises ChannelClosed or MessageRejected.
        """
        async with self._send_lock:

            async def attempt(maybe_sent: bool) -> str:
                found = await self._find_in_history(payload) if maybe_sent else None
                return found or await self._send_once(payload)

            return await self._retry_until_done(attempt, maybe_sent=maybe_sent)

    async def find_sent(self, payload: MessagePayload) -> str | None:
        """Return the id of a message that an earlier attempt may have sent, or None."""
        async with self._send_lock:
            return await self._retry_until_done(lambda _: self._find_in_history(payload))

    async def _retry_until_done(self, attempt: Callable[[bool], Awaitable[T]], *, maybe_sent: bool = False) -> T:
        """Retry temporary errors forever, with backoff.

        `attempt` receives True if an earlier attempt may have been applied.
        Raises ChannelClosed or MessageRejected for permanent errors.
        """
        wait = FIRST_BACKOFF_SECONDS
        while True:
            try:
                async with asyncio.timeout(REQUEST_TIMEOUT_SECONDS):
                    return await attempt(maybe_sent)
            except discord.NotFound as error:
                if error.code != UNKNOWN_WEBHOOK or self._webhook is None:
                    raise ChannelClosed("The channel is gone.") from error
                self._webhook = None  # the webhook was deleted; the next attempt creates another
                last_error: Exception = error
            except discord.Forbidden as error:
                raise ChannelClosed("Moot is no longer allowed to write here.") from error
            except discord.HTTPException as error:
                if error.status < 500 and error.status != 429:
                    raise MessageRejected(f"Discord rejected a message: {error.text}") from error
                last_error = error
            except (UnknownOutcome, OSError, aiohttp.ClientError, TimeoutError) as error:
                last_error = error
            log.warning(
                "discord request failed; retrying",
                extra={"channel": self._channel_id, "reason": type(last_error).__name__, "seconds": wait},
            )
            maybe_sent = True
            await asyncio.sleep(wait)
            wait = min(2 * wait, MAX_BACKOFF_SECONDS)

    async def delete_messages(self, messages: Collection[str]) -> None:
        """Delete messages, without retries. Ignores those already deleted; logs other errors."""
        async with self._send_lock:
            for message in messages:
                try:
                    async with asyncio.timeout(REQUEST_TIMEOUT_SECONDS):
                        await self._delete_message(int(message))
                except discord.NotFound:
                    continue
                except (ChannelClosed, discord.HTTPException, OSError, aiohttp.ClientError, TimeoutError) as error:
                    log.warning(
                        "could not delete a retracted message",
                        extra={"channel": self._channel_id, "reason": type(error).__name__},
                    )

    async def resolve_prompt(self, message: str, text: str) -> None:
        """Replace an approval prompt with `text` and remove its buttons. Ignores a deleted prompt."""

        async def attempt(_: bool) -> None:
            prompt = (await self._fetch_channel()).get_partial_message(int(message))
            try:
                await prompt.edit(content=text, view=None, allowed_mentions=NO_MENTIONS)
            except discord.NotFound as error:
                if error.code != UNKNOWN_MESSAGE:
                    raise

        async with self._send_lock:
            await self._retry_until_done(attempt)

    async def _delete_message(self, message: int) -> None:
        """Delete through the webhook that sent the message; this needs no further permission."""
        if (webhook := await self._get_webhook()) is not None:
            await webhook.delete_message(message)
        else:
            await (await self._fetch_channel()).get_partial_message(message).delete()

    async def show_typing(self) -> None:
        """Show the typing indicator. Errors are ignored, because it is optional."""
        try:
            async with asyncio.timeout(TYPING_TIMEOUT_SECONDS):
                await (await self._fetch_channel()).typing()
        except (ChannelClosed, discord.HTTPException, OSError, aiohttp.ClientError, TimeoutError) as error:
            log.debug("discord typing indicator failed", extra={"reason": type(error).__name__})

    async def _fetch_channel(self) -> discord.TextChannel:
        """Return the cached channel, or request it: after a reconnect the cache is empty for a moment."""
        channel = self._client.get_channel(self._channel_id) or await self._client.fetch_channel(self._channel_id)
        if not isinstance(channel, discord.TextChannel):
            raise ChannelClosed("The channel is gone.")
        return channel

    async def _send_once(self, payload: MessagePayload) -> str:
        channel = await self._fetch_channel()
        if payload.approval is not None:  # the bot asks under its own name, not as a participant
            prompt = await channel.send(
                payload.text,
                nonce=payload.nonce,
                allowed_mentions=NO_MENTIONS,
                view=_approval_buttons(payload.approval),
            )
            return str(prompt.id)
        webhook = await self._get_webhook()
        if webhook is None:
            message: discord.Message = await channel.send(
                payload.text_with_name, nonce=payload.nonce, allowed_mentions=NO_MENTIONS, files=payload.discord_files()
            )
        else:
            message = await webhook.send(
                payload.text,
                username=payload.username,
                avatar_url=payload.author.avatar,
                wait=True,
                allowed_mentions=NO_MENTIONS,
                files=payload.discord_files(),
            )
        return str(message.id)

    async def _get_webhook(self) -> discord.Webhook | None:
        """Find or create the bot's webhook. Returns None where webhooks are forbidden or at their limit."""
        if self._webhook is None and not self._has_no_webhook:
            channel = await self._fetch_channel()
            try:
                existing = [one for one in await channel.webhooks() if one.token and one.user == self._client.user]
                webhook = existing[0] if existing else await channel.create_webhook(name=MOOT_AUTHOR.name)
            except discord.HTTPException as error:
                if not isinstance(error, discord.Forbidden) and error.code not in TOO_MANY_WEBHOOKS:
                    raise
                self._has_no_webhook = True
                log.warning(
                    "webhook unavailable; sending under the bot's name",
                    extra={"channel": self._channel_id, "reason": error.text},
                )
                return None
            self._webhook = discord.Webhook.partial(webhook.id, webhook.token or "", session=self._session)
        return self._webhook

    async def _find_in_history(self, payload: MessagePayload) -> str | None:
        """Return the oldest matching message that is not recorded for another post, or None.

        A match has the same author, text and file names. Two equal messages of one run are thus kept apart.
        """
        since = datetime.fromtimestamp(payload.earliest_arrival - CLOCK_SKEW_SECONDS, UTC)
        matches: list[str] = []
        channel = await self._fetch_channel()
        async for message in channel.history(limit=HISTORY_LIMIT):
            if message.created_at < since:
                break
            by_webhook = message.webhook_id is not None and message.author.name == payload.username
            text = payload.text if by_webhook else payload.text_with_name
            is_own = by_webhook or message.author == self._client.user
            files = [payload.image.name] if payload.image else []
            if is_own and _is_same_message(message, text, files):
                matches.append(str(message.id))
        known = await self._find_known(matches)
        return next((id for id in reversed(matches) if id not in known), None)


def _is_same_message(message: discord.Message, text: str, files: list[str]) -> bool:
    attached = [one.filename for one in message.attachments]
    return " ".join(message.content.split()) == " ".join(text.split()) and attached == files


def _approval_buttons(approval: ApprovalKey) -> discord.ui.View:
    view = discord.ui.View(timeout=None)
    for decision, label in BUTTON_LABELS.items():
        style = BUTTON_STYLES[decision]
        view.add_item(discord.ui.Button(label=label, style=style, custom_id=approval.button_id(decision)))
    view.stop()  # `Bot.on_interaction` handles the buttons, so that they work after a restart
    return view


async def _reject_server_errors(
    request: aiohttp.ClientRequest, handler: aiohttp.ClientHandlerType
) -> aiohttp.ClientResponse:
    """Raise UnknownOutcome on a server error of a POST request.

    discord.py would retry the request at once and could post the message twice.
    """
    response = await handler(request)
    if response.status >= 500 and request.method == "POST":
        response.release()
        raise UnknownOutcome(f"Discord answered {response.status}.")
    return response


@asynccontextmanager
async def open_webhook_session() -> AsyncIterator[aiohttp.ClientSession]:
    """Open the HTTP session for webhook requests."""
    limits = aiohttp.ClientTimeout(total=REQUEST_TIMEOUT_SECONDS)
    async with aiohttp.ClientSession(
        timeout=limits, cookie_jar=aiohttp.DummyCookieJar(), middlewares=(_reject_server_errors,)
    ) as session:
        yield session

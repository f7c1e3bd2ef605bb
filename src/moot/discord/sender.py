"""One channel of Discord, and everything that is sent to it: in order, one at a time, and each of it once.

What becomes of a request whose answer is lost cannot be known from the request. So it is looked for among the newest
messages before it is sent again; what is sent without a webhook has a nonce besides.
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
from moot.discord.posts import MOOT_AUTHOR, MessagePayload
from moot.types.tools import ApprovalDecision

REQUEST_TIMEOUT_SECONDS = 60.0  # for one attempt, in which discord.py may wait for a rate limit
TYPING_TIMEOUT_SECONDS = 2.0  # nothing waits longer only to be seen typing
FIRST_BACKOFF_SECONDS, MAX_BACKOFF_SECONDS = 1.0, 60.0
HISTORY_LIMIT = 50  # messages
CLOCK_SKEW_SECONDS = 60.0  # seconds
UNKNOWN_MESSAGE, UNKNOWN_WEBHOOK = 10008, 10015
TOO_MANY_WEBHOOKS = {30007, 30058}  # of a channel, of a guild
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
    """Nothing can be sent to a channel any more; the message says why."""


class MessageRejected(Exception):
    """Discord does not take this one message."""


class UnknownOutcome(Exception):
    """What became of a request is not known."""


class ChannelSender:
    """`known` tells which of some messages are accounted for already."""

    def __init__(
        self,
        client: discord.Client,
        session: aiohttp.ClientSession,
        channel_id: str,
        find_known: FindKnownMessages,
    ) -> None:
        self._client = client
        self._session = session
        self._channel_id = int(channel_id)
        self._find_known = find_known
        self._send_lock = asyncio.Lock()
        self._webhook: discord.Webhook | None = None
        self._has_no_webhook = False  # there can be no webhook here

    async def send_payload(self, payload: MessagePayload, *, maybe_sent: bool = False) -> str:
        """Send a letter, however long it takes, and return the id under which it arrived.

        It is `doubtful` where it may have been sent before.
        """
        async with self._send_lock:

            async def attempt(maybe_sent: bool) -> str:
                found = await self._find_in_history(payload) if maybe_sent else None
                return found or await self._send_once(payload)

            return await self._retry_until_done(attempt, maybe_sent=maybe_sent)

    async def find_sent(self, payload: MessagePayload) -> str | None:
        """Look for a letter that may have been sent, and return the id under which it arrived."""
        async with self._send_lock:
            return await self._retry_until_done(lambda _: self._find_in_history(payload))

    async def _retry_until_done(
        self, attempt: Callable[[bool], Awaitable[T]], *, maybe_sent: bool = False
    ) -> T:
        """Try until it is done, or cannot be done; an attempt is told whether an earlier one may have been heard."""
        wait = FIRST_BACKOFF_SECONDS
        while True:
            try:
                async with asyncio.timeout(REQUEST_TIMEOUT_SECONDS):
                    return await attempt(maybe_sent)
            except discord.NotFound as error:
                if error.code != UNKNOWN_WEBHOOK or self._webhook is None:
                    raise ChannelClosed("The channel is gone.") from error
                self._webhook = None  # somebody has deleted it, so there will be another one
                trouble: Exception = error
            except discord.Forbidden as error:
                raise ChannelClosed("Discord does not let Moot write here any more.") from error
            except discord.HTTPException as error:
                if error.status < 500 and error.status != 429:
                    raise MessageRejected(f"Discord refuses a message: {error.text}") from error
                trouble = error
            except (UnknownOutcome, OSError, aiohttp.ClientError, TimeoutError) as error:
                trouble = error
            log.warning(
                "sending to Discord is tried again",
                extra={"channel": self._channel_id, "reason": type(trouble).__name__, "seconds": wait},
            )
            maybe_sent = True
            await asyncio.sleep(wait)
            wait = min(2 * wait, MAX_BACKOFF_SECONDS)

    async def delete_messages(self, messages: Collection[str]) -> None:
        """Take messages back; those that are gone already are."""
        async with self._send_lock:
            for message in messages:
                try:
                    async with asyncio.timeout(REQUEST_TIMEOUT_SECONDS):
                        await self._delete_message(int(message))
                except discord.NotFound:
                    continue
                except (
                    ChannelClosed,
                    discord.HTTPException,
                    OSError,
                    aiohttp.ClientError,
                    TimeoutError,
                ) as error:
                    log.warning(
                        "a message stays that is void",
                        extra={"channel": self._channel_id, "reason": type(error).__name__},
                    )

    async def resolve_prompt(self, message: str, text: str) -> None:
        """Write what became of a question in its place, without the buttons, unless somebody has deleted it."""

        async def attempt(_: bool) -> None:
            question = (await self._fetch_channel()).get_partial_message(int(message))
            try:
                await question.edit(content=text, view=None, allowed_mentions=NO_MENTIONS)
            except discord.NotFound as error:
                if error.code != UNKNOWN_MESSAGE:
                    raise

        async with self._send_lock:
            await self._retry_until_done(attempt)

    async def _delete_message(self, message: int) -> None:
        """Delete by the way by which it came, for which Discord asks for no further permission."""
        if (webhook := await self._get_webhook()) is not None:
            await webhook.delete_message(message)
        else:
            await (await self._fetch_channel()).get_partial_message(message).delete()

    async def show_typing(self) -> None:
        """Show for some seconds that somebody is typing; it matters little whether that comes about."""
        try:
            async with asyncio.timeout(TYPING_TIMEOUT_SECONDS):
                await (await self._fetch_channel()).typing()
        except (ChannelClosed, discord.HTTPException, OSError, aiohttp.ClientError, TimeoutError) as error:
            log.debug("no typing is shown", extra={"reason": type(error).__name__})

    async def _fetch_channel(self) -> discord.TextChannel:
        """Find the channel; after a new session it may be unknown for a moment, and is asked for."""
        channel = self._client.get_channel(self._channel_id) or await self._client.fetch_channel(
            self._channel_id
        )
        if not isinstance(channel, discord.TextChannel):
            raise ChannelClosed("The channel is gone.")
        return channel

    async def _send_once(self, payload: MessagePayload) -> str:
        channel = await self._fetch_channel()
        if payload.approval is not None:  # under Moot's own name, as it is Moot who asks
            asked = await channel.send(
                payload.text,
                nonce=payload.nonce,
                allowed_mentions=NO_MENTIONS,
                view=_approval_buttons(payload.approval),
            )
            return str(asked.id)
        webhook = await self._get_webhook()
        if webhook is None:
            message: discord.Message = await channel.send(
                payload.text_with_name,
                nonce=payload.nonce,
                allowed_mentions=NO_MENTIONS,
                files=payload.discord_files(),
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
        """Find Moot's webhook of the channel, or make it; None where there can be none."""
        if self._webhook is None and not self._has_no_webhook:
            channel = await self._fetch_channel()
            try:
                own = [one for one in await channel.webhooks() if one.token and one.user == self._client.user]
                made = own[0] if own else await channel.create_webhook(name=MOOT_AUTHOR.name)
            except discord.HTTPException as error:
                if not isinstance(error, discord.Forbidden) and error.code not in TOO_MANY_WEBHOOKS:
                    raise
                self._has_no_webhook = True
                log.warning(
                    "Moot can have no webhook in a channel, and speaks there under its own name",
                    extra={"channel": self._channel_id, "reason": error.text},
                )
                return None
            self._webhook = discord.Webhook.partial(made.id, made.token or "", session=self._session)
        return self._webhook

    async def _find_in_history(self, payload: MessagePayload) -> str | None:
        """Look for a letter that may have arrived: ours, the same, and accounted for by nothing else."""
        since = datetime.fromtimestamp(payload.earliest_arrival - CLOCK_SKEW_SECONDS, UTC)
        alike: list[str] = []
        channel = await self._fetch_channel()
        async for message in channel.history(limit=HISTORY_LIMIT):
            if message.created_at < since:
                break
            by_webhook = message.webhook_id is not None and message.author.name == payload.username
            text = payload.text if by_webhook else payload.text_with_name
            ours = by_webhook or message.author == self._client.user
            files = [payload.image.name] if payload.image else []
            if ours and _is_same_message(message, text, files):
                alike.append(str(message.id))
        taken = await self._find_known(alike)
        return next((id for id in reversed(alike) if id not in taken), None)


def _is_same_message(message: discord.Message, text: str, files: list[str]) -> bool:
    attached = [one.filename for one in message.attachments]
    return " ".join(message.content.split()) == " ".join(text.split()) and attached == files


def _approval_buttons(approval: ApprovalKey) -> discord.ui.View:
    """Lay out the buttons of a question. Nobody waits for them here: whoever presses one is heard by the bot."""
    view = discord.ui.View(timeout=None)
    for decision, label in BUTTON_LABELS.items():
        style = BUTTON_STYLES[decision]
        view.add_item(discord.ui.Button(label=label, style=style, custom_id=approval.button_id(decision)))
    view.stop()
    return view


async def _reject_server_errors(
    request: aiohttp.ClientRequest, handler: aiohttp.ClientHandlerType
) -> aiohttp.ClientResponse:
    """Let what a webhook sent not be sent again before it was looked for, as discord.py would after such an answer."""
    response = await handler(request)
    if response.status >= 500 and request.method == "POST":
        response.release()
        raise UnknownOutcome(f"Discord answered {response.status}.")
    return response


@asynccontextmanager
async def open_webhook_session() -> AsyncIterator[aiohttp.ClientSession]:
    """Open what webhooks are sent through."""
    limits = aiohttp.ClientTimeout(total=REQUEST_TIMEOUT_SECONDS)
    async with aiohttp.ClientSession(
        timeout=limits, cookie_jar=aiohttp.DummyCookieJar(), middlewares=(_reject_server_errors,)
    ) as session:
        yield session

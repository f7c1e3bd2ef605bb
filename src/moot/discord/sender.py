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

from moot.discord.approvals import LABELS, Question
from moot.discord.posts import MOOT, Letter
from moot.types.tools import Decision

SECONDS = 60.0  # for one attempt, in which discord.py may wait for a rate limit
TYPING_SECONDS = 2.0  # nothing waits longer only to be seen typing
FIRST_WAIT, LONGEST_WAIT = 1.0, 60.0
LOOKED_AT = 50  # messages
CLOCKS_DIFFER = 60.0  # seconds
UNKNOWN_MESSAGE, UNKNOWN_WEBHOOK = 10008, 10015
TOO_MANY_WEBHOOKS = {30007, 30058}  # of a channel, of a guild
STYLES: dict[Decision, discord.ButtonStyle] = {
    "allow": discord.ButtonStyle.success,
    "always": discord.ButtonStyle.secondary,
    "refuse": discord.ButtonStyle.danger,
}
NOBODY = discord.AllowedMentions.none()

log = logging.getLogger(__name__)

T = TypeVar("T")
Known = Callable[[list[str]], Awaitable[Collection[str]]]


class Closed(Exception):
    """Nothing can be sent to a channel any more; the message says why."""


class Refused(Exception):
    """Discord does not take this one message."""


class Unanswered(Exception):
    """What became of a request is not known."""


class Line:
    """`known` tells which of some messages are accounted for already."""

    def __init__(self, client: discord.Client, session: aiohttp.ClientSession, id: str, known: Known) -> None:
        self._client = client
        self._session = session
        self._id = int(id)
        self._known = known
        self._turn = asyncio.Lock()
        self._webhook: discord.Webhook | None = None
        self._bare = False  # there can be no webhook here

    async def send(self, letter: Letter, *, doubtful: bool = False) -> str:
        """Send a letter, however long it takes, and return the id under which it arrived.

        It is `doubtful` where it may have been sent before.
        """
        async with self._turn:

            async def attempt(doubtful: bool) -> str:
                found = await self._found(letter) if doubtful else None
                return found or await self._send(letter)

            return await self._at_last(attempt, doubtful=doubtful)

    async def find(self, letter: Letter) -> str | None:
        """Look for a letter that may have been sent, and return the id under which it arrived."""
        async with self._turn:
            return await self._at_last(lambda _: self._found(letter))

    async def _at_last(self, attempt: Callable[[bool], Awaitable[T]], *, doubtful: bool = False) -> T:
        """Try until it is done, or cannot be done; an attempt is told whether an earlier one may have been heard."""
        wait = FIRST_WAIT
        while True:
            try:
                async with asyncio.timeout(SECONDS):
                    return await attempt(doubtful)
            except discord.NotFound as error:
                if error.code != UNKNOWN_WEBHOOK or self._webhook is None:
                    raise Closed("The channel is gone.") from error
                self._webhook = None  # somebody has deleted it, so there will be another one
                trouble: Exception = error
            except discord.Forbidden as error:
                raise Closed("Discord does not let Moot write here any more.") from error
            except discord.HTTPException as error:
                if error.status < 500 and error.status != 429:
                    raise Refused(f"Discord refuses a message: {error.text}") from error
                trouble = error
            except (Unanswered, OSError, aiohttp.ClientError, TimeoutError) as error:
                trouble = error
            log.warning(
                "sending to Discord is tried again",
                extra={"channel": self._id, "reason": type(trouble).__name__, "seconds": wait},
            )
            doubtful = True
            await asyncio.sleep(wait)
            wait = min(2 * wait, LONGEST_WAIT)

    async def unsay(self, messages: Collection[str]) -> None:
        """Take messages back; those that are gone already are."""
        async with self._turn:
            for message in messages:
                try:
                    async with asyncio.timeout(SECONDS):
                        await self._delete(int(message))
                except discord.NotFound:
                    continue
                except (Closed, discord.HTTPException, OSError, aiohttp.ClientError, TimeoutError) as error:
                    log.warning(
                        "a message stays that is void",
                        extra={"channel": self._id, "reason": type(error).__name__},
                    )

    async def settle(self, message: str, text: str) -> None:
        """Write what became of a question in its place, without the buttons, unless somebody has deleted it."""

        async def attempt(_: bool) -> None:
            question = (await self._channel()).get_partial_message(int(message))
            try:
                await question.edit(content=text, view=None, allowed_mentions=NOBODY)
            except discord.NotFound as error:
                if error.code != UNKNOWN_MESSAGE:
                    raise

        async with self._turn:
            await self._at_last(attempt)

    async def _delete(self, message: int) -> None:
        """Delete by the way by which it came, for which Discord asks for no further permission."""
        if (webhook := await self._found_webhook()) is not None:
            await webhook.delete_message(message)
        else:
            await (await self._channel()).get_partial_message(message).delete()

    async def type(self) -> None:
        """Show for some seconds that somebody is typing; it matters little whether that comes about."""
        try:
            async with asyncio.timeout(TYPING_SECONDS):
                await (await self._channel()).typing()
        except (Closed, discord.HTTPException, OSError, aiohttp.ClientError, TimeoutError) as error:
            log.debug("no typing is shown", extra={"reason": type(error).__name__})

    async def _channel(self) -> discord.TextChannel:
        """Find the channel; after a new session it may be unknown for a moment, and is asked for."""
        channel = self._client.get_channel(self._id) or await self._client.fetch_channel(self._id)
        if not isinstance(channel, discord.TextChannel):
            raise Closed("The channel is gone.")
        return channel

    async def _send(self, letter: Letter) -> str:
        channel = await self._channel()
        if letter.question is not None:  # under Moot's own name, as it is Moot who asks
            asked = await channel.send(
                letter.text, nonce=letter.nonce, allowed_mentions=NOBODY, view=_buttons(letter.question)
            )
            return str(asked.id)
        webhook = await self._found_webhook()
        if webhook is None:
            message: discord.Message = await channel.send(
                letter.under_own_name,
                nonce=letter.nonce,
                allowed_mentions=NOBODY,
                files=letter.files(),
            )
        else:
            message = await webhook.send(
                letter.text,
                username=letter.username,
                avatar_url=letter.speaker.avatar,
                wait=True,
                allowed_mentions=NOBODY,
                files=letter.files(),
            )
        return str(message.id)

    async def _found_webhook(self) -> discord.Webhook | None:
        """Find Moot's webhook of the channel, or make it; None where there can be none."""
        if self._webhook is None and not self._bare:
            channel = await self._channel()
            try:
                own = [one for one in await channel.webhooks() if one.token and one.user == self._client.user]
                made = own[0] if own else await channel.create_webhook(name=MOOT.name)
            except discord.HTTPException as error:
                if not isinstance(error, discord.Forbidden) and error.code not in TOO_MANY_WEBHOOKS:
                    raise
                self._bare = True
                log.warning(
                    "Moot can have no webhook in a channel, and speaks there under its own name",
                    extra={"channel": self._id, "reason": error.text},
                )
                return None
            self._webhook = discord.Webhook.partial(made.id, made.token or "", session=self._session)
        return self._webhook

    async def _found(self, letter: Letter) -> str | None:
        """Look for a letter that may have arrived: ours, the same, and accounted for by nothing else."""
        since = datetime.fromtimestamp(letter.since - CLOCKS_DIFFER, UTC)
        alike: list[str] = []
        channel = await self._channel()
        async for message in channel.history(limit=LOOKED_AT):
            if message.created_at < since:
                break
            by_webhook = message.webhook_id is not None and message.author.name == letter.username
            text = letter.text if by_webhook else letter.under_own_name
            ours = by_webhook or message.author == self._client.user
            files = [letter.picture.name] if letter.picture else []
            if ours and _same(message, text, files):
                alike.append(str(message.id))
        taken = await self._known(alike)
        return next((id for id in reversed(alike) if id not in taken), None)


def _same(message: discord.Message, text: str, files: list[str]) -> bool:
    attached = [one.filename for one in message.attachments]
    return " ".join(message.content.split()) == " ".join(text.split()) and attached == files


def _buttons(question: Question) -> discord.ui.View:
    """Lay out the buttons of a question. Nobody waits for them here: whoever presses one is heard by the bot."""
    view = discord.ui.View(timeout=None)
    for decision, label in LABELS.items():
        style = STYLES[decision]
        view.add_item(discord.ui.Button(label=label, style=style, custom_id=question.button(decision)))
    view.stop()
    return view


async def _no_guessing(
    request: aiohttp.ClientRequest, handler: aiohttp.ClientHandlerType
) -> aiohttp.ClientResponse:
    """Let what a webhook sent not be sent again before it was looked for, as discord.py would after such an answer."""
    response = await handler(request)
    if response.status >= 500 and request.method == "POST":
        response.release()
        raise Unanswered(f"Discord answered {response.status}.")
    return response


@asynccontextmanager
async def webhook_session() -> AsyncIterator[aiohttp.ClientSession]:
    """Open what webhooks are sent through."""
    limits = aiohttp.ClientTimeout(total=SECONDS)
    async with aiohttp.ClientSession(
        timeout=limits, cookie_jar=aiohttp.DummyCookieJar(), middlewares=(_no_guessing,)
    ) as session:
        yield session

"""A channel that is bound to a discussion: what people write there is said in it, and what is said in it is told there."""

import asyncio
import hashlib
import logging
import time
from collections import deque
from typing import NamedTuple

import discord
from msgspec.structs import replace

from moot.channels.discord.mentions import Member
from moot.channels.discord.naming import is_stop, named
from moot.channels.discord.premises import Premises
from moot.channels.discord.sending import NOBODY, Closed, Line
from moot.channels.discord.telling import Telling, reply_notice
from moot.context.files import LARGEST, recognised
from moot.engine.hall import Opening, Saying, Started
from moot.engine.patience import patiently
from moot.model.channels import Binding
from moot.model.discussions import Discussion, Run
from moot.model.errors import Conflict, Leaving, MootError, NotFound, UsageError
from moot.model.files import label
from moot.model.participants import Participant

MOST_INTERRUPTS = 3  # in a row
MOST_CHAINED = 3  # turns of personas that name each other
MOST_WAITING = 20  # messages
LOOK_SECONDS = 5.0  # news may be lost; nobody waits longer than this for what is there
ATTACHMENT_SECONDS = 60.0

log = logging.getLogger(__name__)


class Heard(NamedTuple):
    """What somebody wrote, and when it came."""

    message: discord.Message
    at: float


class Bound:
    """`line` leads to the channel, `thoughts` to the thought-log, if there is one."""

    def __init__(
        self,
        premises: Premises,
        channel: discord.TextChannel,
        binding: Binding,
        line: Line,
        thoughts: Line | None,
    ) -> None:
        self._premises = premises
        self._channel = channel
        self._line = line
        self._thoughts = thoughts
        self._waiting: deque[Heard] = deque()
        self._stirred = asyncio.Event()
        self._news = asyncio.Event()
        self._saying = (
            asyncio.Lock()
        )  # while something is being said, nobody looks which runs are from elsewhere
        self._telling: Telling | None = None
        self._interrupts = 0
        self.binding = binding

    def stir(self) -> None:
        """Hear that something may have changed in the discussion."""
        self._stirred.set()
        self._news.set()

    async def rebind(self, binding: Binding) -> None:
        self.binding = binding
        if self._telling is not None and self._telling.run.discussion != binding.discussion:
            self._telling.drop()
        self.stir()

    async def listen_for_ever(self) -> None:
        """Say what people write, when its turn has come."""
        await self._take_up()
        while True:
            while (message := await self._next()) is not None:
                await self._say(message)
            self._stirred.clear()
            await _woken(self._stirred)

    async def tell_for_ever(self) -> None:
        """Tell what is said in the discussion, run after run."""
        while True:
            self._news.clear()
            if self.binding.trouble is None:
                for run in await self._due():
                    await self._tell(run)
            await _woken(self._news)

    async def hear(self, message: discord.Message) -> None:
        """Take in what somebody wrote; a stop is heeded at once."""
        if self.binding.trouble is not None:  # whoever can write here can be answered here
            await self._premises.channels.note_trouble(self.binding.id, None)
            self.binding = replace(self.binding, trouble=None)
        live = await self.live()
        active = live is not None and await self._author_of(live) == str(message.author.id)
        if live is not None and active and is_stop(message.content):
            await self.stop()
        elif len(self._waiting) >= MOST_WAITING:
            await reply(message, f"{MOST_WAITING} messages wait already: write again when they are answered.")
        else:
            await self._premises.channels.hear(self.binding.id, str(message.id))
            in_tools = self._telling is not None and self._telling.in_tools
            heard = Heard(message, time.time())
            (self._waiting.appendleft if active and in_tools else self._waiting.append)(heard)
        self.stir()

    async def stop(self, participant: str | None = None) -> bool:
        """Stop what goes on, or one participant; tell whether anything did."""
        live = await self.live()
        if live is not None:
            await self._premises.runs.wish_stop(self.binding.tenant, live.id, participant)
        return live is not None

    async def live(self) -> Run | None:
        """Return the newest run that goes on in the discussion."""
        if self.binding.discussion is None:
            return None
        runs = await self._premises.discussions.live_runs(self.binding.tenant, self.binding.discussion)
        return runs[-1] if runs else None

    async def _author_of(self, run: Run) -> str | None:
        return (await self._premises.channels.told(self.binding.id, run.id)).author

    async def _take_up(self) -> None:
        """Say what was heard before the last end of this process, and not said."""
        for id in await patiently(lambda: self._premises.channels.unsaid(self.binding.id)):
            try:
                self._waiting.append(Heard(await self._channel.fetch_message(int(id)), 0.0))
            except discord.HTTPException:
                await self._premises.channels.forget(id)

    async def _next(self) -> discord.Message | None:
        """Choose what is said next. While the table speaks, only who asked may interrupt, and not again and again."""
        if not self._waiting:
            return None
        live = await self.live()
        if live is None:
            self._interrupts = 0
            return self._waiting.popleft().message
        if self._interrupts >= MOST_INTERRUPTS or (self._telling and self._telling.in_tools):
            return None
        author = await self._author_of(live)
        for heard in self._waiting:
            if heard.at > live.created_at and str(heard.message.author.id) == author:
                self._interrupts += 1
                self._waiting.remove(heard)
                return heard.message
        return None

    async def _say(self, message: discord.Message) -> None:
        channels, id = self._premises.channels, str(message.id)
        try:
            async with self._saying:
                if self._telling is not None and self._interrupts:
                    self._telling.drop()
                started = await self._said(message)
                await channels.said(self.binding.id, id, started.run.id, str(message.author.id))
        except Leaving:
            return  # the next server says it
        except Conflict:
            await channels.forget(id)  # it was said before the last end
        except MootError as error:
            await channels.forget(id)
            await reply(message, str(error))

    async def _said(self, message: discord.Message) -> Started:
        """Put a message into the discussion, which begins with it if there is none yet."""
        premises, binding = self._premises, self.binding
        discussion = await self._discussion()
        mode = discussion.mode if discussion else binding.mode
        participants = discussion.participants if discussion else binding.participants
        await premises.admit(premises.caller.account, mode)
        text = words_of(message)
        answering = addressed(message, participants) or None
        files = await self._files(message)
        key = f"discord/{message.id}"
        if discussion is not None:
            saying = Saying(discussion=discussion.id, message=text, answering=answering, files=files)
            return await premises.hall.say(premises.caller, saying, key)
        opening = Opening(
            message=text,
            participants=participants,
            mode=mode,
            rounds=binding.rounds,
            answering=answering,
            files=files,
        )
        started = await premises.hall.open(premises.caller, opening, key)
        self.binding = replace(binding, discussion=started.discussion.id)
        await premises.channels.bind(self.binding)
        return started

    async def _discussion(self) -> Discussion | None:
        """Return what is discussed here; None where nothing is yet, or where it was deleted."""
        if self.binding.discussion is None:
            return None
        try:
            return await self._premises.discussions.get(self.binding.tenant, self.binding.discussion)
        except NotFound:
            return None

    async def _files(self, message: discord.Message) -> tuple[str, ...]:
        """Keep what is attached to a message."""
        caller, kept = self._premises.caller, []
        for attachment in message.attachments:
            if attachment.size > LARGEST:
                raise UsageError(
                    f"{attachment.filename} is larger than {LARGEST // 2**20} MB: attach a smaller file."
                )
            try:
                async with asyncio.timeout(ATTACHMENT_SECONDS):
                    data = await attachment.read()
            except (discord.HTTPException, OSError, TimeoutError) as error:
                raise UsageError(f"{attachment.filename} could not be loaded: send it again.") from error
            kind = recognised(data, attachment.filename)
            digest = hashlib.sha256(data).hexdigest()
            name = label(attachment.filename)
            file = await self._premises.files.add(caller.tenant, caller.account, name, kind, digest, data)
            kept.append(file.id)
        return tuple(kept)

    async def _due(self) -> list[Run]:
        """List the runs of which there is more than was told, in their order."""
        async with self._saying:
            binding = self.binding
            if binding.discussion is None:
                return []
            told = await self._premises.channels.seqs(binding)
            standings = await self._premises.events.standings(binding.tenant, binding.discussion)
            due = [id for id, seq in told.items() if standings[id].live or standings[id].newest > seq]
            return [await self._premises.runs.get(binding.tenant, id) for id in due]

    async def _tell(self, run: Run) -> None:
        """Tell a run to its end. Where nothing can be sent any more, nothing is, until somebody writes there again."""
        telling = Telling(self._premises, self.binding, run, self._line, self._thoughts)
        self._telling = telling
        trouble = ""
        try:
            await telling.tell(self._members(), await self._notice(run))
        except* Closed as errors:
            trouble = str(errors.exceptions[0])
        finally:
            self._telling = None
        if trouble:
            await self.give_up(trouble)
        else:
            await self._chain(run)
        self._stirred.set()

    async def give_up(self, trouble: str) -> None:
        """Send nothing more here, and say why in the log and to whoever asks."""
        log.warning(
            "nothing more is sent to a channel of Discord", extra={"channel": self.binding.id, "why": trouble}
        )
        self.binding = replace(self.binding, trouble=trouble)
        await self._premises.channels.note_trouble(self.binding.id, trouble)

    async def _notice(self, run: Run) -> str | None:
        told = await self._premises.channels.told(self.binding.id, run.id)
        if told.message is None:
            return None
        partial = self._channel.get_partial_message(int(told.message))
        asked = await self._premises.discussions.of_run(run.id)
        words = next((one.content for one in asked if one.id == run.message), "")
        author, _, text = words.partition(": ")
        return reply_notice(author, text, partial.jump_url)

    async def _chain(self, run: Run) -> None:
        """Let a persona go on that was named by the one who spoke last, a few times, until a person writes."""
        premises, tenant = self._premises, self.binding.tenant
        runs = await premises.runs.of(tenant, run.discussion)
        if self._waiting or not runs or runs[-1].id != run.id or runs[-1].status != "completed":
            return
        chained = 0
        while chained < len(runs) and runs[-1 - chained].mode == "continue":
            chained += 1
        if chained >= MOST_CHAINED or chained == len(runs):
            return
        plan = await premises.runs.plan(runs[-1 - chained].id)
        said = [one for one in await premises.discussions.of_run(run.id) if one.participant and one.content]
        if plan.answering is None or not said:
            return
        others = [who for who in plan.participants if who.id != said[-1].participant]
        if called := named(said[-1].content, others):
            try:
                await premises.hall.go_on(
                    premises.caller, run.discussion, 1, f"discord/after/{run.id}", called[0]
                )
            except MootError as error:
                log.info("nobody goes on", extra={"channel": self.binding.id, "reason": str(error)})

    def _members(self) -> tuple[Member, ...]:
        return tuple(
            Member(str(one.id), tuple(dict.fromkeys((one.display_name, one.name))))
            for one in self._channel.guild.members
            if not one.bot
        )


def words_of(message: discord.Message) -> str:
    """Write down what somebody said, and who; mentions as names, and without that of Moot itself."""
    text = message.clean_content
    if message.guild is not None and message.guild.me is not None:
        text = text.replace(f"@{message.guild.me.display_name}", "")
    return f"{message.author.display_name}: {text.strip() or '(a file)'}"


def addressed(message: discord.Message, participants: tuple[Participant, ...]) -> tuple[str, ...]:
    """Find who is to answer: whose message is replied to, then whoever is named."""
    replied = message.reference.resolved if message.reference else None
    first = replied.author.name if isinstance(replied, discord.Message) and replied.webhook_id else ""
    return named(f"{first}\n{message.clean_content}", participants)


async def reply(message: discord.Message, text: str) -> None:
    """Tell somebody what became of a message; where that cannot be told, it is not."""
    try:
        await message.reply(text[:1900], allowed_mentions=NOBODY, mention_author=False)
    except (discord.HTTPException, OSError) as error:
        log.info("a reply is lost", extra={"reason": type(error).__name__})


async def _woken(event: asyncio.Event) -> None:
    try:
        async with asyncio.timeout(LOOK_SECONDS):
            await event.wait()
    except TimeoutError:
        return

"""A channel that is bound to a discussion: what people write there is said in it, and what is said in it is told there."""

import asyncio
import logging
import time
from collections import deque
from itertools import takewhile
from typing import NamedTuple

import discord
from msgspec.structs import replace

from moot.discord.addressing import go_on_with_who_was_named, is_stop
from moot.discord.approvals import Question
from moot.discord.dependencies import Premises
from moot.discord.format.mentions import Member
from moot.discord.incoming import addressed, files_of, is_empty, reply, words_of
from moot.discord.run_delivery import Telling, reply_notice
from moot.discord.sender import Closed, Line
from moot.engine.waits import patiently
from moot.services.discussions import Opening, Saying, Started
from moot.types.discord import Binding
from moot.types.discussions import Discussion, Run
from moot.types.errors import Conflict, Leaving, MootError, NotFound

MOST_INTERRUPTS = 3  # in a row
MOST_WAITING = 20  # messages
REST_KEPT = "Nothing more of it is told here; all of it is kept in Moot."
LOOK_SECONDS = 15.0  # news may be lost; nobody waits longer than this for what is there

log = logging.getLogger(__name__)


class Heard(NamedTuple):
    """What somebody wrote, and when it came; without that it interrupts nobody. What goes `first` waits for nobody else."""

    message: discord.Message
    at: float = 0.0
    first: bool = False


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
        self._hearing = asyncio.Lock()
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
        """Take in what somebody wrote, in the order in which it came; what says nothing is not heard."""
        if not is_empty(message):
            async with self._hearing:
                await self._hear(message)

    async def _hear(self, message: discord.Message) -> None:
        """Heed a stop at once, and let everything else wait for its turn."""
        if self.binding.trouble is not None:  # whoever can write here can be answered here
            await self._premises.channels.note_trouble(self.binding.id, None)
            self.binding = replace(self.binding, trouble=None)
        live = await self.live()
        speaking = live or (self._telling.run if self._telling and self._telling.is_behind else None)
        active = speaking is not None and await self._author_of(speaking) == str(message.author.id)
        if active and is_stop(message.content):
            await self.stop()
            if live is None:
                await reply(message, REST_KEPT)
        elif len(self._waiting) >= MOST_WAITING:
            await reply(message, f"{MOST_WAITING} messages wait already: write again when they are answered.")
        else:
            await self._premises.channels.hear(self.binding.id, str(message.id))
            if active and self._telling is not None and self._telling.in_tools:
                in_front = sum(heard.first for heard in self._waiting)
                self._waiting.insert(in_front, Heard(message, first=True))
            else:
                self._waiting.append(Heard(message, time.time()))
        self.stir()

    async def stop(self, participant: str | None = None) -> bool:
        """Stop what goes on, or one participant; tell whether anything did.

        What was said to its end and is still being told is told no further.
        """
        live, telling = await self.live(), self._telling
        if live is not None:
            await self._premises.runs.wish_stop(self.binding.tenant, live.id, participant)
        is_of_live = live is not None and telling is not None and telling.run.id == live.id
        if participant is not None or is_of_live or telling is None or not telling.is_behind:
            return live is not None
        telling.drop()
        return True

    async def live(self) -> Run | None:
        """Return the newest run that goes on in the discussion."""
        if self.binding.discussion is None:
            return None
        runs = await self._premises.discussions.live_runs(self.binding.tenant, self.binding.discussion)
        return runs[-1] if runs else None

    @property
    def questions(self) -> list[Question]:
        """List what somebody is asked here, and nobody has answered."""
        return self._telling.questions if self._telling else []

    async def _author_of(self, run: Run) -> str | None:
        """Return who asked for a run here; those who go on by themselves do so for whoever asked before."""
        asked = run
        if run.message is None:
            runs = await self._premises.runs.of(self.binding.tenant, run.discussion)
            before = [one for one in takewhile(lambda one: one.id != run.id, runs) if one.message is not None]
            asked = before[-1] if before else run
        return (await self._premises.channels.told(self.binding.id, asked.id)).author

    async def _take_up(self) -> None:
        """Say what was heard before the last end of this process, and not said."""
        for id in await patiently(lambda: self._premises.channels.unsaid(self.binding.id)):
            try:
                if id not in {str(heard.message.id) for heard in self._waiting}:
                    self._waiting.append(Heard(await self._channel.fetch_message(int(id))))
            except (
                discord.NotFound,
                discord.Forbidden,
            ):  # anything else passes, and the message is still there
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
                elif self._telling is not None:
                    self._telling.hurry()
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
        files = await files_of(premises, message)
        key = f"discord/{message.id}"
        if discussion is not None:
            saying = Saying(
                discussion=discussion.id,
                message=text,
                answering=answering,
                files=files,
                channel=binding.id,
                author=message.author.display_name,
            )
            return await premises.hall.say(premises.caller, saying, key)
        opening = Opening(
            message=text,
            participants=participants,
            mode=mode,
            rounds=binding.rounds,
            answering=answering,
            files=files,
            channel=binding.id,
            author=message.author.display_name,
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
        elif not telling.dropped:
            await self._pass_on(run)
        self._stirred.set()

    async def _pass_on(self, run: Run) -> None:
        """Let whoever was named go on, unless a person wants to say something."""
        if not self._waiting and not self._saying.locked():
            await go_on_with_who_was_named(self._premises, run)

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

    def _members(self) -> tuple[Member, ...]:
        return tuple(
            Member(str(one.id), tuple(dict.fromkeys((one.display_name, one.name))))
            for one in self._channel.guild.members
            if not one.bot
        )


async def _woken(event: asyncio.Event) -> None:
    try:
        async with asyncio.timeout(LOOK_SECONDS):
            await event.wait()
    except TimeoutError:
        return

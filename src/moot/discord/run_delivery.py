"""Telling a channel what is said in a run: as it is said, in order, and after a crash only what is missing."""

import asyncio
import logging
import random
from collections import deque
from contextlib import aclosing, suppress

from moot.discord.approvals import Question
from moot.discord.dependencies import Premises
from moot.discord.format import table_images
from moot.discord.format.mentions import Member
from moot.discord.format.messages import messages_of, small
from moot.discord.posts import Drop, Letter, Picture, Post, Settle, Speaker, Unsay
from moot.discord.run_presenter import Recital
from moot.discord.sender import Closed, Line, Refused
from moot.engine.events.hub import event_of
from moot.types.discord import Binding, Told
from moot.types.discussions import Run
from moot.types.errors import MootError
from moot.types.events import RunEnded

TYPING_SECONDS = 8.0  # Discord shows it for 10
MOST_WAITING = 500  # steps; a reader that is further ahead waits
PREVIEW = 80
UNSAID, SETTLED = "unsaid", "settled"  # stand for the message, where one was taken back, or written anew

log = logging.getLogger(__name__)


class Telling:
    """One run and the channel it is told in. `thoughts` is the line to the thought-log, if there is one."""

    def __init__(
        self, premises: Premises, binding: Binding, run: Run, line: Line, thoughts: Line | None
    ) -> None:
        self._premises = premises
        self._binding = binding
        self.run = run
        self._line = line
        self._thoughts = thoughts
        self._steps: deque[Post | Unsay | Settle] = deque()
        self._hesitating = False
        self._news = asyncio.Event()
        self._room = asyncio.Event()
        self._recital: Recital | None = None
        self._void: set[int] = set()
        self._seq = 0
        self._hurry = asyncio.Event()
        self._over = False
        self._clock = asyncio.get_running_loop().time
        self._type_at = 0.0
        self.dropped = False
        self.told = Told()

    @property
    def in_tools(self) -> bool:
        return self._recital is not None and self._recital.in_tools

    @property
    def is_behind(self) -> bool:
        """Tell whether something was said that is not yet on its way."""
        posts = (one for one in self._steps if isinstance(one, Post) and not one.thought)
        return self._hesitating or any(not self.told.posts.get(one.place) for one in posts)

    @property
    def questions(self) -> list[Question]:
        """List the questions that can be seen in the channel, and are open."""
        asked = self._recital.questions if self._recital else ()
        return [Question(self.run.id, one.call) for one in asked if self.told.posts.get(one.place)]

    def drop(self) -> None:
        """Send nothing more of this run: somebody wants no more of it, or something new. No question stays open for that."""
        self.dropped = True
        self.hurry()
        self._steps = deque(one for one in self._steps if isinstance(one, Settle))
        self._news.set()
        self._room.set()

    def hurry(self) -> None:
        """Tell what is left without pauses: somebody has heard enough, or waits for something new."""
        self._hurry.set()

    async def tell(self, members: tuple[Member, ...], asked: str | None) -> None:
        """Tell all of a run, to its end; `asked` is the notice that comes before the first answer."""
        channels = self._premises.channels
        self.told = await channels.told(self._binding.id, self.run.id)
        self._recital = Recital(
            degree=self._premises.degree,
            guard=self._premises.guard,
            members=members,
            opening=await self._opening(),
            notice=asked or "",
            chance=random.random,
        )
        async with asyncio.TaskGroup() as group:
            group.create_task(self._hear(self._recital))
            group.create_task(self._speak(self._recital))
        await channels.tell(self._binding.id, self.run.id, self._seq)

    async def _opening(self) -> tuple[Speaker, list[str]] | None:
        """Find what was said elsewhere, which the channel has not seen."""
        if self.told.message is not None or self.run.message is None:
            return None
        message = await self._premises.discussions.message(self.run.discussion, self.run.message)
        ids = message.files or ()
        files = await self._premises.files.several(self._binding.tenant, ids)
        names = ", ".join(files[id].name for id in ids if id in files)
        attached = [small(f"Attached there: {names}")] if names else []
        return Speaker(self._premises.caller.name), [*messages_of(message.content), *attached]

    async def _hear(self, recital: Recital) -> None:
        """Read the log to the end of the run, and make steps of it."""
        premises = self._premises
        standing = await premises.events.standing(self._binding.tenant, self.run.id)
        try:
            async with aclosing(premises.feeds.follow(self.run.id, 0, standing)) as frames:
                async for some in frames:
                    for frame in some:
                        await self._take(recital, frame)
        finally:
            self._over = True
            self._news.set()

    async def _take(self, recital: Recital, frame: bytes) -> None:
        event = event_of(frame)
        self._seq = event.seq
        if isinstance(event, RunEnded) and event.status == "stopped":
            self.hurry()
        for step in recital.hear(event):
            if isinstance(step, Drop):
                self._forget(step)
            elif not self.dropped or isinstance(step, Settle):
                await self._keep(step)
        self._news.set()

    async def _keep(self, step: Post | Unsay | Settle) -> None:
        while len(self._steps) >= MOST_WAITING and not self.dropped:
            self._room.clear()
            await self._room.wait()
        if isinstance(step, Unsay):
            self._void.update(step.places)
        self._steps.append(step)

    def _forget(self, drop: Drop) -> None:
        """Drop what was not yet delivered of a turn that was cut off."""
        kept = [
            one
            for one in self._steps
            if not isinstance(one, Post) or (drop.seat is not None and one.seat not in (drop.seat, None))
        ]
        self._steps = deque(kept)

    async def _speak(self, recital: Recital) -> None:
        """Take step after step; where there is none, show that somebody is about to speak."""
        while True:
            while self._steps:
                step = self._steps.popleft()
                self._room.set()
                await self._do_if_possible(step)
            if self._over:
                return
            if recital.speaking and self._clock() >= self._type_at:
                self._type_at = self._clock() + TYPING_SECONDS
                await self._line.type()
            self._news.clear()
            if not self._steps and not self._over:
                try:
                    async with asyncio.timeout(TYPING_SECONDS):
                        await self._news.wait()
                except TimeoutError:
                    continue

    async def _do_if_possible(self, step: Post | Unsay | Settle) -> None:
        """Take a step. A thought-log that is closed ends itself alone, and not what is told here."""
        try:
            await self._do(step)
        except Closed as error:
            if not (isinstance(step, Post) and step.thought):
                raise
            log.warning("thoughts are not told: the thought-log is closed", extra={"why": str(error)})
            self._thoughts = None

    async def _do(self, step: Post | Unsay | Settle) -> None:
        match step:
            case _ if self.told.posts.get(step.place):
                pass  # it is done
            case Post() if self._is_due(step):
                await self._post(step)
            case Post() if step.place in self.told.posts and not self.dropped:
                await self._trace(step)
            case Unsay():
                said = [id for place in step.places if (id := self.told.posts.get(place))]
                await self._line.unsay(said)
                await self._premises.channels.post(self._binding.id, self.run.id, step.place, UNSAID)
            case Settle():
                await self._settle(step)
            case _:
                pass

    async def _post(self, post: Post) -> None:
        line = self._thoughts if post.thought else self._line
        if line is None:
            return
        self._hesitating = True
        try:
            await self._hesitate(line, post)
        finally:
            self._hesitating = False
        if not self._is_due(post):  # it was dropped meanwhile
            return
        doubtful = post.place in self.told.posts
        channels, id, run = self._premises.channels, self._binding.id, self.run.id
        await channels.post(id, run, post.place)
        try:
            message = await line.send(await self._letter(post), doubtful=doubtful)
        except Refused as error:
            log.warning("a message is left out", extra={"channel": id, "run": run, "reason": str(error)})
            return
        self.told.posts[post.place] = message
        await channels.post(id, run, post.place, message)

    async def _settle(self, step: Settle) -> None:
        channels, id, run = self._premises.channels, self._binding.id, self.run.id
        message = self.told.posts.get(step.question)
        if message is None:  # it was never seen
            return
        try:
            await self._line.settle(message, step.text)
        except Refused as error:
            log.warning("a question stays that is void", extra={"channel": id, "reason": str(error)})
            return
        await channels.post(id, run, step.place, SETTLED)

    async def _trace(self, post: Post) -> None:
        """Find out what became of something that is void, and was on its way when the process ended."""
        line = self._thoughts if post.thought else self._line
        if line is not None and (message := await line.find(await self._letter(post))):
            self.told.posts[post.place] = message

    def _is_due(self, post: Post) -> bool:
        return post.place not in self._void and not self.dropped

    async def _hesitate(self, line: Line, post: Post) -> None:
        """Pause and type as somebody would who writes this, unless there is a hurry."""
        if post.pause:
            await self._wait(post.pause)
        if post.typing and not self._hurry.is_set():
            await line.type()
            await self._wait(post.typing)

    async def _wait(self, seconds: float) -> None:
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._hurry.wait()

    async def _letter(self, post: Post) -> Letter:
        picture = await self._picture(post)
        text = post.text
        if post.kind == "board":
            text = "" if picture else small("The whiteboard could not be painted; it is on the page.")
        elif picture is not None:
            text = ""
        elif post.kind == "table":
            text = f"```\n{post.text.strip('`')}\n```"
        return Letter(
            key=f"{self._binding.id}/{self.run.id}/{post.place}",
            text=text,
            speaker=post.speaker,
            picture=picture,
            question=Question(self.run.id, post.call) if post.call else None,
            since=self.run.created_at,
        )

    async def _picture(self, post: Post) -> Picture | None:
        """Paint what Discord cannot show; what cannot be painted either is told in words."""
        premises = self._premises
        try:
            if post.kind == "board":
                board = await premises.boards.at(self._binding.tenant, self.run.discussion, self.run.id)
                return Picture("whiteboard.png", await premises.painter.png(board))
            if post.kind == "table" and (read := table_images.rows(post.text)):
                drawn = table_images.board_of(read)
                height = table_images.height_of(read)
                return Picture("table.png", await premises.painter.png(drawn, height)) if drawn else None
        except MootError as error:
            log.warning("a picture is left out", extra={"run": self.run.id, "reason": str(error)})
        return None


def reply_notice(author: str, text: str, link: str) -> str:
    """Say which message is answered, since what comes by a webhook cannot be a reply."""
    line = " ".join(text.replace("```", "").split())
    shown = line if len(line) <= PREVIEW else f"{line[:PREVIEW].rstrip()}…"
    return small(f"Replying to {author}: {shown} ({link})")

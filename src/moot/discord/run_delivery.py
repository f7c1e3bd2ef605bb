"""Telling a channel what is said in a run: as it is said, in order, and after a crash only what is missing."""

import asyncio
import logging
import random
from collections import deque
from contextlib import aclosing, suppress

from moot.discord.approvals import ApprovalKey
from moot.discord.dependencies import DiscordDeps
from moot.discord.format import table_images
from moot.discord.format.mentions import ChannelMember
from moot.discord.format.messages import small_print, split_into_messages
from moot.discord.posts import (
    DropPending,
    ImageAttachment,
    MessageAuthor,
    MessagePayload,
    PlannedMessage,
    ResolvePrompt,
    Retract,
)
from moot.discord.run_presenter import RunPresenter
from moot.discord.sender import ChannelClosed, ChannelSender, MessageRejected
from moot.engine.events.hub import decode_frame
from moot.types.discord import ChannelBinding, DeliveryProgress
from moot.types.discussions import Run
from moot.types.errors import MootError
from moot.types.events import RunEnded

TYPING_SECONDS = 8.0  # Discord shows it for 10
MAX_PENDING_STEPS = 500  # steps; a reader that is further ahead waits
PREVIEW_CHARS = 80
RETRACTED, RESOLVED = "unsaid", "settled"  # stand for the message, where one was taken back, or written anew

log = logging.getLogger(__name__)


class RunDelivery:
    """One run and the channel it is told in. `thoughts` is the line to the thought-log, if there is one."""

    def __init__(
        self,
        deps: DiscordDeps,
        binding: ChannelBinding,
        run: Run,
        sender: ChannelSender,
        reasoning_sender: ChannelSender | None,
    ) -> None:
        self._deps = deps
        self._binding = binding
        self.run = run
        self._sender = sender
        self._reasoning_sender = reasoning_sender
        self._steps: deque[PlannedMessage | Retract | ResolvePrompt] = deque()
        self._is_pausing = False
        self._steps_changed = asyncio.Event()
        self._space_available = asyncio.Event()
        self._presenter: RunPresenter | None = None
        self._retracted_positions: set[int] = set()
        self._last_seq = 0
        self._pauses_skipped = asyncio.Event()
        self._events_ended = False
        self._clock = asyncio.get_running_loop().time
        self._next_typing_at = 0.0
        self.is_cancelled = False
        self.progress = DeliveryProgress()

    @property
    def is_calling_tools(self) -> bool:
        return self._presenter is not None and self._presenter.is_calling_tools

    @property
    def is_behind(self) -> bool:
        """Tell whether something was said that is not yet on its way."""
        posts = (one for one in self._steps if isinstance(one, PlannedMessage) and not one.is_reasoning)
        return self._is_pausing or any(not self.progress.posts.get(one.position) for one in posts)

    @property
    def open_approvals(self) -> list[ApprovalKey]:
        """List the questions that can be seen in the channel, and are open."""
        asked = self._presenter.open_approvals if self._presenter else ()
        return [
            ApprovalKey(self.run.id, one.call_id) for one in asked if self.progress.posts.get(one.position)
        ]

    def cancel_delivery(self) -> None:
        """Send nothing more of this run: somebody wants no more of it, or something new. No question stays open for that."""
        self.is_cancelled = True
        self.skip_pauses()
        self._steps = deque(one for one in self._steps if isinstance(one, ResolvePrompt))
        self._steps_changed.set()
        self._space_available.set()

    def skip_pauses(self) -> None:
        """Tell what is left without pauses: somebody has heard enough, or waits for something new."""
        self._pauses_skipped.set()

    async def deliver(self, members: tuple[ChannelMember, ...], notice: str | None) -> None:
        """Tell all of a run, to its end; `asked` is the notice that comes before the first answer."""
        channels = self._deps.channels
        self.progress = await channels.delivery_progress(self._binding.id, self.run.id)
        self._presenter = RunPresenter(
            delivery_style=self._deps.delivery_style,
            block_impersonation=self._deps.block_impersonation,
            members=members,
            opening=await self._load_opening(),
            notice=notice or "",
            random_source=random.random,
        )
        async with asyncio.TaskGroup() as group:
            group.create_task(self._read_events(self._presenter))
            group.create_task(self._execute_steps(self._presenter))
        await channels.save_delivery_cursor(self._binding.id, self.run.id, self._last_seq)

    async def _load_opening(self) -> tuple[MessageAuthor, list[str]] | None:
        """Find what was said elsewhere, which the channel has not seen."""
        if self.progress.message is not None or self.run.message is None:
            return None
        message = await self._deps.discussions.get_message(self.run.discussion, self.run.message)
        ids = message.files or ()
        files = await self._deps.files.find_files(self._binding.tenant, ids)
        names = ", ".join(files[id].name for id in ids if id in files)
        attached = [small_print(f"Attached there: {names}")] if names else []
        return MessageAuthor(self._deps.caller.name), [*split_into_messages(message.content), *attached]

    async def _read_events(self, presenter: RunPresenter) -> None:
        """Read the log to the end of the run, and make steps of it."""
        premises = self._deps
        standing = await premises.events.run_progress(self._binding.tenant, self.run.id)
        try:
            async with aclosing(premises.event_hub.subscribe(self.run.id, 0, standing)) as frames:
                async for some in frames:
                    for frame in some:
                        await self._process_frame(presenter, frame)
        finally:
            self._events_ended = True
            self._steps_changed.set()

    async def _process_frame(self, presenter: RunPresenter, frame: bytes) -> None:
        event = decode_frame(frame)
        self._last_seq = event.seq
        if isinstance(event, RunEnded) and event.status == "stopped":
            self.skip_pauses()
        for step in presenter.present_event(event):
            if isinstance(step, DropPending):
                self._drop_pending_steps(step)
            elif not self.is_cancelled or isinstance(step, ResolvePrompt):
                await self._enqueue_step(step)
        self._steps_changed.set()

    async def _enqueue_step(self, step: PlannedMessage | Retract | ResolvePrompt) -> None:
        while len(self._steps) >= MAX_PENDING_STEPS and not self.is_cancelled:
            self._space_available.clear()
            await self._space_available.wait()
        if isinstance(step, Retract):
            self._retracted_positions.update(step.retracted_positions)
        self._steps.append(step)

    def _drop_pending_steps(self, drop: DropPending) -> None:
        """Drop what was not yet delivered of a turn that was cut off."""
        kept = [
            one
            for one in self._steps
            if not isinstance(one, PlannedMessage)
            or (drop.turn_key is not None and one.turn_key not in (drop.turn_key, None))
        ]
        self._steps = deque(kept)

    async def _execute_steps(self, presenter: RunPresenter) -> None:
        """Take step after step; where there is none, show that somebody is about to speak."""
        while True:
            while self._steps:
                step = self._steps.popleft()
                self._space_available.set()
                await self._try_step(step)
            if self._events_ended:
                return
            if presenter.is_speaking and self._clock() >= self._next_typing_at:
                self._next_typing_at = self._clock() + TYPING_SECONDS
                await self._sender.show_typing()
            self._steps_changed.clear()
            if not self._steps and not self._events_ended:
                try:
                    async with asyncio.timeout(TYPING_SECONDS):
                        await self._steps_changed.wait()
                except TimeoutError:
                    continue

    async def _try_step(self, step: PlannedMessage | Retract | ResolvePrompt) -> None:
        """Take a step. A thought-log that is closed ends itself alone, and not what is told here."""
        try:
            await self._execute_step(step)
        except ChannelClosed as error:
            if not (isinstance(step, PlannedMessage) and step.is_reasoning):
                raise
            log.warning("thoughts are not told: the thought-log is closed", extra={"why": str(error)})
            self._reasoning_sender = None

    async def _execute_step(self, step: PlannedMessage | Retract | ResolvePrompt) -> None:
        match step:
            case _ if self.progress.posts.get(step.position):
                pass  # it is done
            case PlannedMessage() if self._is_due(step):
                await self._send_message(step)
            case PlannedMessage() if step.position in self.progress.posts and not self.is_cancelled:
                await self._find_sent_message(step)
            case Retract():
                said = [id for place in step.retracted_positions if (id := self.progress.posts.get(place))]
                await self._sender.delete_messages(said)
                await self._deps.channels.record_post(self._binding.id, self.run.id, step.position, RETRACTED)
            case ResolvePrompt():
                await self._resolve_prompt(step)
            case _:
                pass

    async def _send_message(self, post: PlannedMessage) -> None:
        line = self._reasoning_sender if post.is_reasoning else self._sender
        if line is None:
            return
        self._is_pausing = True
        try:
            await self._pause_before_sending(line, post)
        finally:
            self._is_pausing = False
        if not self._is_due(post):  # it was dropped meanwhile
            return
        doubtful = post.position in self.progress.posts
        channels, id, run = self._deps.channels, self._binding.id, self.run.id
        await channels.record_post(id, run, post.position)
        try:
            message = await line.send_payload(await self._build_payload(post), maybe_sent=doubtful)
        except MessageRejected as error:
            log.warning("a message is left out", extra={"channel": id, "run": run, "reason": str(error)})
            return
        self.progress.posts[post.position] = message
        await channels.record_post(id, run, post.position, message)

    async def _resolve_prompt(self, step: ResolvePrompt) -> None:
        channels, id, run = self._deps.channels, self._binding.id, self.run.id
        message = self.progress.posts.get(step.prompt_position)
        if message is None:  # it was never seen
            return
        try:
            await self._sender.resolve_prompt(message, step.text)
        except MessageRejected as error:
            log.warning("a question stays that is void", extra={"channel": id, "reason": str(error)})
            return
        await channels.record_post(id, run, step.position, RESOLVED)

    async def _find_sent_message(self, post: PlannedMessage) -> None:
        """Find out what became of something that is void, and was on its way when the process ended."""
        line = self._reasoning_sender if post.is_reasoning else self._sender
        if line is not None and (message := await line.find_sent(await self._build_payload(post))):
            self.progress.posts[post.position] = message

    def _is_due(self, post: PlannedMessage) -> bool:
        return post.position not in self._retracted_positions and not self.is_cancelled

    async def _pause_before_sending(self, sender: ChannelSender, post: PlannedMessage) -> None:
        """Pause and type as somebody would who writes this, unless there is a hurry."""
        if post.pause_seconds:
            await self._sleep_unless_skipped(post.pause_seconds)
        if post.typing_seconds and not self._pauses_skipped.is_set():
            await sender.show_typing()
            await self._sleep_unless_skipped(post.typing_seconds)

    async def _sleep_unless_skipped(self, seconds: float) -> None:
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._pauses_skipped.wait()

    async def _build_payload(self, post: PlannedMessage) -> MessagePayload:
        picture = await self._render_image(post)
        text = post.text
        if post.kind == "board":
            text = "" if picture else small_print("The whiteboard could not be painted; it is on the page.")
        elif picture is not None:
            text = ""
        elif post.kind == "table":
            text = f"```\n{post.text.strip('`')}\n```"
        return MessagePayload(
            key=f"{self._binding.id}/{self.run.id}/{post.position}",
            text=text,
            author=post.author,
            image=picture,
            approval=ApprovalKey(self.run.id, post.call_id) if post.call_id else None,
            earliest_arrival=self.run.created_at,
        )

    async def _render_image(self, post: PlannedMessage) -> ImageAttachment | None:
        """Paint what Discord cannot show; what cannot be painted either is told in words."""
        premises = self._deps
        try:
            if post.kind == "board":
                board = await premises.whiteboards.whiteboard_at(
                    self._binding.tenant, self.run.discussion, self.run.id
                )
                return ImageAttachment("whiteboard.png", await premises.image_renderer.render_png(board))
            if post.kind == "table" and (read := table_images.parse_table_rows(post.text)):
                drawn = table_images.build_table_board(read)
                height = table_images.table_image_height(read)
                return (
                    ImageAttachment("table.png", await premises.image_renderer.render_png(drawn, height))
                    if drawn
                    else None
                )
        except MootError as error:
            log.warning("a picture is left out", extra={"run": self.run.id, "reason": str(error)})
        return None


def format_reply_notice(author: str, text: str, link: str) -> str:
    """Say which message is answered, since what comes by a webhook cannot be a reply."""
    line = " ".join(text.replace("```", "").split())
    shown = line if len(line) <= PREVIEW_CHARS else f"{line[:PREVIEW_CHARS].rstrip()}…"
    return small_print(f"Replying to {author}: {shown} ({link})")

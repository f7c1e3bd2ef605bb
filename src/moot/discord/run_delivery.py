"""Delivery of one run to a Discord channel: in order, while it streams, resumable after a crash.

Each position is recorded before the request and again with the message id after it.
A position recorded without an id is thus in doubt: the sender searches for the message before it retries.
"""

import asyncio
import logging
import random
from collections import deque
from contextlib import aclosing, suppress

from moot.discord.approvals import ApprovalKey
from moot.discord.dependencies import DiscordDeps
from moot.discord.format.mentions import ChannelMember
from moot.discord.format.messages import MessageAuthor, PlannedMessage, small_print, split_into_messages
from moot.discord.posts import DropPending, ImageAttachment, MessagePayload, ResolvePrompt, Retract, build_table_board
from moot.discord.run_presenter import RunPresenter
from moot.discord.sender import ChannelClosed, ChannelSender, MessageRejected
from moot.engine.events.hub import decode_frame
from moot.types.discord import ChannelBinding, DeliveryProgress
from moot.types.discussions import Run
from moot.types.errors import MootError
from moot.types.events import RunEnded

TYPING_SECONDS = 8.0  # Discord shows the indicator for 10
MAX_PENDING_STEPS = 500  # the event reader waits while the queue is full
PREVIEW_CHARS = 80
RETRACTED, RESOLVED = "unsaid", "settled"  # stored in place of a message id for steps that send none

log = logging.getLogger(__name__)


class RunDelivery:
    """Reads the events of one run and executes its delivery steps, as two concurrent tasks.

    `reasoning_sender`: sends reasoning to its own channel; None drops reasoning.
    """

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
        """True if messages are queued whose request has not started. Reasoning does not count."""
        messages = (one for one in self._steps if isinstance(one, PlannedMessage) and not one.is_reasoning)
        return self._is_pausing or any(not self.progress.posts.get(one.position) for one in messages)

    @property
    def open_approvals(self) -> list[ApprovalKey]:
        """Unanswered approval prompts that are already posted."""
        approvals = self._presenter.open_approvals if self._presenter else ()
        return [ApprovalKey(self.run.id, one.call_id) for one in approvals if self.progress.posts.get(one.position)]

    def cancel_delivery(self) -> None:
        """Send no further messages of this run. Approval prompts are still resolved, so none stays open."""
        self.is_cancelled = True
        self.skip_pauses()
        self._steps = deque(one for one in self._steps if isinstance(one, ResolvePrompt))
        self._steps_changed.set()
        self._space_available.set()

    def skip_pauses(self) -> None:
        """Send the rest without pauses."""
        self._pauses_skipped.set()

    async def deliver(self, members: tuple[ChannelMember, ...], notice: str | None) -> None:
        """Deliver the run to its end, then save the delivery cursor.

        `notice`: reply notice that precedes the first answer.
        Raises ChannelClosed in an exception group.
        """
        channels = self._deps.stores.channels
        self.progress = await channels.delivery_progress(self._binding.id, self.run.id)
        self._presenter = RunPresenter(
            delivery_style=self._deps.settings.delivery,
            block_impersonation=self._deps.settings.block_impersonation,
            members=members,
            opening=await self._load_opening(),
            notice=notice or "",
            random_source=random.random,
        )
        async with asyncio.TaskGroup() as group:
            group.create_task(self._read_events(self._presenter))
            group.create_task(self._execute_steps(self._presenter))
        await channels.save_delivery_cursor(self._binding.id, self.run.id, self._last_seq)

    async def _load_opening(self) -> list[PlannedMessage]:
        """Return the user message if it was sent outside Discord, with the names of its files."""
        if self.progress.message is not None or self.run.message is None:
            return []
        message = await self._deps.stores.discussions.get_message(self.run.discussion, self.run.message)
        ids = message.files or ()
        files = await self._deps.stores.files.find_files(self._binding.tenant, ids)
        names = ", ".join(files[id].name for id in ids if id in files)
        attached = [small_print(f"Attachments: {names}")] if names else []
        author = MessageAuthor(self._deps.caller.name)
        return [PlannedMessage(text, author=author) for text in [*split_into_messages(message.content), *attached]]

    async def _read_events(self, presenter: RunPresenter) -> None:
        deps = self._deps
        progress = await deps.stores.events.run_progress(self._binding.tenant, self.run.id)
        try:
            async with aclosing(deps.event_hub.subscribe(self.run.id, 0, progress)) as frames:
                async for batch in frames:
                    for frame in batch:
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
        """Drop the queued messages of an interrupted turn or run. Retractions and prompt updates stay queued."""
        kept = [
            one
            for one in self._steps
            if not isinstance(one, PlannedMessage)
            or (drop.turn_key is not None and one.turn_key not in (drop.turn_key, None))
        ]
        self._steps = deque(kept)

    async def _execute_steps(self, presenter: RunPresenter) -> None:
        """Execute queued steps until the events end. While the queue is empty, refresh the typing indicator."""
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
                await wait_for_event(self._steps_changed, TYPING_SECONDS)

    async def _try_step(self, step: PlannedMessage | Retract | ResolvePrompt) -> None:
        """Execute a step. A closed reasoning channel disables only the reasoning, not the delivery."""
        try:
            await self._execute_step(step)
        except ChannelClosed as error:
            if not (isinstance(step, PlannedMessage) and step.is_reasoning):
                raise
            log.warning("reasoning channel closed; reasoning is dropped", extra={"reason": str(error)})
            self._reasoning_sender = None

    async def _execute_step(self, step: PlannedMessage | Retract | ResolvePrompt) -> None:
        match step:
            case _ if self.progress.posts.get(step.position):
                pass  # already executed before a restart
            case PlannedMessage() if self._is_due(step):
                await self._send_message(step)
            case PlannedMessage() if step.position in self.progress.posts and not self.is_cancelled:
                await self._find_sent_message(step)
            case Retract():
                messages = [id for position in step.retracted_positions if (id := self.progress.posts.get(position))]
                await self._sender.delete_messages(messages)
                await self._deps.stores.channels.record_post(self._binding.id, self.run.id, step.position, RETRACTED)
            case ResolvePrompt():
                await self._resolve_prompt(step)
            case _:
                pass

    async def _send_message(self, post: PlannedMessage) -> None:
        sender = self._reasoning_sender if post.is_reasoning else self._sender
        if sender is None:
            return
        self._is_pausing = True
        try:
            await self._pause_before_sending(sender, post)
        finally:
            self._is_pausing = False
        if not self._is_due(post):  # retracted or cancelled during the pause
            return
        maybe_sent = post.position in self.progress.posts
        channels, id, run = self._deps.stores.channels, self._binding.id, self.run.id
        await channels.record_post(id, run, post.position)
        try:
            message = await sender.send_payload(await self._build_payload(post), maybe_sent=maybe_sent)
        except MessageRejected as error:
            log.warning(
                "discord rejected a message; skipping it", extra={"channel": id, "run": run, "reason": str(error)}
            )
            return
        self.progress.posts[post.position] = message
        await channels.record_post(id, run, post.position, message)

    async def _resolve_prompt(self, step: ResolvePrompt) -> None:
        channels, id, run = self._deps.stores.channels, self._binding.id, self.run.id
        message = self.progress.posts.get(step.prompt_position)
        if message is None:  # the prompt was never posted
            return
        try:
            await self._sender.resolve_prompt(message, step.text)
        except MessageRejected as error:
            log.warning("could not update a closed approval prompt", extra={"channel": id, "reason": str(error)})
            return
        await channels.record_post(id, run, step.position, RESOLVED)

    async def _find_sent_message(self, post: PlannedMessage) -> None:
        # The process died during the request of a message that is now retracted. If the message was posted, its id
        # is needed to delete it.
        sender = self._reasoning_sender if post.is_reasoning else self._sender
        if sender is not None and (message := await sender.find_sent(await self._build_payload(post))):
            self.progress.posts[post.position] = message

    def _is_due(self, post: PlannedMessage) -> bool:
        return post.position not in self._retracted_positions and not self.is_cancelled

    async def _pause_before_sending(self, sender: ChannelSender, post: PlannedMessage) -> None:
        """Pause and show the typing indicator, as the delivery style asks, unless pauses are skipped."""
        if post.pause_seconds:
            await wait_for_event(self._pauses_skipped, post.pause_seconds)
        if post.typing_seconds and not self._pauses_skipped.is_set():
            await sender.show_typing()
            await wait_for_event(self._pauses_skipped, post.typing_seconds)

    async def _build_payload(self, post: PlannedMessage) -> MessagePayload:
        image = await self._render_image(post)
        text = post.text
        if post.kind == "board":
            text = "" if image else small_print("The whiteboard could not be rendered. See it on the page.")
        elif image is not None:
            text = ""
        elif post.kind == "table":
            text = f"```\n{post.text.strip('`')}\n```"
        return MessagePayload(
            key=f"{self._binding.id}/{self.run.id}/{post.position}",
            text=text,
            author=post.author,
            image=image,
            approval=ApprovalKey(self.run.id, post.call_id) if post.call_id else None,
            earliest_arrival=self.run.created_at,
        )

    async def _render_image(self, post: PlannedMessage) -> ImageAttachment | None:
        """Render a whiteboard or table as an image. Returns None for other kinds and on failure."""
        deps = self._deps
        try:
            if post.kind == "board":
                board = await deps.whiteboards.whiteboard_at(self._binding.tenant, self.run.discussion, self.run.id)
                return ImageAttachment("whiteboard.png", await deps.image_renderer.render_png(board))
            if post.kind == "table" and (table := build_table_board(post.text)):
                return ImageAttachment("table.png", await deps.image_renderer.render_png(*table))
        except MootError as error:
            log.warning("image rendering failed; sending text", extra={"run": self.run.id, "reason": str(error)})
        return None


def format_reply_notice(author: str, text: str, link: str) -> str:
    """Build a line that links to the answered message, because webhook messages cannot be replies."""
    line = " ".join(text.replace("```", "").split())
    preview = line if len(line) <= PREVIEW_CHARS else f"{line[:PREVIEW_CHARS].rstrip()}…"
    return small_print(f"Replying to {author}: {preview} ({link})")


async def wait_for_event(event: asyncio.Event, seconds: float) -> None:
    """Return when the event is set, or after `seconds`."""
    with suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            await event.wait()

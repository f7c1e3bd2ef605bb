"""A channel that is bound to a discussion: what people write there is said in it, and what is said in it is told there."""

import asyncio
import logging
import time
from collections import deque
from itertools import takewhile
from typing import NamedTuple

import discord
from msgspec.structs import replace

from moot.discord.addressing import continue_with_named_participant, is_stop_request
from moot.discord.approvals import ApprovalKey
from moot.discord.dependencies import DiscordDeps
from moot.discord.format.mentions import ChannelMember
from moot.discord.incoming import (
    find_addressed_participants,
    is_empty_message,
    reply_to_message,
    store_attachments,
    text_with_author,
)
from moot.discord.run_delivery import RunDelivery, format_reply_notice
from moot.discord.sender import ChannelClosed, ChannelSender
from moot.engine.waits import retry_while_unavailable
from moot.services.discussions import NewDiscussion, NewMessage, StartedRun
from moot.types.discord import ChannelBinding
from moot.types.discussions import Discussion, Run
from moot.types.errors import Conflict, MootError, NotFound, ShuttingDown

MAX_INTERRUPTS = 3  # in a row
MAX_QUEUED_MESSAGES = 20  # messages
DELIVERY_STOPPED_TEXT = "Nothing more of it is told here; all of it is kept in Moot."
POLL_SECONDS = 15.0  # news may be lost; nobody waits longer than this for what is there

log = logging.getLogger(__name__)


class IncomingMessage(NamedTuple):
    """What somebody wrote, and when it came; without that it interrupts nobody. What goes `first` waits for nobody else."""

    message: discord.Message
    received_at: float = 0.0
    is_priority: bool = False


class BoundChannel:
    """`line` leads to the channel, `thoughts` to the thought-log, if there is one."""

    def __init__(
        self,
        deps: DiscordDeps,
        channel: discord.TextChannel,
        binding: ChannelBinding,
        sender: ChannelSender,
        reasoning_sender: ChannelSender | None,
    ) -> None:
        self._deps = deps
        self._channel = channel
        self._sender = sender
        self._reasoning_sender = reasoning_sender
        self._queue: deque[IncomingMessage] = deque()
        self._queue_changed = asyncio.Event()
        self._runs_changed = asyncio.Event()
        self._submit_lock = (
            asyncio.Lock()
        )  # while something is being said, nobody looks which runs are from elsewhere
        self._receive_lock = asyncio.Lock()
        self._delivery: RunDelivery | None = None
        self._interrupts = 0
        self.binding = binding

    def notify_change(self) -> None:
        """Hear that something may have changed in the discussion."""
        self._queue_changed.set()
        self._runs_changed.set()

    async def rebind(self, binding: ChannelBinding) -> None:
        self.binding = binding
        if self._delivery is not None and self._delivery.run.discussion != binding.discussion:
            self._delivery.cancel_delivery()
        self.notify_change()

    async def process_messages_forever(self) -> None:
        """Say what people write, when its turn has come."""
        await self._restore_queue()
        while True:
            while (message := await self._next_message()) is not None:
                await self._submit_message(message)
            self._queue_changed.clear()
            await _wait_for_event(self._queue_changed)

    async def deliver_runs_forever(self) -> None:
        """Tell what is said in the discussion, run after run."""
        while True:
            self._runs_changed.clear()
            if self.binding.trouble is None:
                for run in await self._find_undelivered_runs():
                    await self._deliver_run(run)
            await _wait_for_event(self._runs_changed)

    async def receive_message(self, message: discord.Message) -> None:
        """Take in what somebody wrote, in the order in which it came; what says nothing is not heard."""
        if not is_empty_message(message):
            async with self._receive_lock:
                await self._handle_message(message)

    async def _handle_message(self, message: discord.Message) -> None:
        """Heed a stop at once, and let everything else wait for its turn."""
        if self.binding.trouble is not None:  # whoever can write here can be answered here
            await self._deps.channels.record_error(self.binding.id, None)
            self.binding = replace(self.binding, trouble=None)
        live = await self.live_run()
        speaking = live or (self._delivery.run if self._delivery and self._delivery.is_behind else None)
        active = speaking is not None and await self._run_author(speaking) == str(message.author.id)
        if active and is_stop_request(message.content):
            await self.stop_run()
            if live is None:
                await reply_to_message(message, DELIVERY_STOPPED_TEXT)
        elif len(self._queue) >= MAX_QUEUED_MESSAGES:
            await reply_to_message(
                message, f"{MAX_QUEUED_MESSAGES} messages wait already: write again when they are answered."
            )
        else:
            await self._deps.channels.enqueue_message(self.binding.id, str(message.id))
            if active and self._delivery is not None and self._delivery.is_calling_tools:
                in_front = sum(heard.is_priority for heard in self._queue)
                self._queue.insert(in_front, IncomingMessage(message, is_priority=True))
            else:
                self._queue.append(IncomingMessage(message, time.time()))
        self.notify_change()

    async def stop_run(self, participant: str | None = None) -> bool:
        """Stop what goes on, or one participant; tell whether anything did.

        What was said to its end and is still being told is told no further.
        """
        live, telling = await self.live_run(), self._delivery
        if live is not None:
            await self._deps.runs.request_stop(self.binding.tenant, live.id, participant)
        is_of_live = live is not None and telling is not None and telling.run.id == live.id
        if participant is not None or is_of_live or telling is None or not telling.is_behind:
            return live is not None
        telling.cancel_delivery()
        return True

    async def live_run(self) -> Run | None:
        """Return the newest run that goes on in the discussion."""
        if self.binding.discussion is None:
            return None
        runs = await self._deps.discussions.live_runs(self.binding.tenant, self.binding.discussion)
        return runs[-1] if runs else None

    @property
    def open_approvals(self) -> list[ApprovalKey]:
        """List what somebody is asked here, and nobody has answered."""
        return self._delivery.open_approvals if self._delivery else []

    async def _run_author(self, run: Run) -> str | None:
        """Return who asked for a run here; those who go on by themselves do so for whoever asked before."""
        asked = run
        if run.message is None:
            runs = await self._deps.runs.list_runs(self.binding.tenant, run.discussion)
            before = [one for one in takewhile(lambda one: one.id != run.id, runs) if one.message is not None]
            asked = before[-1] if before else run
        return (await self._deps.channels.delivery_progress(self.binding.id, asked.id)).author

    async def _restore_queue(self) -> None:
        """Say what was heard before the last end of this process, and not said."""
        for id in await retry_while_unavailable(
            lambda: self._deps.channels.pending_messages(self.binding.id)
        ):
            try:
                if id not in {str(heard.message.id) for heard in self._queue}:
                    self._queue.append(IncomingMessage(await self._channel.fetch_message(int(id))))
            except (
                discord.NotFound,
                discord.Forbidden,
            ):  # anything else passes, and the message is still there
                await self._deps.channels.discard_message(id)

    async def _next_message(self) -> discord.Message | None:
        """Choose what is said next. While the table speaks, only who asked may interrupt, and not again and again."""
        if not self._queue:
            return None
        live = await self.live_run()
        if live is None:
            self._interrupts = 0
            return self._queue.popleft().message
        if self._interrupts >= MAX_INTERRUPTS or (self._delivery and self._delivery.is_calling_tools):
            return None
        author = await self._run_author(live)
        for heard in self._queue:
            if heard.received_at > live.created_at and str(heard.message.author.id) == author:
                self._interrupts += 1
                self._queue.remove(heard)
                return heard.message
        return None

    async def _submit_message(self, message: discord.Message) -> None:
        channels, id = self._deps.channels, str(message.id)
        try:
            async with self._submit_lock:
                if self._delivery is not None and self._interrupts:
                    self._delivery.cancel_delivery()
                elif self._delivery is not None:
                    self._delivery.skip_pauses()
                started = await self._start_run(message)
                await channels.record_answering_run(
                    self.binding.id, id, started.run.id, str(message.author.id)
                )
        except ShuttingDown:
            return  # the next server says it
        except Conflict:
            await channels.discard_message(id)  # it was said before the last end
        except MootError as error:
            await channels.discard_message(id)
            await reply_to_message(message, str(error))

    async def _start_run(self, message: discord.Message) -> StartedRun:
        """Put a message into the discussion, which begins with it if there is none yet."""
        premises, binding = self._deps, self.binding
        discussion = await self._load_discussion()
        mode = discussion.mode if discussion else binding.mode
        participants = discussion.participants if discussion else binding.participants
        await premises.check_rate_limit(premises.caller.account, mode)
        text = text_with_author(message)
        answering = find_addressed_participants(message, participants) or None
        files = await store_attachments(premises, message)
        key = f"discord/{message.id}"
        if discussion is not None:
            saying = NewMessage(
                discussion=discussion.id,
                message=text,
                answering=answering,
                files=files,
                channel=binding.id,
                author=message.author.display_name,
            )
            return await premises.discussion_service.send_message(premises.caller, saying, key)
        opening = NewDiscussion(
            message=text,
            participants=participants,
            mode=mode,
            rounds=binding.rounds,
            answering=answering,
            files=files,
            channel=binding.id,
            author=message.author.display_name,
        )
        started = await premises.discussion_service.create(premises.caller, opening, key)
        self.binding = replace(binding, discussion=started.discussion.id)
        await premises.channels.save_binding(self.binding)
        return started

    async def _load_discussion(self) -> Discussion | None:
        """Return what is discussed here; None where nothing is yet, or where it was deleted."""
        if self.binding.discussion is None:
            return None
        try:
            return await self._deps.discussions.get_discussion(self.binding.tenant, self.binding.discussion)
        except NotFound:
            return None

    async def _find_undelivered_runs(self) -> list[Run]:
        """List the runs of which there is more than was told, in their order."""
        async with self._submit_lock:
            binding = self.binding
            if binding.discussion is None:
                return []
            told = await self._deps.channels.delivery_cursors(binding)
            standings = await self._deps.events.discussion_progress(binding.tenant, binding.discussion)
            due = [id for id, seq in told.items() if standings[id].live or standings[id].last_seq > seq]
            return [await self._deps.runs.get_run(binding.tenant, id) for id in due]

    async def _deliver_run(self, run: Run) -> None:
        """Tell a run to its end. Where nothing can be sent any more, nothing is, until somebody writes there again."""
        telling = RunDelivery(self._deps, self.binding, run, self._sender, self._reasoning_sender)
        self._delivery = telling
        trouble = ""
        try:
            await telling.deliver(self._human_members(), await self._load_reply_notice(run))
        except* ChannelClosed as errors:
            trouble = str(errors.exceptions[0])
        finally:
            self._delivery = None
        if trouble:
            await self.disable_sending(trouble)
        elif not telling.is_cancelled:
            await self._continue_chain(run)
        self._queue_changed.set()

    async def _continue_chain(self, run: Run) -> None:
        """Let whoever was named go on, unless a person wants to say something."""
        if not self._queue and not self._submit_lock.locked():
            await continue_with_named_participant(self._deps, run)

    async def disable_sending(self, trouble: str) -> None:
        """Send nothing more here, and say why in the log and to whoever asks."""
        log.warning(
            "nothing more is sent to a channel of Discord", extra={"channel": self.binding.id, "why": trouble}
        )
        self.binding = replace(self.binding, trouble=trouble)
        await self._deps.channels.record_error(self.binding.id, trouble)

    async def _load_reply_notice(self, run: Run) -> str | None:
        told = await self._deps.channels.delivery_progress(self.binding.id, run.id)
        if told.message is None:
            return None
        partial = self._channel.get_partial_message(int(told.message))
        asked = await self._deps.discussions.run_messages(run.id)
        words = next((one.content for one in asked if one.id == run.message), "")
        author, _, text = words.partition(": ")
        return format_reply_notice(author, text, partial.jump_url)

    def _human_members(self) -> tuple[ChannelMember, ...]:
        return tuple(
            ChannelMember(str(one.id), tuple(dict.fromkeys((one.display_name, one.name))))
            for one in self._channel.guild.members
            if not one.bot
        )


async def _wait_for_event(event: asyncio.Event) -> None:
    try:
        async with asyncio.timeout(POLL_SECONDS):
            await event.wait()
    except TimeoutError:
        return

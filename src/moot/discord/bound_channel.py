"""Discord channel bound to a discussion: message queue in one direction, run delivery in the other.

Accepted messages are stored before they are queued, so a restart loses none of them.
Runs are delivered in order, one at a time.
"""

import asyncio
import logging
import time
from collections import deque
from itertools import takewhile
from typing import NamedTuple

import discord
from msgspec.structs import replace

from moot.discord.approvals import ApprovalKey
from moot.discord.dependencies import DiscordDeps
from moot.discord.format.mentions import ChannelMember
from moot.discord.incoming import (
    continue_with_named_participant,
    find_addressed_participants,
    is_empty_message,
    is_stop_request,
    reply_to_message,
    store_attachments,
    text_with_author,
)
from moot.discord.run_delivery import RunDelivery, format_reply_notice, wait_for_event
from moot.discord.sender import ChannelClosed, ChannelSender
from moot.services.discussions import NewMessage, StartedRun
from moot.services.run_plans import NewDiscussion
from moot.types.discord import ChannelBinding
from moot.types.discussions import Discussion, Run
from moot.types.errors import Conflict, MootError, NotFound, ShuttingDown

MAX_INTERRUPTS = 3  # consecutive; after that, messages wait for the run to end
MAX_QUEUED_MESSAGES = 20
DELIVERY_STOPPED_TEXT = "Stopped sending. The whole answer is kept in Moot."
POLL_SECONDS = 15.0  # notifications can be lost, so both loops also poll

log = logging.getLogger(__name__)


class IncomingMessage(NamedTuple):
    message: discord.Message
    received_at: float = 0.0  # Unix time; 0 means that the message never interrupts a run
    is_priority: bool = False  # queued before messages without priority


class BoundChannel:
    """Queue and delivery state of one channel. The bot runs both `*_forever` methods as tasks.

    `reasoning_sender`: sends reasoning to its own channel; None disables it.
    """

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
        # Held from starting a run until its author is recorded. Without the lock, delivery could take the
        # new run for one that was started outside Discord, and post the user's message again.
        self._submit_lock = asyncio.Lock()
        self._receive_lock = asyncio.Lock()
        self._delivery: RunDelivery | None = None
        self._interrupts = 0
        self.binding = binding

    def notify_change(self) -> None:
        self._queue_changed.set()
        self._runs_changed.set()

    async def rebind(self, binding: ChannelBinding) -> None:
        self.binding = binding
        if self._delivery is not None and self._delivery.run.discussion != binding.discussion:
            self._delivery.cancel_delivery()
        self.notify_change()

    async def process_messages_forever(self) -> None:
        await self._restore_queue()
        while True:
            while (message := await self._next_message()) is not None:
                await self._submit_message(message)
            self._queue_changed.clear()
            await wait_for_event(self._queue_changed, POLL_SECONDS)

    async def deliver_runs_forever(self) -> None:
        while True:
            self._runs_changed.clear()
            if self.binding.error is None:
                for run in await self._find_undelivered_runs():
                    await self._deliver_run(run)
            await wait_for_event(self._runs_changed, POLL_SECONDS)

    async def receive_message(self, message: discord.Message) -> None:
        """Queue a message in the order of arrival. Ignores empty messages."""
        if not is_empty_message(message):
            async with self._receive_lock:
                await self._handle_message(message)

    async def _handle_message(self, message: discord.Message) -> None:
        """Apply a stop request at once; queue any other message."""
        if self.binding.error is not None:  # a new message proves that the channel works again
            await self._deps.stores.channels.record_error(self.binding.id, None)
            self.binding = replace(self.binding, error=None)
        live = await self.live_run()
        current = live or (self._delivery.run if self._delivery and self._delivery.is_behind else None)
        active = current is not None and await self._run_author(current) == str(message.author.id)
        if active and is_stop_request(message.content):
            await self.stop_run()
            if live is None:
                await reply_to_message(message, DELIVERY_STOPPED_TEXT)
        elif len(self._queue) >= MAX_QUEUED_MESSAGES:
            await reply_to_message(
                message, f"{MAX_QUEUED_MESSAGES} messages are already queued. Write again when they are answered."
            )
        else:
            await self._deps.stores.channels.enqueue_message(self.binding.id, str(message.id))
            if active and self._delivery is not None and self._delivery.is_calling_tools:
                # A turn that calls tools is not interrupted. Its author's message is sent first after the run.
                in_front = sum(queued.is_priority for queued in self._queue)
                self._queue.insert(in_front, IncomingMessage(message, is_priority=True))
            else:
                self._queue.append(IncomingMessage(message, time.time()))
        self.notify_change()

    async def stop_run(self, participant: str | None = None) -> bool:
        """Stop the live run or one participant, and cancel delivery of a finished run.

        Returns False if there was nothing to stop.
        """
        live, delivery = await self.live_run(), self._delivery
        if live is not None:
            await self._deps.stores.runs.request_stop(self.binding.tenant, live.id, participant)
        is_of_live = live is not None and delivery is not None and delivery.run.id == live.id
        if participant is not None or is_of_live or delivery is None or not delivery.is_behind:
            return live is not None
        delivery.cancel_delivery()
        return True

    async def live_run(self) -> Run | None:
        """Return the newest active run, or None."""
        if self.binding.discussion is None:
            return None
        runs = await self._deps.stores.discussions.live_runs(self.binding.tenant, self.binding.discussion)
        return runs[-1] if runs else None

    @property
    def open_approvals(self) -> list[ApprovalKey]:
        return self._delivery.open_approvals if self._delivery else []

    async def _run_author(self, run: Run) -> str | None:
        """Return the Discord user id of a run's author; None if it was started outside this channel.

        A run without a message continues a reply chain. Its author is the author of the previous message.
        """
        source_run = run
        if run.message is None:
            runs = await self._deps.stores.runs.list_runs(self.binding.tenant, run.discussion)
            earlier_runs = [one for one in takewhile(lambda one: one.id != run.id, runs) if one.message is not None]
            source_run = earlier_runs[-1] if earlier_runs else run
        return (await self._deps.stores.channels.delivery_progress(self.binding.id, source_run.id)).author

    async def _restore_queue(self) -> None:
        """Queue the messages that a previous process stored but did not send to the discussion."""
        for id in await self._deps.stores.channels.pending_messages(self.binding.id):
            try:
                if id not in {str(queued.message.id) for queued in self._queue}:
                    self._queue.append(IncomingMessage(await self._channel.fetch_message(int(id))))
            except (
                discord.NotFound,
                discord.Forbidden,
            ):  # deleted, or no longer readable; any other error is temporary and restarts this task
                await self._deps.stores.channels.discard_message(id)

    async def _next_message(self) -> discord.Message | None:
        """Return the next message to send, or None to wait.

        During a run only its author may interrupt it, at most `MAX_INTERRUPTS` times in a row.
        """
        if not self._queue:
            return None
        live = await self.live_run()
        if live is None:
            self._interrupts = 0
            return self._queue.popleft().message
        if self._interrupts >= MAX_INTERRUPTS or (self._delivery and self._delivery.is_calling_tools):
            return None
        author = await self._run_author(live)
        for queued in self._queue:
            if queued.received_at > live.created_at and str(queued.message.author.id) == author:
                self._interrupts += 1
                self._queue.remove(queued)
                return queued.message
        return None

    async def _submit_message(self, message: discord.Message) -> None:
        channels, id = self._deps.stores.channels, str(message.id)
        try:
            async with self._submit_lock:
                if self._delivery is not None and self._interrupts:
                    self._delivery.cancel_delivery()
                elif self._delivery is not None:
                    self._delivery.skip_pauses()
                started = await self._start_run(message)
                await channels.record_answering_run(self.binding.id, id, started.run.id, str(message.author.id))
        except ShuttingDown:
            return  # the message stays stored; the next process sends it
        except Conflict:
            await channels.discard_message(id)  # the idempotency key shows that it was sent before a restart
        except MootError as error:
            await channels.discard_message(id)
            await reply_to_message(message, str(error))

    async def _start_run(self, message: discord.Message) -> StartedRun:
        """Send a message to the discussion, or create the discussion with it.

        Idempotent: the Discord message id is the idempotency key.
        """
        deps, binding = self._deps, self.binding
        discussion = await self.load_discussion()
        mode = discussion.mode if discussion else binding.mode
        participants = discussion.participants if discussion else binding.participants
        await deps.check_rate_limit(deps.caller.account, mode)
        text = text_with_author(message)
        answering = find_addressed_participants(message, participants) or None
        files = await store_attachments(deps, message)
        key = f"discord/{message.id}"
        if discussion is not None:
            new_message = NewMessage(
                discussion=discussion.id,
                message=text,
                responders=answering,
                files=files,
                channel=binding.id,
                author=message.author.display_name,
            )
            return await deps.discussion_service.send_message(deps.caller, new_message, key)
        new_discussion = NewDiscussion(
            message=text,
            participants=participants,
            mode=mode,
            rounds=binding.rounds,
            responders=answering,
            files=files,
            channel=binding.id,
            author=message.author.display_name,
        )
        started = await deps.discussion_service.create(deps.caller, new_discussion, key)
        self.binding = replace(binding, discussion=started.discussion.id)
        await deps.stores.channels.save_binding(self.binding)
        return started

    async def load_discussion(self) -> Discussion | None:
        """Return None if there is no discussion yet or it was deleted."""
        if self.binding.discussion is None:
            return None
        try:
            return await self._deps.stores.discussions.get_discussion(self.binding.tenant, self.binding.discussion)
        except NotFound:
            return None

    async def _find_undelivered_runs(self) -> list[Run]:
        """Return runs with events after the delivery cursor, oldest first."""
        async with self._submit_lock:
            binding = self.binding
            if binding.discussion is None:
                return []
            cursors = await self._deps.stores.channels.delivery_cursors(binding)
            progress = await self._deps.stores.events.discussion_progress(binding.tenant, binding.discussion)
            undelivered = [id for id, seq in cursors.items() if progress[id].live or progress[id].last_seq > seq]
            return [await self._deps.stores.runs.get_run(binding.tenant, id) for id in undelivered]

    async def _deliver_run(self, run: Run) -> None:
        """Deliver a run to its end. A closed channel disables sending until a member writes there again."""
        delivery = RunDelivery(self._deps, self.binding, run, self._sender, self._reasoning_sender)
        self._delivery = delivery
        failure = ""
        try:
            await delivery.deliver(self._human_members(), await self._load_reply_notice(run))
        except* ChannelClosed as errors:
            failure = str(errors.exceptions[0])
        finally:
            self._delivery = None
        if failure:
            await self.disable_sending(failure)
        elif not (delivery.is_cancelled or self._queue or self._submit_lock.locked()):
            # A user's message takes precedence over the reply chain.
            await continue_with_named_participant(self._deps, run)
        self._queue_changed.set()

    async def disable_sending(self, trouble: str) -> None:
        """Stop sending to this channel and store the reason, which `/moot status` shows."""
        log.warning("discord channel disabled", extra={"channel": self.binding.id, "reason": trouble})
        self.binding = replace(self.binding, error=trouble)
        await self._deps.stores.channels.record_error(self.binding.id, trouble)

    async def _load_reply_notice(self, run: Run) -> str | None:
        progress = await self._deps.stores.channels.delivery_progress(self.binding.id, run.id)
        if progress.message is None:
            return None
        partial = self._channel.get_partial_message(int(progress.message))
        messages = await self._deps.stores.discussions.run_messages(run.id)
        content = next((one.content for one in messages if one.id == run.message), "")
        author, _, text = content.partition(": ")
        return format_reply_notice(author, text, partial.jump_url)

    def _human_members(self) -> tuple[ChannelMember, ...]:
        return tuple(
            ChannelMember(str(one.id), tuple(dict.fromkeys((one.display_name, one.name))))
            for one in self._channel.guild.members
            if not one.bot
        )

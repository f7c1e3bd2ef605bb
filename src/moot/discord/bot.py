"""Discord bot: routes gateway events to bound channels and commands, and reconnects with backoff.

One server per bot token connects, elected through the database. Without election every server would answer.
"""

import asyncio
import hashlib
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import aclosing, asynccontextmanager
from typing import Any

import aiohttp
import discord
from discord import app_commands

from moot.discord.approvals import parse_button_id
from moot.discord.bound_channel import BoundChannel
from moot.discord.commands import MAX_ROUNDS, NO_DISCUSSION_TEXT, CommandReply, DiscordCommands
from moot.discord.dependencies import DiscordDeps
from moot.discord.incoming import MAX_REPLY_CHARS, reply_to_message
from moot.discord.sender import NO_MENTIONS, ChannelSender, open_webhook_session
from moot.store.locks import run_as_leader
from moot.streaming.cancellation import cancel_tasks
from moot.types.discord import ChannelBinding
from moot.types.discussions import Activity, DiscussionChanged, DiscussionDeleted
from moot.types.errors import MootError, UsageError
from moot.types.modes import ModeName

FIRST_BACKOFF_SECONDS, MAX_BACKOFF_SECONDS = 2.0, 300.0
REJECTED_TEXT = (
    "Discord rejected the bot token. Copy it again from the Developer Portal (Bot, Reset Token) into "
    "MOOT_DISCORD_TOKEN and restart. The server keeps running without Discord."
)
MISSING_INTENTS_TEXT = (
    "The Discord bot is not allowed to read messages. Enable Message Content Intent and Server Members Intent in the "
    "Developer Portal (Bot) and restart. The server keeps running without Discord."
)
RESTART_DELAY_SECONDS = 5.0
NO_WRITE_PERMISSION_TEXT = "Only members who can write in this channel can answer."
TEXT_CHANNELS_ONLY_TEXT = "Moot works only in text channels of a server."

RoundsOption = app_commands.Range[int, 1, MAX_ROUNDS]
log = logging.getLogger(__name__)


@asynccontextmanager
async def connect_discord(deps: DiscordDeps, token: str) -> AsyncIterator[None]:
    """Stay connected until the block ends. A Discord error is logged and does not end the block."""
    discord.VoiceClient.warn_nacl = discord.VoiceClient.warn_dave = False  # voice is not used
    leader_key = f"discord/{hashlib.sha256(token.encode()).hexdigest()[:16]}"
    connection = run_as_leader(deps.stores.database, leader_key, lambda: _stay_connected(deps, token))
    task = asyncio.create_task(connection, name="discord")
    task.add_done_callback(_log_failure)
    try:
        yield
    finally:
        await cancel_tasks(task)


async def _stay_connected(deps: DiscordDeps, token: str) -> None:
    wait = FIRST_BACKOFF_SECONDS
    while True:
        async with open_webhook_session() as session:
            bot = Bot(deps, session)
            try:
                await bot.start(token)
            except discord.LoginFailure:
                log.error(REJECTED_TEXT)  # noqa: TRY400 - a traceback adds nothing
                return
            except discord.PrivilegedIntentsRequired:
                log.error(MISSING_INTENTS_TEXT)  # noqa: TRY400
                return
            except discord.ConnectionClosed as error:
                log.warning("discord closed the connection; retrying", extra={"code": error.code, "seconds": wait})
            except (discord.DiscordException, aiohttp.ClientError, OSError, TimeoutError) as error:
                log.warning("discord unreachable; retrying", extra={"reason": type(error).__name__, "seconds": wait})
            finally:
                await bot.shutdown_bot()
        await asyncio.sleep(wait)
        wait = min(2 * wait, MAX_BACKOFF_SECONDS)


def _log_failure(task: asyncio.Task[None]) -> None:
    if not task.cancelled() and (error := task.exception()) is not None:
        log.error("discord connection task failed; the server keeps running", exc_info=error)


class Bot(discord.Client):
    def __init__(self, deps: DiscordDeps, session: aiohttp.ClientSession) -> None:
        intents = discord.Intents(guilds=True, members=True, guild_messages=True, message_content=True)
        super().__init__(intents=intents, allowed_mentions=NO_MENTIONS, max_messages=None)
        self._deps = deps
        self._webhook_session = session
        self._bound_channels: dict[str, BoundChannel] = {}
        self._senders: dict[str, ChannelSender] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._is_watching = False
        self._commands = DiscordCommands(deps, self)
        self._tree = app_commands.CommandTree(self)
        self._tree.add_command(_build_command_group(self._commands))

    def dispatch(self, event: str, /, *args: Any, **more: Any) -> None:
        """Ignore events after `close`: discord.py may still dispatch `ready`."""
        if not self.is_closed():
            super().dispatch(event, *args, **more)

    async def setup_hook(self) -> None:
        try:
            await self._tree.sync()
        except discord.HTTPException as error:
            log.warning("discord rejected the slash commands", extra={"reason": error.text})

    async def on_ready(self) -> None:
        """Attach all bound channels. Discord calls this again after a reconnect; attached channels are kept."""
        log.info("connected to discord", extra={"servers": len(self.guilds)})
        if not self._is_watching:
            self._is_watching = True
            self._run_forever(self._watch_discussions, "changes")
        for binding in await self._deps.stores.channels.list_bindings(self._deps.caller.tenant):
            channel = self.get_channel(int(binding.id))
            if isinstance(channel, discord.TextChannel):
                self._attach_channel(channel, binding)

    async def on_message(self, message: discord.Message) -> None:
        channel = message.channel
        if message.author.bot or message.webhook_id or not isinstance(channel, discord.TextChannel):
            return
        if message.type not in (discord.MessageType.default, discord.MessageType.reply):
            return
        bound = self.find_bound_channel(str(channel.id)) or await self._restore_channel(channel)
        if self.user is not None and self.user in message.mentions:
            answer = await self._run_mention_command(channel, message)
            if answer is not None:
                await self._send_reply(message, answer)
                return
            if bound is None:
                await reply_to_message(message, NO_DISCUSSION_TEXT)
        if bound is not None:
            try:
                await bound.receive_message(message)
            except MootError as error:
                await reply_to_message(message, str(error))

    async def _restore_channel(self, channel: discord.TextChannel) -> BoundChannel | None:
        """Attach a bound channel whose first message arrives before `on_ready` has attached it."""
        binding = await self._deps.stores.channels.find_binding(self._deps.caller.tenant, str(channel.id))
        return self._attach_channel(channel, binding) if binding is not None else None

    async def _run_mention_command(self, channel: discord.TextChannel, message: discord.Message) -> CommandReply | None:
        """Return None if the message is not a command."""
        me = channel.guild.me
        text = message.content
        for mention in (me.mention, f"<@!{me.id}>"):
            text = text.replace(mention, "")
        try:
            return await self._commands.run_mention_command(channel, text)
        except MootError as error:
            return CommandReply(str(error))

    async def _send_reply(self, message: discord.Message, command_reply: CommandReply) -> None:
        if command_reply.image is None:
            await reply_to_message(message, command_reply.text)
            return
        file = command_reply.image.to_discord_file()
        await message.reply(command_reply.text, file=file, allowed_mentions=NO_MENTIONS, mention_author=False)

    async def on_interaction(self, interaction: discord.Interaction) -> None:
        """Handle approval buttons, including those that an earlier process posted.

        The outcome arrives as a run event, and the delivery then edits the prompt.
        """
        data: Mapping[str, object] = interaction.data or {}
        found = parse_button_id(str(data.get("custom_id", "")))
        if interaction.type is not discord.InteractionType.component or found is None:
            return
        await interaction.response.defer()
        try:
            if not interaction.permissions.send_messages:  # the same permission as for commands
                raise UsageError(NO_WRITE_PERMISSION_TEXT)
            await self._commands.answer_approval(*found)
        except MootError as error:
            await interaction.followup.send(str(error)[:MAX_REPLY_CHARS], ephemeral=True, allowed_mentions=NO_MENTIONS)

    async def on_guild_channel_delete(self, channel: discord.abc.GuildChannel) -> None:
        if bound := self.find_bound_channel(str(channel.id)):
            await bound.disable_sending("The channel is gone.")

    def find_bound_channel(self, channel: str) -> BoundChannel | None:
        return self._bound_channels.get(channel)

    async def bind_channel(self, channel: discord.TextChannel, binding: ChannelBinding) -> BoundChannel:
        await self._deps.stores.channels.save_binding(binding)
        bound = self._attach_channel(channel, binding)
        await bound.rebind(binding)
        return bound

    def _attach_channel(self, channel: discord.TextChannel, binding: ChannelBinding) -> BoundChannel:
        if bound := self.find_bound_channel(binding.id):
            return bound
        reasoning_channel = self._deps.settings.reasoning_channel
        reasoning_sender = self._get_sender(reasoning_channel) if reasoning_channel else None
        bound = BoundChannel(self._deps, channel, binding, self._get_sender(binding.id), reasoning_sender)
        self._bound_channels[binding.id] = bound
        self._run_forever(bound.process_messages_forever, f"messages {binding.id}")
        self._run_forever(bound.deliver_runs_forever, f"delivery {binding.id}")
        return bound

    def _get_sender(self, channel_id: str) -> ChannelSender:
        if channel_id not in self._senders:
            self._senders[channel_id] = ChannelSender(
                self, self._webhook_session, channel_id, self._deps.stores.channels.find_known_posts
            )
        return self._senders[channel_id]

    async def _watch_discussions(self) -> None:
        async with aclosing(self._deps.discussion_changes.watch_changes(self._deps.caller.tenant)) as watched:
            async for changes in watched:
                for change in changes:
                    match change:
                        case Activity():
                            concerned = list(self._bound_channels.values())
                        case DiscussionChanged(discussion=discussion):
                            concerned = self._channels_of_discussion(discussion.id)
                        case DiscussionDeleted(id=id):
                            concerned = self._channels_of_discussion(id)
                    for bound in concerned:
                        bound.notify_change()

    def _channels_of_discussion(self, discussion: str) -> list[BoundChannel]:
        return [one for one in self._bound_channels.values() if one.binding.discussion == discussion]

    def _run_forever(self, work: Callable[[], Awaitable[None]], task_name: str) -> None:
        """Start a background task that restarts after an error, so that one channel cannot stop the others."""

        async def restart_on_failure() -> None:
            while True:
                try:
                    await work()
                except Exception:
                    log.exception("discord task failed; restarting", extra={"task": task_name})
                    await asyncio.sleep(RESTART_DELAY_SECONDS)

        self._tasks.add(task := asyncio.create_task(restart_on_failure(), name=f"discord {task_name}"))
        task.add_done_callback(self._tasks.discard)

    async def shutdown_bot(self) -> None:
        """Cancel all tasks and close the connection. Unsent messages are sent after the next start."""
        await cancel_tasks(*self._tasks)
        await self.close()


def _build_command_group(commands: DiscordCommands) -> app_commands.Group:
    group = app_commands.Group(name="moot", description="Several models around one table", guild_only=True)

    @group.command(description="Start a discussion in this channel, or continue one")
    @app_commands.describe(
        participants="Personas and models, such as: sceptic, engineer = openai/gpt-5",
        mode="How the participants answer",
        rounds="Rounds of a consensus",
        discussion="Id of an existing discussion to continue",
    )
    async def new(
        interaction: discord.Interaction,
        participants: str = "",
        mode: ModeName | None = None,
        rounds: RoundsOption = 2,
        discussion: str = "",
    ) -> None:
        await _run_slash_command(
            interaction, lambda here: commands.new_discussion(here, participants, mode or "", rounds, discussion)
        )

    @group.command(description="Change the mode")
    async def mode(interaction: discord.Interaction, mode: ModeName, rounds: RoundsOption | None = None) -> None:
        await _run_slash_command(interaction, lambda here: commands.change_mode(here, mode, rounds))

    @group.command(description="Show or replace the participants")
    async def participants(interaction: discord.Interaction, participants: str = "") -> None:
        await _run_slash_command(interaction, lambda here: commands.show_or_change_participants(here, participants))

    @group.command(description="List the personas, or add one as a participant")
    async def persona(interaction: discord.Interaction, name: str = "", model: str = "") -> None:
        await _run_slash_command(interaction, lambda here: commands.list_or_add_persona(here, name, model))

    @group.command(description="Stop the run, or one participant")
    async def stop(interaction: discord.Interaction, participant: str = "") -> None:
        await _run_slash_command(interaction, lambda here: commands.stop_speaking(here, participant))

    @group.command(description="Allow the tool call that waits for approval")
    async def allow(interaction: discord.Interaction) -> None:
        await _run_slash_command(interaction, lambda here: commands.decide_open_approval(here, "allow"))

    @group.command(description="Refuse the tool call that waits for approval")
    async def refuse(interaction: discord.Interaction) -> None:
        await _run_slash_command(interaction, lambda here: commands.decide_open_approval(here, "refuse"))

    @group.command(description="Show the discussion of this channel and its state")
    async def status(interaction: discord.Interaction) -> None:
        await _run_slash_command(interaction, commands.show_status)

    @group.command(description="Show the whiteboard")
    async def whiteboard(interaction: discord.Interaction) -> None:
        await _run_slash_command(interaction, commands.show_whiteboard)

    return group


async def _run_slash_command(
    interaction: discord.Interaction, command: Callable[[discord.TextChannel], Awaitable[CommandReply]]
) -> None:
    await interaction.response.defer()  # Discord times out an interaction after 3 s without a response
    channel = interaction.channel
    try:
        answer = (
            await command(channel)
            if isinstance(channel, discord.TextChannel)
            else CommandReply(TEXT_CHANNELS_ONLY_TEXT)
        )
    except MootError as error:
        answer = CommandReply(str(error))
    if answer.image is None:
        await interaction.followup.send(answer.text[:2000], allowed_mentions=NO_MENTIONS)
        return
    file = answer.image.to_discord_file()
    await interaction.followup.send(answer.text, file=file, allowed_mentions=NO_MENTIONS)

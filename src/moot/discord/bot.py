"""The bot: what happens in Discord comes in here, and goes to the channels that are bound, or to commands."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping
from contextlib import aclosing
from typing import Any

import aiohttp
import discord
from discord import app_commands

from moot.discord.approvals import pressed
from moot.discord.bound_channel import Bound
from moot.discord.commands import BEGIN, MOST_ROUNDS, Commands, Reply
from moot.discord.dependencies import Premises
from moot.discord.incoming import LONGEST, reply
from moot.discord.sender import NOBODY, Line
from moot.types.discord import Binding
from moot.types.discussion_events import Activity, DiscussionChanged, DiscussionDeleted
from moot.types.errors import MootError, UsageError
from moot.types.modes import ModeName

AGAIN_SECONDS = 5.0
ONLY_WRITERS = "Only those who may write in this channel can answer."
ONLY_HERE = "Moot speaks in the text channels of a server."

Rounds = app_commands.Range[int, 1, MOST_ROUNDS]
log = logging.getLogger(__name__)


class Bot(discord.Client):
    def __init__(self, premises: Premises, session: aiohttp.ClientSession) -> None:
        intents = discord.Intents(guilds=True, members=True, guild_messages=True, message_content=True)
        super().__init__(intents=intents, allowed_mentions=NOBODY, max_messages=None)
        self._premises = premises
        self._webhooks = session
        self._bound: dict[str, Bound] = {}
        self._lines: dict[str, Line] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._watched = False
        self._commands = Commands(premises, self)
        self._tree = app_commands.CommandTree(self)
        self._tree.add_command(_group(self._commands))

    def dispatch(self, event: str, /, *args: Any, **more: Any) -> None:
        """Let nothing happen any more after the end: discord.py may still find out that it is ready."""
        if not self.is_closed():
            super().dispatch(event, *args, **more)

    async def setup_hook(self) -> None:
        try:
            await self._tree.sync()
        except discord.HTTPException as error:
            log.warning("Discord does not take the commands of Moot", extra={"reason": error.text})

    async def on_ready(self) -> None:
        """Take up all channels that are bound; after a new session, those that are not."""
        log.info("connected to Discord", extra={"servers": len(self.guilds)})
        if not self._watched:
            self._watched = True
            self._keep(self._watch, "changes")
        for binding in await self._premises.channels.all(self._premises.caller.tenant):
            channel = self.get_channel(int(binding.id))
            if isinstance(channel, discord.TextChannel):
                self._take_up(channel, binding)

    async def on_message(self, message: discord.Message) -> None:
        channel = message.channel
        if message.author.bot or message.webhook_id or not isinstance(channel, discord.TextChannel):
            return
        if message.type not in (discord.MessageType.default, discord.MessageType.reply):
            return
        bound = self.bound(str(channel.id)) or await self._stored(channel)
        if self.user is not None and self.user in message.mentions:
            answer = await self._asked(channel, message)
            if answer is not None:
                await self._answer(message, answer)
                return
            if bound is None:
                await reply(message, BEGIN)
        if bound is not None:
            try:
                await bound.hear(message)
            except MootError as error:
                await reply(message, str(error))

    async def _stored(self, channel: discord.TextChannel) -> Bound | None:
        """Take up a channel in which somebody writes before all were taken up."""
        binding = await self._premises.channels.get(self._premises.caller.tenant, str(channel.id))
        return self._take_up(channel, binding) if binding is not None else None

    async def _asked(self, channel: discord.TextChannel, message: discord.Message) -> Reply | None:
        """Do what a mention asks for, if it is a command."""
        me = channel.guild.me
        text = message.content
        for mention in (me.mention, f"<@!{me.id}>"):
            text = text.replace(mention, "")
        try:
            return await self._commands.by_mention(channel, text)
        except MootError as error:
            return Reply(str(error))

    async def _answer(self, message: discord.Message, answer: Reply) -> None:
        if answer.picture is None:
            await reply(message, answer.text)
            return
        file = answer.picture.file()
        await message.reply(answer.text, file=file, allowed_mentions=NOBODY, mention_author=False)

    async def on_interaction(self, interaction: discord.Interaction) -> None:
        """Hear a button, whichever process has sent it; what comes of it is told where the question stands."""
        data: Mapping[str, object] = interaction.data or {}
        found = pressed(str(data.get("custom_id", "")))
        if interaction.type is not discord.InteractionType.component or found is None:
            return
        await interaction.response.defer()
        try:
            if not interaction.permissions.send_messages:  # whoever may write here may use commands
                raise UsageError(ONLY_WRITERS)
            await self._commands.answer(*found)
        except MootError as error:
            await interaction.followup.send(str(error)[:LONGEST], ephemeral=True, allowed_mentions=NOBODY)

    async def on_guild_channel_delete(self, channel: discord.abc.GuildChannel) -> None:
        if bound := self.bound(str(channel.id)):
            await bound.give_up("The channel is gone.")

    def bound(self, channel: str) -> Bound | None:
        return self._bound.get(channel)

    async def bind(self, channel: discord.TextChannel, binding: Binding) -> Bound:
        """Bind a channel for good."""
        await self._premises.channels.bind(binding)
        bound = self._take_up(channel, binding)
        await bound.rebind(binding)
        return bound

    def _take_up(self, channel: discord.TextChannel, binding: Binding) -> Bound:
        if bound := self.bound(binding.id):
            return bound
        thoughts = self._line(self._premises.thoughts) if self._premises.thoughts else None
        bound = Bound(self._premises, channel, binding, self._line(binding.id), thoughts)
        self._bound[binding.id] = bound
        self._keep(bound.listen_for_ever, f"hearing {binding.id}")
        self._keep(bound.tell_for_ever, f"telling {binding.id}")
        return bound

    def _line(self, id: str) -> Line:
        if id not in self._lines:
            self._lines[id] = Line(self, self._webhooks, id, self._premises.channels.arrived)
        return self._lines[id]

    async def _watch(self) -> None:
        """Let channels know when something changes in their discussions."""
        async with aclosing(self._premises.changes.watch(self._premises.caller.tenant)) as watched:
            async for changes in watched:
                for change in changes:
                    match change:
                        case Activity():
                            concerned = list(self._bound.values())
                        case DiscussionChanged(discussion=discussion):
                            concerned = self._discussing(discussion.id)
                        case DiscussionDeleted(id=id):
                            concerned = self._discussing(id)
                    for bound in concerned:
                        bound.stir()

    def _discussing(self, discussion: str) -> list[Bound]:
        return [one for one in self._bound.values() if one.binding.discussion == discussion]

    def _keep(self, work: Callable[[], Awaitable[None]], what: str) -> None:
        """Own a task that goes on for ever: what fails in one channel begins anew, and hurts nothing else."""

        async def kept() -> None:
            while True:
                try:
                    await work()
                except Exception:
                    log.exception(
                        "a part of the Discord channel failed and begins anew", extra={"part": what}
                    )
                    await asyncio.sleep(AGAIN_SECONDS)

        self._tasks.add(task := asyncio.create_task(kept(), name=f"discord {what}"))
        task.add_done_callback(self._tasks.discard)

    async def end(self) -> None:
        """End all that goes on; what was not sent is sent next time."""
        tasks = tuple(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await self.close()


def _group(commands: Commands) -> app_commands.Group:
    """Declare `/moot` and what comes after it."""
    group = app_commands.Group(name="moot", description="Several models around one table", guild_only=True)

    @group.command(description="Begin a discussion in this channel, or go on with one")
    @app_commands.describe(
        participants="Personas and models, such as: sceptic, engineer = openai/gpt-5",
        mode="How they speak",
        rounds="Rounds of a consensus",
        discussion="The id of a discussion that is there already",
    )
    async def new(
        interaction: discord.Interaction,
        participants: str = "",
        mode: ModeName | None = None,
        rounds: Rounds = 2,
        discussion: str = "",
    ) -> None:
        await _done(
            interaction, lambda here: commands.new(here, participants, mode or "", rounds, discussion)
        )

    @group.command(description="Change how they speak")
    async def mode(interaction: discord.Interaction, mode: ModeName, rounds: Rounds | None = None) -> None:
        await _done(interaction, lambda here: commands.mode(here, mode, rounds))

    @group.command(description="Say who is at the table, or who is to be")
    async def participants(interaction: discord.Interaction, participants: str = "") -> None:
        await _done(interaction, lambda here: commands.participants(here, participants))

    @group.command(description="List the personas, or seat one more")
    async def persona(interaction: discord.Interaction, name: str = "", model: str = "") -> None:
        await _done(interaction, lambda here: commands.persona(here, name, model))

    @group.command(description="Stop all who speak, or one of them")
    async def stop(interaction: discord.Interaction, participant: str = "") -> None:
        await _done(interaction, lambda here: commands.stop(here, participant))

    @group.command(description="Allow the call of a tool that waits for an answer")
    async def allow(interaction: discord.Interaction) -> None:
        await _done(interaction, lambda here: commands.decide(here, "allow"))

    @group.command(description="Refuse the call of a tool that waits for an answer")
    async def refuse(interaction: discord.Interaction) -> None:
        await _done(interaction, lambda here: commands.decide(here, "refuse"))

    @group.command(description="Tell what is discussed here")
    async def status(interaction: discord.Interaction) -> None:
        await _done(interaction, commands.status)

    @group.command(description="Show the whiteboard")
    async def whiteboard(interaction: discord.Interaction) -> None:
        await _done(interaction, commands.whiteboard)

    return group


async def _done(
    interaction: discord.Interaction, command: Callable[[discord.TextChannel], Awaitable[Reply]]
) -> None:
    """Do a command within the time that Discord gives, and answer it."""
    await interaction.response.defer()
    channel = interaction.channel
    try:
        answer = await command(channel) if isinstance(channel, discord.TextChannel) else Reply(ONLY_HERE)
    except MootError as error:
        answer = Reply(str(error))
    if answer.picture is None:
        await interaction.followup.send(answer.text[:2000], allowed_mentions=NOBODY)
        return
    file = answer.picture.file()
    await interaction.followup.send(answer.text, file=file, allowed_mentions=NOBODY)

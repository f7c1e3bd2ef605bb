"""Bot commands, called by `/moot` or by a mention. Each returns a reply; errors are raised as UsageError."""

import re
import time
from collections.abc import Sequence
from typing import Any, Protocol

import discord
from msgspec import Struct

from moot.discord.approvals import OUTCOME_TEXTS, ApprovalKey
from moot.discord.bound_channel import BoundChannel
from moot.discord.dependencies import DiscordDeps
from moot.discord.posts import ImageAttachment
from moot.services.run_plans import ParticipantInput
from moot.types.discord import ChannelBinding
from moot.types.discussions import Discussion
from moot.types.errors import UsageError
from moot.types.modes import MODE_NAMES, ModeName, adapt_mode, check_mode, default_mode
from moot.types.participants import Participant
from moot.types.personas import Persona
from moot.types.tools import ApprovalDecision

MAX_ROUNDS = 10
MAX_PARTICIPANTS = 10
PERSONA_LIMIT = 200
MODEL_SEPARATOR = re.compile(r"\s+on\s+|\s*=\s*")
NO_DISCUSSION_TEXT = "This channel has no discussion yet. Start one with `/moot new`, such as `/moot new participants: sceptic, engineer`."


class CommandReply(Struct, frozen=True):
    text: str
    image: ImageAttachment | None = None


class ChannelBinder(Protocol):
    """The part of the bot that the commands use."""

    def find_bound_channel(self, channel: str) -> BoundChannel | None: ...
    async def bind_channel(self, channel: discord.TextChannel, binding: ChannelBinding) -> BoundChannel: ...


class DiscordCommands:
    def __init__(self, deps: DiscordDeps, binder: ChannelBinder) -> None:
        self._deps = deps
        self._binder = binder

    async def new_discussion(
        self,
        channel: discord.TextChannel,
        participants: str = "",
        mode: str = "",
        rounds: int = 2,
        discussion: str = "",
    ) -> CommandReply:
        """Bind the channel to an existing discussion, or to a new one that the next message creates."""
        if discussion:
            found = await self._deps.stores.discussions.get_discussion(self._tenant, discussion.strip())
            binding = self._build_binding(channel, found.mode, found.participants, found.rounds, discussion=found.id)
            await self._binder.bind_channel(channel, binding)
            return CommandReply(f"Continuing: {found.title}\n{_describe_participants(found.mode, found.participants)}")
        resolved = await self._resolve_participants(participants)
        chosen = _parse_mode(mode) if mode else default_mode(resolved)
        check_mode(chosen, resolved)
        await self._binder.bind_channel(
            channel, self._build_binding(channel, chosen, resolved, _validate_rounds(rounds))
        )
        return CommandReply(f"{_describe_participants(chosen, resolved)}\nYour next message starts the discussion.")

    async def change_mode(self, channel: discord.TextChannel, mode: str, rounds: int | None = None) -> CommandReply:
        chosen = _parse_mode(mode)
        changes: dict[str, Any] = {"mode": chosen}
        if rounds is not None:
            changes["rounds"] = _validate_rounds(rounds)
        return await self._apply_changes(channel, changes)

    async def show_or_change_participants(self, channel: discord.TextChannel, participants: str = "") -> CommandReply:
        bound, discussion = await self._find_discussion(channel)
        if participants:
            return await self._apply_changes(channel, {"participants": await self._resolve_participants(participants)})
        current = discussion or bound.binding
        return CommandReply(_describe_participants(current.mode, current.participants))

    async def list_or_add_persona(self, channel: discord.TextChannel, name: str = "", model: str = "") -> CommandReply:
        if not name:
            personas = await self._load_personas()
            return CommandReply(
                f"Personas: {', '.join(one.name for one in personas)}. Add one with `/moot persona name: …`."
            )
        bound, discussion = await self._find_discussion(channel)
        current = discussion or bound.binding
        model = model or self._deps.default_model or current.participants[0].model
        [added] = await self._resolve_participants(f"{name} = {model}")
        if added.id in {who.id for who in current.participants}:
            raise UsageError(f"{added.name} is already a participant.")
        participants = (*current.participants, added)
        mode = adapt_mode(current.mode, participants)
        return await self._apply_changes(channel, {"participants": participants, "mode": mode})

    async def stop_speaking(self, channel: discord.TextChannel, participant: str = "") -> CommandReply:
        bound, discussion = await self._find_discussion(channel)
        who = _find_participant(participant, (discussion or bound.binding).participants) if participant else None
        if not await bound.stop_run(who.id if who else None):
            return CommandReply("No run is active.")
        return CommandReply(f"Stopped {who.name}." if who else "Stopped. The answers so far are kept.")

    async def decide_open_approval(self, channel: discord.TextChannel, decision: ApprovalDecision) -> CommandReply:
        """Answer the one open approval prompt. With several, the user must use their buttons."""
        bound, _ = await self._find_discussion(channel)
        match bound.open_approvals:
            case []:
                return CommandReply("No tool call waits for approval.")
            case [approval]:
                await self.answer_approval(approval, decision)
                return CommandReply(OUTCOME_TEXTS[decision])
        return CommandReply("Several tool calls wait for approval. Use their buttons.")

    async def answer_approval(self, approval: ApprovalKey, decision: ApprovalDecision) -> None:
        await self._deps.stores.approvals.resolve_approval(
            self._deps.caller, approval.run_id, approval.call_id, decision
        )

    async def show_status(self, channel: discord.TextChannel) -> CommandReply:
        """Describe the discussion, and list the channels of this server where sending is disabled."""
        lines: list[str] = []
        bound = self._binder.find_bound_channel(str(channel.id))
        if bound is None:
            lines.append(NO_DISCUSSION_TEXT)
        else:
            _, discussion = await self._find_discussion(channel)
            live = await bound.live_run()
            current = discussion or bound.binding
            lines.append(discussion.title if discussion else "The next message starts the discussion.")
            lines.append(_describe_participants(current.mode, current.participants))
            lines.append("A run is active." if live else "No run is active.")
        lines += [
            f"Sending to <#{other.id}> is disabled: {other.error}"
            for other in await self._deps.stores.channels.list_bindings(self._tenant)
            if other.error is not None and other.guild == str(channel.guild.id)
        ]
        return CommandReply("\n".join(lines))

    async def show_whiteboard(self, channel: discord.TextChannel) -> CommandReply:
        _, discussion = await self._find_discussion(channel)
        if discussion is None:
            raise UsageError("The whiteboard is empty.")
        board = await self._deps.whiteboards.whiteboard_at(self._tenant, discussion.id)
        if not (board.open and board.elements):
            return CommandReply("The whiteboard is empty.")
        return CommandReply("", ImageAttachment("whiteboard.png", await self._deps.image_renderer.render_png(board)))

    async def run_mention_command(self, channel: discord.TextChannel, text: str) -> CommandReply | None:
        """Run the command in a message that mentions the bot. Returns None if it is not a command."""
        word, _, rest = text.strip().partition(" ")
        rest = rest.strip()
        match word.casefold():
            case "new":
                return await self.new_discussion(channel, **_parse_new_options(rest))
            case "mode" if (first := rest.split(maxsplit=1)) and first[0].casefold() in MODE_NAMES:
                rounds = int(first[1]) if len(first) > 1 and first[1].isdecimal() else None
                return await self.change_mode(channel, first[0], rounds)
            case "participants":
                return await self.show_or_change_participants(channel, rest)
            case "persona":
                name, *model = MODEL_SEPARATOR.split(rest, maxsplit=1)
                return await self.list_or_add_persona(channel, name, *model)
            case "stop" if not rest or await self._has_participant(channel, rest):
                return await self.stop_speaking(channel, rest)
            case "allow" | "refuse" as decision if not rest:
                return await self.decide_open_approval(channel, decision)
            case "status" if not rest:
                return await self.show_status(channel)
            case "whiteboard" if not rest:
                return await self.show_whiteboard(channel)
        return None

    @property
    def _tenant(self) -> str:
        return self._deps.caller.tenant

    async def _has_participant(self, channel: discord.TextChannel, name: str) -> bool:
        bound = self._binder.find_bound_channel(str(channel.id))
        return bound is not None and any(who.name.casefold() == name.casefold() for who in bound.binding.participants)

    async def _find_discussion(self, channel: discord.TextChannel) -> tuple[BoundChannel, Discussion | None]:
        bound = self._binder.find_bound_channel(str(channel.id))
        if bound is None:
            raise UsageError(NO_DISCUSSION_TEXT)
        return bound, await bound.load_discussion()

    async def _apply_changes(self, channel: discord.TextChannel, changes: dict[str, Any]) -> CommandReply:
        """Update the discussion, or the binding from which the next message creates one."""
        bound, discussion = await self._find_discussion(channel)
        current = discussion or bound.binding
        mode, participants = changes.get("mode", current.mode), changes.get("participants", current.participants)
        check_mode(mode, participants)
        if discussion is not None:
            await self._deps.stores.discussions.update_discussion(self._tenant, discussion.id, changes)
        rounds = changes.get("rounds", current.rounds)
        id = discussion.id if discussion else None
        binding = self._build_binding(channel, mode, participants, rounds, id, bound.binding.created_at)
        await self._binder.bind_channel(channel, binding)
        return CommandReply(_describe_participants(mode, participants))

    def _build_binding(
        self,
        channel: discord.TextChannel,
        mode: str,
        participants: tuple[Participant, ...],
        rounds: int,
        discussion: str | None = None,
        created_at: float | None = None,
    ) -> ChannelBinding:
        return ChannelBinding(
            id=str(channel.id),
            tenant=self._tenant,
            guild=str(channel.guild.id),
            discussion=discussion,
            mode=_parse_mode(mode),
            participants=participants,
            rounds=rounds,
            created_at=time.time() if created_at is None else created_at,
        )

    async def _resolve_participants(self, text: str) -> tuple[Participant, ...]:
        """Parse a comma-separated list of personas, models, or `persona = model`."""
        items = [item.strip() for item in text.split(",") if item.strip()] or [""]
        if len(items) > MAX_PARTICIPANTS:
            raise UsageError(f"participants: at most {MAX_PARTICIPANTS} are allowed. Name fewer.")
        personas = {one.name.casefold(): one for one in await self._load_personas()}
        inputs = [self._parse_participant(item, personas) for item in items]
        return await self._deps.run_planner.assign_participants(self._tenant, inputs)

    def _parse_participant(self, item: str, personas: dict[str, Persona]) -> ParticipantInput:
        name, *model = MODEL_SEPARATOR.split(item, maxsplit=1)
        if not model and ("/" in name or not name):
            return ParticipantInput(model=name or self._require_default_model())
        persona = personas.get(name.casefold())
        if persona is None:
            raise UsageError(
                f"There is no persona {name!r}. Choose one of {', '.join(one.name for one in personas.values())}."
            )
        return ParticipantInput(model=model[0].strip() if model else self._require_default_model(), persona=persona.id)

    def _require_default_model(self) -> str:
        if self._deps.default_model is None:
            raise UsageError("model: the settings name no default. Add one, such as `sceptic = openai/gpt-5`.")
        return self._deps.default_model

    async def _load_personas(self) -> Sequence[Persona]:
        return (await self._deps.stores.personas.list_personas(self._tenant, limit=PERSONA_LIMIT)).personas


def _parse_new_options(rest: str) -> dict[str, Any]:
    """Parse options such as `sceptic, engineer mode=debate rounds=3`."""
    given = dict(re.findall(r"\b(mode|rounds|discussion)=(\S+)", rest))
    options: dict[str, Any] = {"participants": re.sub(r"\b(mode|rounds|discussion)=\S+", "", rest).strip()}
    options |= {name: value for name, value in given.items() if name != "rounds"}
    if "rounds" in given:
        if not given["rounds"].isdecimal():
            raise UsageError(f"rounds: not a number from 1 to {MAX_ROUNDS}.")
        options["rounds"] = int(given["rounds"])
    return options


def _parse_mode(name: str) -> ModeName:
    for mode in MODE_NAMES:
        if mode == name.casefold():
            return mode
    raise UsageError(f"There is no mode {name!r}. Choose one of {', '.join(MODE_NAMES)}.")


def _validate_rounds(rounds: int) -> int:
    if not 1 <= rounds <= MAX_ROUNDS:
        raise UsageError(f"rounds: not a number from 1 to {MAX_ROUNDS}.")
    return rounds


def _find_participant(name: str, participants: tuple[Participant, ...]) -> Participant:
    for who in participants:
        if name.casefold() in (who.name.casefold(), who.id):
            return who
    raise UsageError(f"There is no participant {name!r}. Choose one of {', '.join(who.name for who in participants)}.")


def _describe_participants(mode: str, participants: tuple[Participant, ...]) -> str:
    names = ", ".join(f"{who.name} ({who.model})" for who in participants)
    return f"Participants: {names}. Mode: {mode}."

"""What people can ask of Moot in a channel, by `/moot` or by mention: each command in its words, and what it answers."""

import re
import time
from collections.abc import Sequence
from typing import Any, Protocol, get_args

import discord
from msgspec import Struct

from moot.discord.approvals import OUTCOMES, Question
from moot.discord.bound_channel import Bound
from moot.discord.dependencies import Premises
from moot.discord.posts import Picture
from moot.services.participants import Wanted
from moot.types.discord import Binding
from moot.types.discussions import Discussion
from moot.types.errors import NotFound, UsageError
from moot.types.modes import ModeName, check_mode, usual_mode
from moot.types.participants import Participant
from moot.types.personas import Persona
from moot.types.tools import Decision

MODES: tuple[ModeName, ...] = get_args(ModeName)
MOST_ROUNDS = 10
MOST_SEATS = 10
LISTED = 200  # personas
ON_MODEL = re.compile(r"\s+on\s+|\s*=\s*")
BEGIN = "Nothing is discussed here yet: begin with `/moot new`, such as `/moot new participants: sceptic, engineer`."


class Reply(Struct, frozen=True):
    text: str
    picture: Picture | None = None


class Desk(Protocol):
    """Where channels are bound."""

    def bound(self, channel: str) -> Bound | None: ...
    async def bind(self, channel: discord.TextChannel, binding: Binding) -> Bound: ...


class Commands:
    def __init__(self, premises: Premises, desk: Desk) -> None:
        self._premises = premises
        self._desk = desk

    async def new(
        self,
        channel: discord.TextChannel,
        participants: str = "",
        mode: str = "",
        rounds: int = 2,
        discussion: str = "",
    ) -> Reply:
        """Bind the channel to a new discussion, which begins with what is written next, or to one that is there."""
        if discussion:
            found = await self._premises.discussions.get(self._tenant, discussion.strip())
            binding = self._binding(
                channel, found.mode, found.participants, found.rounds, discussion=found.id
            )
            await self._desk.bind(channel, binding)
            return Reply(f"Here goes on: {found.title}\n{_table(found.mode, found.participants)}")
        seats = await self._seats(participants)
        chosen = _mode(mode) if mode else usual_mode(seats)
        check_mode(chosen, seats)
        await self._desk.bind(channel, self._binding(channel, chosen, seats, _rounds(rounds)))
        return Reply(f"{_table(chosen, seats)}\nWhat you write next begins the discussion.")

    async def mode(self, channel: discord.TextChannel, mode: str, rounds: int | None = None) -> Reply:
        chosen = _mode(mode)
        changes: dict[str, Any] = {"mode": chosen}
        if rounds is not None:
            changes["rounds"] = _rounds(rounds)
        return await self._changed(channel, changes)

    async def participants(self, channel: discord.TextChannel, participants: str = "") -> Reply:
        """Say who is at the table, or who is to be."""
        bound, discussion = await self._here(channel)
        if participants:
            return await self._changed(channel, {"participants": await self._seats(participants)})
        now = discussion or bound.binding
        return Reply(_table(now.mode, now.participants))

    async def persona(self, channel: discord.TextChannel, name: str = "", model: str = "") -> Reply:
        """List the personas that there are, or seat one more."""
        if not name:
            known = await self._personas()
            return Reply(
                f"There are {', '.join(one.name for one in known)}. Seat one with `/moot persona name: …`."
            )
        bound, discussion = await self._here(channel)
        now = discussion or bound.binding
        model = model or self._premises.model or now.participants[0].model
        [more] = await self._seats(f"{name} = {model}")
        if more.id in {who.id for who in now.participants}:
            raise UsageError(f"{more.name} sits at the table already.")
        mode = "parallel" if now.mode == "single" else now.mode
        return await self._changed(channel, {"participants": (*now.participants, more), "mode": mode})

    async def stop(self, channel: discord.TextChannel, participant: str = "") -> Reply:
        bound, discussion = await self._here(channel)
        who = _participant(participant, (discussion or bound.binding).participants) if participant else None
        if not await bound.stop(who.id if who else None):
            return Reply("Nobody is speaking.")
        return Reply(f"{who.name} stops." if who else "All stop; what was said so far is kept.")

    async def decide(self, channel: discord.TextChannel, decision: Decision) -> Reply:
        """Answer the question that can be seen here; where there are several it is not known which is meant."""
        bound, _ = await self._here(channel)
        match bound.questions:
            case []:
                return Reply("Nobody waits for an answer.")
            case [question]:
                await self.answer(question, decision)
                return Reply(OUTCOMES[decision])
        return Reply("Several calls wait for an answer: use the buttons of each.")

    async def answer(self, question: Question, decision: Decision) -> None:
        await self._premises.permissions.answer(self._premises.caller, question.run, question.call, decision)

    async def status(self, channel: discord.TextChannel) -> Reply:
        """Tell what is discussed here, and in which channels of this server nothing is sent any more."""
        lines: list[str] = []
        bound = self._desk.bound(str(channel.id))
        if bound is None:
            lines.append(BEGIN)
        else:
            _, discussion = await self._here(channel)
            live = await bound.live()
            now = discussion or bound.binding
            lines.append(
                discussion.title if discussion else "The discussion begins with what is written next."
            )
            lines.append(_table(now.mode, now.participants))
            lines.append("The table is speaking." if live else "Nobody is speaking.")
        lines += [
            f"Nothing is sent to <#{other.id}>: {other.trouble}"
            for other in await self._premises.channels.all(self._tenant)
            if other.trouble is not None and other.guild == str(channel.guild.id)
        ]
        return Reply("\n".join(lines))

    async def whiteboard(self, channel: discord.TextChannel) -> Reply:
        _, discussion = await self._here(channel)
        if discussion is None:
            raise UsageError("Nothing was drawn yet.")
        board = await self._premises.boards.at(self._tenant, discussion.id)
        if not (board.open and board.elements):
            return Reply("The whiteboard is empty.")
        return Reply("", Picture("whiteboard.png", await self._premises.painter.png(board)))

    async def by_mention(self, channel: discord.TextChannel, text: str) -> Reply | None:
        """Do what somebody asks for in a message that mentions Moot; None where it is no command."""
        word, _, rest = text.strip().partition(" ")
        rest = rest.strip()
        match word.casefold():
            case "new":
                return await self.new(channel, **_new_options(rest))
            case "mode" if (first := rest.split(maxsplit=1)) and first[0].casefold() in MODES:
                rounds = int(first[1]) if len(first) > 1 and first[1].isdecimal() else None
                return await self.mode(channel, first[0], rounds)
            case "participants":
                return await self.participants(channel, rest)
            case "persona":
                name, *model = ON_MODEL.split(rest, maxsplit=1)
                return await self.persona(channel, name, *model)
            case "stop" if not rest or await self._sits(channel, rest):
                return await self.stop(channel, rest)
            case "allow" | "refuse" as decision if not rest:
                return await self.decide(channel, decision)
            case "status" if not rest:
                return await self.status(channel)
            case "whiteboard" if not rest:
                return await self.whiteboard(channel)
        return None

    @property
    def _tenant(self) -> str:
        return self._premises.caller.tenant

    async def _sits(self, channel: discord.TextChannel, name: str) -> bool:
        bound = self._desk.bound(str(channel.id))
        return bound is not None and any(
            who.name.casefold() == name.casefold() for who in bound.binding.participants
        )

    async def _here(self, channel: discord.TextChannel) -> tuple[Bound, Discussion | None]:
        bound = self._desk.bound(str(channel.id))
        if bound is None:
            raise UsageError(BEGIN)
        try:
            id = bound.binding.discussion
            return bound, await self._premises.discussions.get(self._tenant, id) if id else None
        except NotFound:
            return bound, None

    async def _changed(self, channel: discord.TextChannel, changes: dict[str, Any]) -> Reply:
        """Change what is discussed here, or what is to be."""
        bound, discussion = await self._here(channel)
        now = discussion or bound.binding
        mode, seats = changes.get("mode", now.mode), changes.get("participants", now.participants)
        check_mode(mode, seats)
        if discussion is not None:
            await self._premises.discussions.change(self._tenant, discussion.id, changes)
        rounds = changes.get("rounds", now.rounds)
        id = discussion.id if discussion else None
        changed = self._binding(channel, mode, seats, rounds, id, bound.binding.created_at)
        await self._desk.bind(channel, changed)
        return Reply(_table(mode, seats))

    def _binding(
        self,
        channel: discord.TextChannel,
        mode: str,
        participants: tuple[Participant, ...],
        rounds: int,
        discussion: str | None = None,
        since: float | None = None,
    ) -> Binding:
        return Binding(
            id=str(channel.id),
            tenant=self._tenant,
            guild=str(channel.guild.id),
            discussion=discussion,
            mode=_mode(mode),
            participants=participants,
            rounds=rounds,
            created_at=time.time() if since is None else since,
        )

    async def _seats(self, text: str) -> tuple[Participant, ...]:
        """Seat whoever is named: personas, models, or a persona on a model, with commas between them."""
        items = [item.strip() for item in text.split(",") if item.strip()] or [""]
        if len(items) > MOST_SEATS:
            raise UsageError(f"{MOST_SEATS} can sit at a table: name fewer.")
        known = {one.name.casefold(): one for one in await self._personas()}
        wanted = [self._wanted(item, known) for item in items]
        return await self._premises.seating.seat(self._tenant, wanted)

    def _wanted(self, item: str, known: dict[str, Persona]) -> Wanted:
        name, *given = ON_MODEL.split(item, maxsplit=1)
        if not given and ("/" in name or not name):
            return Wanted(model=name or self._default())
        persona = known.get(name.casefold())
        if persona is None:
            raise UsageError(
                f"There is no persona {name!r}: there are {', '.join(one.name for one in known.values())}."
            )
        return Wanted(model=given[0].strip() if given else self._default(), persona=persona.id)

    def _default(self) -> str:
        if self._premises.model is None:
            raise UsageError(
                "Say on which model, such as `sceptic = openai/gpt-5`: no `model` is named in the settings."
            )
        return self._premises.model

    async def _personas(self) -> Sequence[Persona]:
        return (await self._premises.personas.page(self._tenant, limit=LISTED)).personas


def _new_options(rest: str) -> dict[str, Any]:
    """Read `sceptic, engineer mode=debate rounds=3`."""
    given = dict(re.findall(r"\b(mode|rounds|discussion)=(\S+)", rest))
    options: dict[str, Any] = {"participants": re.sub(r"\b(mode|rounds|discussion)=\S+", "", rest).strip()}
    options |= {name: value for name, value in given.items() if name != "rounds"}
    if "rounds" in given:
        if not given["rounds"].isdecimal():
            raise UsageError(f"rounds: 1 to {MOST_ROUNDS} are possible.")
        options["rounds"] = int(given["rounds"])
    return options


def _mode(name: str) -> ModeName:
    for mode in MODES:
        if mode == name.casefold():
            return mode
    raise UsageError(f"There is no mode {name!r}: there are {', '.join(MODES)}.")


def _rounds(rounds: int) -> int:
    if not 1 <= rounds <= MOST_ROUNDS:
        raise UsageError(f"rounds: 1 to {MOST_ROUNDS} are possible.")
    return rounds


def _participant(name: str, participants: tuple[Participant, ...]) -> Participant:
    for who in participants:
        if name.casefold() in (who.name.casefold(), who.id):
            return who
    raise UsageError(
        f"Nobody here is called {name!r}: there are {', '.join(who.name for who in participants)}."
    )


def _table(mode: str, participants: tuple[Participant, ...]) -> str:
    seats = ", ".join(f"{who.name} ({who.model})" for who in participants)
    return f"At the table: {seats}. Mode: {mode}."

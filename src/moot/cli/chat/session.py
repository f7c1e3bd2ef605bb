"""`moot chat`: a conversation with a table in the terminal, which is live on the page at the same time.

The chat is a client of a server, so what is said is kept there, and any discussion can be gone on with.
"""

import asyncio
import logging
import os
import sys
from collections.abc import Coroutine
from contextlib import aclosing
from typing import Any, assert_never
from urllib.parse import quote

from msgspec import Struct
from msgspec.structs import replace

from moot import settings
from moot.app import event_loop
from moot.app import logging as logs
from moot.cli.approvals import Questions, terminal
from moot.cli.ask_options import Options, check, plan
from moot.cli.chat import commands
from moot.cli.chat.commands import HELP, Deed, named, understood
from moot.cli.chat.draft import Seats, planned, seats_of
from moot.cli.chat.input import Lines, Piped, Typed, history, listed
from moot.cli.connect import Door, reached
from moot.cli.http_client import Accepted, Api, Listed, Opened, Provider, Read
from moot.cli.interrupt import on_ctrl_c
from moot.cli.seating import default_model
from moot.providers.registry import Registry
from moot.terminal.readers import safe
from moot.terminal.select import Voice, not_written, on_a_screen, reader_for
from moot.types.discussions import Discussion, Run
from moot.types.errors import UnknownModel, UsageError
from moot.types.events import Event, RunEnded, RunStarted
from moot.types.participants import seat
from moot.types.tools import Decision

REMEMBERED = 6  # messages that are shown where a discussion is gone on with
LISTED = 20
HISTORY = "chat_history"


class Opening(Struct, frozen=True, kw_only=True):
    """Which discussion to go on with, or, in `asked`, who sits at the table of a new one."""

    asked: Options
    discussion: str | None = None
    last: bool = False
    server: str | None = None


def run(opening: Opening) -> int:
    return event_loop.run(_run(opening))


async def _run(opening: Opening) -> int:
    logs.configure(logging.WARNING)
    check(opening.asked)
    chosen = settings.load(opening.asked.config, os.environ)
    say = Voice()
    async with reached(opening.server, chosen, os.environ) as door, Api(door, say) as api:
        await api.check()
        chat = Chat(api, door, say, opening.asked.cap)
        try:
            if not await _taken_up(opening, chat):
                seats = await _seats(opening.asked, chosen, door)
                await _check_providers(api, seats)
                chat.sit_down(seats)
            interactive = sys.stdin.isatty() and on_a_screen()
            lines = Typed(settings.data_folder() / HISTORY) if interactive else Piped(sys.stdin.fileno())
            left = await chat.talk(lines)
            return left if interactive else left or int(chat.unanswered)
        except OSError as error:  # whoever read our output has left, or the disk is full
            return not_written(error)


async def _taken_up(opening: Opening, chat: "Chat") -> bool:
    """Go on with the discussion that was named, if one was."""
    if opening.discussion is None and not opening.last:
        return False
    if opening.asked.models or opening.asked.mode:
        raise UsageError("-m and --mode are for a new discussion: in another one, use /add, /drop and /mode.")
    if opening.discussion is not None:
        await chat.resume(opening.discussion)
        return True
    return await chat.resume_last()


async def _seats(asked: Options, chosen: settings.Settings, door: Door) -> Seats:
    models = asked.models or ((chosen.model,) if chosen.model else ())
    if not models and door.remote:
        raise UsageError("Say who sits at the table: name each with -m provider/model, or set MOOT_MODEL.")
    if not models:
        async with Registry(chosen.providers, os.environ) as registry:
            models = (await default_model(chosen, registry),)
    return planned(plan(asked, seat(models)))


async def _check_providers(api: Api, seats: Seats) -> None:
    """Refuse a model of a provider that the house does not know, before anything is said."""
    known = [one.name for one in await api.get("/api/providers", tuple[Provider, ...])]
    for who in seats.participants:
        if who.model.partition("/")[0] not in known:
            raise UnknownModel(
                f"Unknown model {who.model!r}: a model is written provider/model. Providers are: {', '.join(known)}."
            )


class Chat:
    """`cap` is what each answer may cost."""

    def __init__(self, api: Api, door: Door, say: Voice, cap: float | None = None) -> None:
        self._api = api
        self._door = door
        self._say = say
        self._cap = cap
        self._seats = Seats(participants=(), mode="single")
        self._discussion: Discussion | None = None
        self._found: tuple[Discussion, ...] = ()  # by the last /list
        self._speaking: Run | None = None
        self._stopping: asyncio.Task[None] | None = None
        self._leaving = False
        self._said = 0
        self._answered = 0

    @property
    def unanswered(self) -> bool:
        """Tell whether something was said, and nothing of it was answered."""
        return self._said > 0 and self._answered == 0

    def sit_down(self, seats: Seats) -> None:
        self._seats = seats
        self._say(f"{seats.words}. /help tells what you can do.")

    async def talk(self, lines: Lines) -> int:
        """Take line after line, until there are no more or somebody leaves."""
        asked_twice = False
        while not self._leaving:
            try:
                line = await lines.next()
            except KeyboardInterrupt:
                if asked_twice:
                    return 130
                asked_twice = True
                self._say("Ctrl-C once more leaves.")
                continue
            asked_twice = False
            if line is None:
                return 0
            try:
                command = understood(line, self._seats.participants)
                if isinstance(command, commands.Quit):
                    return 0
                if command is not None:
                    await self._interruptible(self._do(command))
            except UsageError as error:
                self._say(str(error))
        return 130

    async def resume_last(self) -> bool:
        newest = (await self._api.get("/api/discussions?limit=1", Listed)).discussions
        if not newest:
            self._say("There is no discussion yet: this is the first.")
            return False
        await self.resume(newest[0].id)
        return True

    async def resume(self, id: str) -> None:
        await self._interruptible(self._resume(id))

    async def _resume(self, id: str) -> None:
        """Go on with a discussion: show the end of it, and follow whoever is speaking there."""
        read = await self._read(id, REMEMBERED)
        self._discussion, self._seats = read.discussion, seats_of(read.discussion)
        self._say(f"{read.discussion.title} ({id}). {self._seats.words}.")
        if read.before is not None:
            self._say("There is more before this: /history tells it.")
        live = {run.id for run in read.runs}
        _write(history([one for one in read.messages if one.role == "user" or one.run not in live]))
        for run in read.runs:
            await self._follow(run)

    async def _do(self, command: Deed) -> None:
        match command:
            case commands.Say():
                await self._speak(command)
            case commands.Mode() | commands.Add() | commands.Drop():
                await self._change(self._reseated(command))
            case commands.Who() | commands.Help():
                _write(f"{HELP if isinstance(command, commands.Help) else safe(self._seats.words)}\n")
            case commands.Stop():
                await self._stop_all()
            case commands.History():
                await self._tell_history()
            case commands.List():
                self._found = (await self._api.get(f"/api/discussions?limit={LISTED}", Listed)).discussions
                _write(listed(self._found) or "There is no discussion yet.\n")
            case commands.Resume(which=which):
                await self._resume(self._meant(which))
            case commands.New():
                self._discussion = None
                self._say(f"A new discussion. {self._seats.words}.")
            case _:
                assert_never(command)

    def _reseated(self, command: commands.Mode | commands.Add | commands.Drop) -> Seats:
        match command:
            case commands.Mode(mode=mode):
                return self._seats.with_mode(mode)
            case commands.Add(model=model, name=name):
                return self._seats.added(model, name)
            case commands.Drop(name=name):
                return self._seats.dropped(named(name, self._seats.participants))

    async def _speak(self, said: commands.Say) -> None:
        self._said += 1
        body: dict[str, Any] = {"message": said.words}
        if self._cap is not None:
            body["cap"] = self._cap
        if self._discussion is not None:
            body |= {"to": said.to} if said.to else {}
            accepted = await self._api.post(f"{self._path()}/messages", Accepted, body)
            await self._follow(accepted.run, said.to)
            return
        if said.to:
            raise UsageError("The first message of a discussion is for everybody: leave the @name out.")
        opened = await self._api.post("/api/discussions", Opened, body | self._seats.body)
        self._discussion, self._seats = opened.discussion, seats_of(opened.discussion)
        self._say(f"This is {opened.discussion.id}, also at {self._door.url}/d/{opened.discussion.id}.")
        await self._follow(opened.run)

    async def _follow(self, run: Run, to: tuple[str, ...] | None = None) -> None:
        """Show what is said in a run, as it is said."""
        meant = [who for who in self._seats.participants if to is None or who.id in to]
        asks = any(who.tools for who in meant)
        reader = reader_for(run.mode, 1 if run.mode == "single" else len(meant), asks=asks)
        self._speaking = run
        try:
            async with aclosing(self._api.events(run.id)) as stream:
                with self._say.beside(reader):
                    async with self._questions(run) as questions:
                        async for events in stream:
                            reader([_only(event, to) for event in events])
                            questions.hear(events)
                            self._answered += sum(_answers(event) for event in events)
        finally:
            self._speaking = None

    def _questions(self, run: Run) -> Questions:
        async def answer(call: str, answer: Decision) -> None:
            path = f"/api/runs/{quote(run.id)}/approvals/{quote(call)}"
            await self._api.post(path, type(None), {"answer": answer})

        page = f"{self._door.url}/d/{run.discussion}"
        return Questions(terminal(sys.stdin, sys.stderr), answer, self._say, page)

    async def _interruptible(self, doing: Coroutine[None, None, None]) -> None:
        """Do something; Ctrl-C stops who is speaking, and a second one, or one where nobody speaks, ends it."""
        task = asyncio.create_task(doing)

        def react() -> None:
            if self._speaking is not None and self._stopping is None:
                self._stopping = asyncio.create_task(self._stop(self._speaking))
                self._say("Stopping; Ctrl-C once more leaves.")
                return
            task.cancel()
            if self._stopping is not None:
                self._leaving = True
                self._stopping.cancel()

        with on_ctrl_c(react):
            await asyncio.wait({task})
            if self._stopping is not None:
                await self._stopped(self._stopping)
                self._stopping = None
        if not task.cancelled():
            task.result()

    async def _stopped(self, stopping: "asyncio.Task[None]") -> None:
        """Wait until it is known that a stop was heard, and say so where it was not; whoever leaves has cancelled it."""
        await asyncio.wait({stopping})
        if not stopping.cancelled() and (error := stopping.exception()) is not None:
            self._say(f"The stop was not heard: {error}")

    async def _stop(self, run: Run) -> None:
        await self._api.post(f"/api/runs/{quote(run.id)}/stop", Run)

    async def _stop_all(self) -> None:
        live = (await self._read(self._discussion.id, 1)).runs if self._discussion else ()
        for run in live:
            await self._stop(run)
        self._say("Stopped." if live else "Nobody is speaking.")

    async def _tell_history(self) -> None:
        if self._discussion is None:
            self._say("Nothing was said yet.")
            return
        read = await self._read(self._discussion.id, 100)
        if read.before is not None:
            self._say(f"What came before is at {self._door.url}/d/{read.discussion.id}.")
        _write(history(read.messages))

    async def _change(self, seats: Seats) -> None:
        if self._discussion is not None:
            self._discussion = await self._api.patch(self._path(), Discussion, seats.body)
            seats = seats_of(self._discussion)
        self._seats = seats
        self._say(f"{seats.words}.")

    async def _read(self, id: str, limit: int) -> Read:
        return await self._api.get(f"/api/discussions/{quote(id, safe='')}?limit={limit}", Read)

    def _path(self) -> str:
        assert self._discussion is not None  # noqa: S101 - who calls this has seen to it
        return f"/api/discussions/{self._discussion.id}"

    def _meant(self, which: str) -> str:
        if not which.isdecimal():
            return which
        if not 1 <= int(which) <= len(self._found):
            raise UsageError(f"There is no number {which} in the list: /list shows it.")
        return self._found[int(which) - 1].id


def _answers(event: Event) -> bool:
    """Tell whether a run ends as it should, or as somebody wanted it to."""
    return isinstance(event, RunEnded) and event.status != "failed"


def _only(event: Event, to: tuple[str, ...] | None) -> Event:
    """Seat only those who were spoken to: nobody else will speak."""
    if to is None or not isinstance(event, RunStarted):
        return event
    return replace(event, participants=tuple(who for who in event.participants if who.id in to))


def _write(text: str) -> None:
    sys.stdout.write(text)
    sys.stdout.flush()

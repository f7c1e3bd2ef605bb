"""What somebody types in a chat, understood: words for the table, for some of it, or a command."""

import re
from collections.abc import Callable, Mapping, Sequence
from typing import get_args

from msgspec import Struct

from moot.types.errors import UsageError
from moot.types.modes import ModeName
from moot.types.participants import Participant, participant_id

MODES: Mapping[str, ModeName] = {mode: mode for mode in get_args(ModeName)}
MENTION = re.compile(r"@(\S+?)[,:]?\s+")
HELP = """\
Whatever you write is said to the table; @name at the beginning says it to one alone.
/who            who sits there, and how they speak
/add MODEL      seat another one, such as /add ollama/llama3.2; with `as NAME`, under that name
/drop NAME      let somebody go
/mode MODE      single, parallel, consensus, debate, advisors or directed
/stop           stop what goes on elsewhere in this discussion; Ctrl-C stops whoever speaks here
/history        what was said here
/list           your discussions, the newest first
/resume WHICH   go on with one: its number in the list, or its id
/new            begin another discussion with the same table
/quit           leave (so does Ctrl-D); nothing is lost"""


class Say(Struct, frozen=True):
    """`to` are the ids of those who are meant; None is everybody."""

    words: str
    to: tuple[str, ...] | None = None


class Mode(Struct, frozen=True):
    mode: ModeName


class Add(Struct, frozen=True):
    model: str
    name: str | None = None


class Drop(Struct, frozen=True):
    name: str


class Resume(Struct, frozen=True):
    which: str


class Who(Struct, frozen=True):
    pass


class Stop(Struct, frozen=True):
    pass


class History(Struct, frozen=True):
    pass


class List(Struct, frozen=True):
    pass


class New(Struct, frozen=True):
    pass


class Help(Struct, frozen=True):
    pass


class Quit(Struct, frozen=True):
    pass


Deed = Say | Mode | Add | Drop | Resume | Who | Stop | History | List | New | Help
Command = Deed | Quit


def understood(line: str, participants: Sequence[Participant]) -> Command | None:
    """Tell what a line means to those who sit there; nothing at all means nothing."""
    line = line.strip()
    if not line:
        return None
    if line.startswith("/"):
        name, _, rest = line[1:].partition(" ")
        if (make := COMMANDS.get(name.lower())) is None:
            raise UsageError(f"There is no /{name}: /help tells what there is.")
        return make(rest.strip())
    return _said(line, participants)


def named(name: str, participants: Sequence[Participant]) -> Participant:
    """Find who is meant by a name, or by how it begins."""
    wanted = participant_id(name)
    exact = [who for who in participants if who.id == wanted]
    close = exact or [who for who in participants if who.id.startswith(wanted)]
    if len(close) != 1:
        names = ", ".join(who.name for who in close or participants)
        raise UsageError(
            f"{'Nobody is' if not close else 'Several are'} called {name!r}: name one of {names}."
        )
    return close[0]


def _said(line: str, participants: Sequence[Participant]) -> Say:
    to: list[str] = []
    while mention := MENTION.match(line):
        to.append(named(mention[1], participants).id)
        line = line[mention.end() :]
    return Say(line, tuple(dict.fromkeys(to)) or None)


def _mode(rest: str) -> Mode:
    if (mode := MODES.get(rest.lower())) is None:
        raise UsageError(f"/mode takes one of {', '.join(MODES)}.")
    return Mode(mode)


def _add(rest: str) -> Add:
    model, _, name = rest.partition(" as ")
    if "/" not in model or len(model.split()) != 1:
        raise UsageError("/add takes a model as provider/model, such as /add ollama/llama3.2 as Beta.")
    return Add(model.strip(), name.strip() or None)


def _drop(rest: str) -> Drop:
    if not rest:
        raise UsageError("/drop takes a name: /who tells them.")
    return Drop(rest.removeprefix("@"))


def _resume(rest: str) -> Resume:
    if not rest:
        raise UsageError("/resume takes a number of /list, or an id.")
    return Resume(rest)


COMMANDS: Mapping[str, Callable[[str], Command]] = {
    "mode": _mode,
    "add": _add,
    "drop": _drop,
    "resume": _resume,
    "who": lambda _: Who(),
    "stop": lambda _: Stop(),
    "history": lambda _: History(),
    "list": lambda _: List(),
    "new": lambda _: New(),
    "help": lambda _: Help(),
    "quit": lambda _: Quit(),
    "exit": lambda _: Quit(),
}

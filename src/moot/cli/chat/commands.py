"""What somebody types in a chat, understood: words for the table, for some of it, or a command."""

import re
from collections.abc import Callable, Mapping, Sequence
from typing import get_args

from msgspec import Struct

from moot.types.errors import UsageError
from moot.types.modes import ModeName
from moot.types.participants import Participant, participant_id

MODES_BY_NAME: Mapping[str, ModeName] = {mode: mode for mode in get_args(ModeName)}
MENTION_PREFIX = re.compile(r"@(\S+?)[,:]?\s+")
HELP_TEXT = """\
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


class SayCommand(Struct, frozen=True):
    """`to` are the ids of those who are meant; None is everybody."""

    text: str
    to: tuple[str, ...] | None = None


class ModeCommand(Struct, frozen=True):
    mode: ModeName


class AddCommand(Struct, frozen=True):
    model: str
    name: str | None = None


class DropCommand(Struct, frozen=True):
    name: str


class ResumeCommand(Struct, frozen=True):
    target: str


class WhoCommand(Struct, frozen=True):
    pass


class StopCommand(Struct, frozen=True):
    pass


class HistoryCommand(Struct, frozen=True):
    pass


class ListCommand(Struct, frozen=True):
    pass


class NewCommand(Struct, frozen=True):
    pass


class HelpCommand(Struct, frozen=True):
    pass


class QuitCommand(Struct, frozen=True):
    pass


ActionCommand = (
    SayCommand
    | ModeCommand
    | AddCommand
    | DropCommand
    | ResumeCommand
    | WhoCommand
    | StopCommand
    | HistoryCommand
    | ListCommand
    | NewCommand
    | HelpCommand
)
ChatCommand = ActionCommand | QuitCommand


def parse_chat_line(line: str, participants: Sequence[Participant]) -> ChatCommand | None:
    """Tell what a line means to those who sit there; nothing at all means nothing."""
    line = line.strip()
    if not line:
        return None
    if line.startswith("/"):
        name, _, rest = line[1:].partition(" ")
        if (make := COMMAND_PARSERS.get(name.lower())) is None:
            raise UsageError(f"There is no /{name}: /help tells what there is.")
        return make(rest.strip())
    return _parse_message(line, participants)


def find_participant(name: str, participants: Sequence[Participant]) -> Participant:
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


def _parse_message(line: str, participants: Sequence[Participant]) -> SayCommand:
    to: list[str] = []
    while mention := MENTION_PREFIX.match(line):
        to.append(find_participant(mention[1], participants).id)
        line = line[mention.end() :]
    return SayCommand(line, tuple(dict.fromkeys(to)) or None)


def _parse_mode(rest: str) -> ModeCommand:
    if (mode := MODES_BY_NAME.get(rest.lower())) is None:
        raise UsageError(f"/mode takes one of {', '.join(MODES_BY_NAME)}.")
    return ModeCommand(mode)


def _parse_add(rest: str) -> AddCommand:
    model, _, name = rest.partition(" as ")
    if "/" not in model or len(model.split()) != 1:
        raise UsageError("/add takes a model as provider/model, such as /add ollama/llama3.2 as Beta.")
    return AddCommand(model.strip(), name.strip() or None)


def _parse_drop(rest: str) -> DropCommand:
    if not rest:
        raise UsageError("/drop takes a name: /who tells them.")
    return DropCommand(rest.removeprefix("@"))


def _parse_resume(rest: str) -> ResumeCommand:
    if not rest:
        raise UsageError("/resume takes a number of /list, or an id.")
    return ResumeCommand(rest)


COMMAND_PARSERS: Mapping[str, Callable[[str], ChatCommand]] = {
    "mode": _parse_mode,
    "add": _parse_add,
    "drop": _parse_drop,
    "resume": _parse_resume,
    "who": lambda _: WhoCommand(),
    "stop": lambda _: StopCommand(),
    "history": lambda _: HistoryCommand(),
    "list": lambda _: ListCommand(),
    "new": lambda _: NewCommand(),
    "help": lambda _: HelpCommand(),
    "quit": lambda _: QuitCommand(),
    "exit": lambda _: QuitCommand(),
}

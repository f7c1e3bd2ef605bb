"""Parser for input lines of `moot chat`: messages, `@name` prefixes and slash commands."""

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Literal, get_args

from msgspec import Struct

from moot.types.errors import UsageError
from moot.types.modes import MODE_NAMES, ModeName
from moot.types.participants import Participant, participant_id

MODES_BY_NAME: Mapping[str, ModeName] = {mode: mode for mode in MODE_NAMES}
MENTION_PREFIX = re.compile(r"@(\S+?)[,:]?\s+")
HELP_TEXT = f"""\
A line is a message to all participants. Start it with @name to send it to one of them.
/who            show the participants and the mode
/add MODEL      add a participant, such as /add ollama/llama3.2; add `as NAME` to name it
/drop NAME      remove a participant
/mode MODE      {", ".join(MODE_NAMES[:-1])} or {MODE_NAMES[-1]}
/stop           stop runs of this discussion that were started elsewhere; Ctrl-C stops the run here
/history        show the messages of this discussion
/list           list your discussions, the newest first
/resume WHICH   continue a discussion: its number in the list, or its id
/new            start another discussion with the same participants
/quit           quit (also Ctrl-D); the discussion is kept"""


class SayCommand(Struct, frozen=True):
    text: str
    to: tuple[str, ...] | None = None  # participant ids; None means all


class ModeCommand(Struct, frozen=True):
    mode: ModeName


class AddCommand(Struct, frozen=True):
    model: str
    name: str | None = None


class DropCommand(Struct, frozen=True):
    name: str


class ResumeCommand(Struct, frozen=True):
    target: str


TableCommand = ModeCommand | AddCommand | DropCommand
PlainCommand = Literal["who", "stop", "history", "list", "new", "help", "quit"]  # commands without arguments
ChatCommand = SayCommand | TableCommand | ResumeCommand | PlainCommand


def parse_chat_line(line: str, participants: Sequence[Participant]) -> ChatCommand | None:
    """Return None for an empty line. Raises UsageError for an unknown command or participant."""
    line = line.strip()
    if not line.startswith("/"):
        return _parse_message(line, participants) if line else None
    name, _, rest = line[1:].partition(" ")
    if (plain := PLAIN_COMMANDS.get(name.lower())) is not None:
        return plain
    if (parse := COMMAND_PARSERS.get(name.lower())) is None:
        raise UsageError(f"There is no /{name}. Type /help for the commands.")
    return parse(rest.strip())


def find_participant(name: str, participants: Sequence[Participant]) -> Participant:
    """Match a name or a unique prefix of one. Raises UsageError."""
    wanted = participant_id(name)
    exact = [who for who in participants if who.id == wanted]
    matches = exact or [who for who in participants if who.id.startswith(wanted)]
    if len(matches) != 1:
        names = ", ".join(who.name for who in matches or participants)
        raise UsageError(
            f"{'No participant matches' if not matches else 'Several participants match'} {name!r}. Choose one of {names}."
        )
    return matches[0]


def _parse_message(line: str, participants: Sequence[Participant]) -> SayCommand:
    to: list[str] = []
    while mention := MENTION_PREFIX.match(line):
        to.append(find_participant(mention[1], participants).id)
        line = line[mention.end() :]
    return SayCommand(line, tuple(dict.fromkeys(to)) or None)


def _parse_mode(rest: str) -> ModeCommand:
    if (mode := MODES_BY_NAME.get(rest.lower())) is None:
        raise UsageError(f"/mode: missing or unknown mode. Choose one of {', '.join(MODES_BY_NAME)}.")
    return ModeCommand(mode)


def _parse_add(rest: str) -> AddCommand:
    model, _, name = rest.partition(" as ")
    if "/" not in model or len(model.split()) != 1:
        raise UsageError("/add: needs provider/model, such as /add ollama/llama3.2 as Beta.")
    return AddCommand(model.strip(), name.strip() or None)


def _parse_drop(rest: str) -> DropCommand:
    if not rest:
        raise UsageError("/drop: needs a name. Type /who for the names.")
    return DropCommand(rest.removeprefix("@"))


def _parse_resume(rest: str) -> ResumeCommand:
    if not rest:
        raise UsageError("/resume: needs a number from /list, or an id.")
    return ResumeCommand(rest)


COMMAND_PARSERS: Mapping[str, Callable[[str], ChatCommand]] = {
    "mode": _parse_mode,
    "add": _parse_add,
    "drop": _parse_drop,
    "resume": _parse_resume,
}
PLAIN_COMMANDS: Mapping[str, PlainCommand] = {**{name: name for name in get_args(PlainCommand)}, "exit": "quit"}

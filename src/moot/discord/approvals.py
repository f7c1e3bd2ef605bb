"""Questions whether a tool may be called: how they read in a channel, which are open, and what their buttons carry."""

import re
from typing import get_args

from msgspec import Struct

from moot.discord.format.messages import fitted, unmarked
from moot.discord.format.pieces import Code
from moot.types.events import ApprovalWanted, Seat, ToolCalled
from moot.types.tools import Approval, Decision

SHOWN = 600  # characters of the arguments
LABELS: dict[Decision, str] = {"allow": "Allow", "always": "Allow in this discussion", "refuse": "Refuse"}
OUTCOMES: dict[Approval, str] = {
    "allow": "Allowed.",
    "always": "Allowed, now and for the rest of this discussion.",
    "refuse": "Refused.",
    "expired": "Nobody answered in time, so it was not called.",
    "stopped": "Stopped, so it was not called.",
}
CUT_OFF = "The turn was cut off, and nobody waits for this answer any more."
AGAIN = "**It may have been done already**, before this turn was cut off."
_BUTTON = re.compile(rf"moot:({'|'.join(get_args(Decision))}):(run_\w+):(call_\w+)")


class Question(Struct, frozen=True):
    """Whether a call of a run may be made. A button carries all of it, so that it works in any later process."""

    run: str
    call: str

    def button(self, decision: Decision) -> str:
        return f"moot:{decision}:{self.run}:{self.call}"


def pressed(button: str) -> tuple[Question, Decision] | None:
    """Read what a button carries, if it is one of a question."""
    found = _BUTTON.fullmatch(button)
    if found is None:
        return None
    decision: Decision = next(one for one in LABELS if one == found[1])
    return Question(found[2], found[3]), decision


class Asked(Struct, frozen=True):
    """A question that is open: in whose turn it came up, and where and how it was posted."""

    call: str
    seat: Seat
    place: int
    text: str


class Questions:
    """The calls of a run that are under way, and the questions about them that nobody has answered."""

    def __init__(self) -> None:
        self._arguments: dict[str, str] = {}
        self.open: dict[str, Asked] = {}

    def note(self, call: ToolCalled) -> None:
        self._arguments[call.call_id] = _shown(call.arguments)

    def ask(self, wanted: ApprovalWanted, who: str, place: int) -> Asked:
        text = _text(wanted, who, self._arguments[wanted.call_id])
        asked = self.open[wanted.call_id] = Asked(wanted.call_id, wanted.seat, place, text)
        return asked

    def close(self, call: str) -> list[Asked]:
        """Take out the question about a call, if there is one, and forget the call."""
        self._arguments.pop(call, None)
        asked = self.open.pop(call, None)
        return [asked] if asked else []

    def close_all(self, seat: Seat) -> list[Asked]:
        """Take out the questions of a turn that goes on no more."""
        return [self.open.pop(asked.call) for asked in tuple(self.open.values()) if asked.seat == seat]


def _text(wanted: ApprovalWanted, who: str, arguments: str) -> str:
    tool = wanted.name.replace("`", "'")
    [block] = fitted(Code("json", arguments))
    lines = [f"**{unmarked(who)}** wants to call `{tool}`, which may change something:", block.text]
    return "\n".join([*lines, AGAIN] if wanted.again else lines)


def _shown(arguments: str) -> str:
    """Show the beginning of arguments, and in it all that could hide."""
    seen = "".join(char if char.isprintable() else f"\\u{ord(char):04x}" for char in arguments[:SHOWN])
    more = len(arguments) - SHOWN
    return f"{seen or '{}'} … and {more:,} characters more: see the page" if more > 0 else seen or "{}"

"""Questions whether a tool may be called: how they read in a channel, which are open, and what their buttons carry."""

import re
from typing import get_args

from msgspec import Struct

from moot.discord.format.messages import split_piece, strip_markdown
from moot.discord.format.pieces import CodeBlock
from moot.types.events import ApprovalWanted, ToolCalled, TurnKey
from moot.types.tools import ApprovalDecision, ApprovalOutcome

MAX_ARGUMENT_CHARS = 600  # characters of the arguments
BUTTON_LABELS: dict[ApprovalDecision, str] = {
    "allow": "Allow",
    "always": "Allow in this discussion",
    "refuse": "Refuse",
}
OUTCOME_TEXTS: dict[ApprovalOutcome, str] = {
    "allow": "Allowed.",
    "always": "Allowed, now and for the rest of this discussion.",
    "refuse": "Refused.",
    "expired": "Nobody answered in time, so it was not called.",
    "stopped": "Stopped, so it was not called.",
}
INTERRUPTED_TEXT = "The turn was cut off, and nobody waits for this answer any more."
REPEATED_CALL_WARNING = "**It may have been done already**, before this turn was cut off."
_BUTTON_ID = re.compile(rf"moot:({'|'.join(get_args(ApprovalDecision))}):(run_\w+):(call_\w+)")


class ApprovalKey(Struct, frozen=True):
    """Whether a call of a run may be made. A button carries all of it, so that it works in any later process."""

    run_id: str
    call_id: str

    def button_id(self, decision: ApprovalDecision) -> str:
        return f"moot:{decision}:{self.run_id}:{self.call_id}"


def parse_button_id(button_id: str) -> tuple[ApprovalKey, ApprovalDecision] | None:
    """Read what a button carries, if it is one of a question."""
    found = _BUTTON_ID.fullmatch(button_id)
    if found is None:
        return None
    decision: ApprovalDecision = next(one for one in BUTTON_LABELS if one == found[1])
    return ApprovalKey(found[2], found[3]), decision


class PostedApproval(Struct, frozen=True):
    """A question that is open: in whose turn it came up, and where and how it was posted."""

    call_id: str
    turn_key: TurnKey
    position: int
    text: str


class OpenApprovals:
    """The calls of a run that are under way, and the questions about them that nobody has answered."""

    def __init__(self) -> None:
        self._arguments: dict[str, str] = {}
        self.open_approvals: dict[str, PostedApproval] = {}

    def record_call(self, call: ToolCalled) -> None:
        self._arguments[call.call_id] = _printable_arguments(call.arguments)

    def open_approval(self, event: ApprovalWanted, participant_name: str, position: int) -> PostedApproval:
        text = _approval_text(event, participant_name, self._arguments[event.call_id])
        asked = self.open_approvals[event.call_id] = PostedApproval(
            event.call_id, event.turn_key, position, text
        )
        return asked

    def close_approval(self, call_id: str) -> list[PostedApproval]:
        """Take out the question about a call, if there is one, and forget the call."""
        self._arguments.pop(call_id, None)
        asked = self.open_approvals.pop(call_id, None)
        return [asked] if asked else []

    def close_turn_approvals(self, turn_key: TurnKey) -> list[PostedApproval]:
        """Take out the questions of a turn that goes on no more."""
        return [
            self.open_approvals.pop(asked.call_id)
            for asked in tuple(self.open_approvals.values())
            if asked.turn_key == turn_key
        ]


def _approval_text(event: ApprovalWanted, participant_name: str, arguments: str) -> str:
    tool = event.name.replace("`", "'")
    [block] = split_piece(CodeBlock("json", arguments))
    lines = [
        f"**{strip_markdown(participant_name)}** wants to call `{tool}`, which may change something:",
        block.text,
    ]
    return "\n".join([*lines, REPEATED_CALL_WARNING] if event.again else lines)


def _printable_arguments(arguments: str) -> str:
    """Show the beginning of arguments, and in it all that could hide."""
    seen = "".join(
        char if char.isprintable() else f"\\u{ord(char):04x}" for char in arguments[:MAX_ARGUMENT_CHARS]
    )
    more = len(arguments) - MAX_ARGUMENT_CHARS
    return f"{seen or '{}'} … and {more:,} characters more: see the page" if more > 0 else seen or "{}"

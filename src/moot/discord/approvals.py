"""Approval prompts for tool calls in a Discord channel: text, button ids and the list of open prompts."""

import re
from typing import get_args

from msgspec import Struct

from moot.discord.format.messages import split_piece, strip_markdown
from moot.discord.format.pieces import CodeBlock
from moot.types.events import ApprovalRequested, ToolCalled, TurnKey
from moot.types.tools import ApprovalDecision, ApprovalOutcome

MAX_ARGUMENT_CHARS = 600
BUTTON_LABELS: dict[ApprovalDecision, str] = {
    "allow": "Allow",
    "always": "Allow in this discussion",
    "refuse": "Refuse",
}
OUTCOME_TEXTS: dict[ApprovalOutcome, str] = {
    "allow": "Allowed.",
    "always": "Allowed, now and for the rest of this discussion.",
    "refuse": "Refused.",
    "expired": "No answer in time. The tool was not called.",
    "stopped": "Stopped. The tool was not called.",
}
INTERRUPTED_TEXT = "The turn was interrupted. This approval is no longer needed."
REPEATED_CALL_WARNING = "**This call may already have run**, before the turn was interrupted."
_BUTTON_ID = re.compile(rf"moot:({'|'.join(get_args(ApprovalDecision))}):(run_\w+):(call_\w+)")


class ApprovalKey(Struct, frozen=True):
    """Identifies one tool call. The button id contains all of it, so buttons work after a restart."""

    run_id: str
    call_id: str

    def button_id(self, decision: ApprovalDecision) -> str:
        return f"moot:{decision}:{self.run_id}:{self.call_id}"


def parse_button_id(button_id: str) -> tuple[ApprovalKey, ApprovalDecision] | None:
    """Return None if the id is not one of an approval button."""
    found = _BUTTON_ID.fullmatch(button_id)
    if found is None:
        return None
    decision: ApprovalDecision = next(one for one in BUTTON_LABELS if one == found[1])
    return ApprovalKey(found[2], found[3]), decision


class PostedApproval(Struct, frozen=True):
    call_id: str
    turn_key: TurnKey
    position: int  # of the prompt in the run's delivery steps
    text: str


class OpenApprovals:
    """Tool calls of a run that have not returned, and their unanswered prompts."""

    def __init__(self) -> None:
        self._arguments: dict[str, str] = {}
        self.open_approvals: dict[str, PostedApproval] = {}

    def record_call(self, call: ToolCalled) -> None:
        self._arguments[call.call_id] = _printable_arguments(call.arguments)

    def open_approval(self, event: ApprovalRequested, participant_name: str, position: int) -> PostedApproval:
        text = _approval_text(event, participant_name, self._arguments[event.call_id])
        approval = self.open_approvals[event.call_id] = PostedApproval(event.call_id, event.turn_key, position, text)
        return approval

    def close_approval(self, call_id: str) -> list[PostedApproval]:
        """Forget a call. Returns its prompt, or an empty list."""
        self._arguments.pop(call_id, None)
        approval = self.open_approvals.pop(call_id, None)
        return [approval] if approval else []

    def close_turn_approvals(self, turn_key: TurnKey) -> list[PostedApproval]:
        return [
            self.open_approvals.pop(approval.call_id)
            for approval in tuple(self.open_approvals.values())
            if approval.turn_key == turn_key
        ]


def _approval_text(event: ApprovalRequested, participant_name: str, arguments: str) -> str:
    tool = event.name.replace("`", "'")
    [block] = split_piece(CodeBlock("json", arguments))
    lines = [f"**{strip_markdown(participant_name)}** wants to call `{tool}`, which may change something:", block.text]
    return "\n".join([*lines, REPEATED_CALL_WARNING] if event.repeated else lines)


def _printable_arguments(arguments: str) -> str:
    """Truncate the arguments and escape non-printable characters, which could hide text from the user."""
    seen = "".join(char if char.isprintable() else f"\\u{ord(char):04x}" for char in arguments[:MAX_ARGUMENT_CHARS])
    more = len(arguments) - MAX_ARGUMENT_CHARS
    return f"{seen or '{}'} … and {more:,} more characters: see the page" if more > 0 else seen or "{}"

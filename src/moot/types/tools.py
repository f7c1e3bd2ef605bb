"""Tools, tool calls, results and approval values."""

import re
from typing import Annotated, Literal

from msgspec import Meta, Raw, Struct

BUILTIN_SERVER_NAME = "moot"  # server name of the built-in tools
MAX_RESULT_CHARACTERS = 40_000  # length limit of a result in a model request
MAX_SHOWN_CHARACTERS = 4_000  # length limit of a result in events and storage
MAX_ARGUMENTS_CHARACTERS = 100_000

SERVER_NAME_PATTERN = r"^[a-z0-9][a-z0-9_-]{0,31}(?!\n)$"
TOOL_NAME_PATTERN = r"^[a-z0-9][a-z0-9_-]{0,31}(/[^\s\x00/]{1,128})?(?!\n)$"

ToolName = Annotated[str, Meta(max_length=161, pattern=TOOL_NAME_PATTERN)]  # `server`, or `server/tool`

ApprovalDecision = Literal["allow", "refuse", "always"]  # `always`: for the rest of this discussion
ApprovalOutcome = ApprovalDecision | Literal["expired", "stopped"]  # also: timeout, or the run was stopped


class ToolInfo(Struct, frozen=True, kw_only=True):
    """One tool of a server."""

    name: str
    description: str = ""
    parameters: Raw = Raw(b'{"type":"object"}')  # JSON schema
    has_effects: bool = True  # False: read-only, so that a call needs no approval


class ToolOutcome(Struct, frozen=True):
    """Result of a tool call. The model receives errors like any other result."""

    content: str
    is_error: bool = False


class ToolUse(Struct, frozen=True, kw_only=True):
    """A finished tool call, stored with the message of its turn."""

    call_id: str
    name: str
    arguments: str
    content: str
    is_error: bool
    seconds: float
    text_offset: int  # length of the turn's text before this call


def is_server_name(name: str) -> bool:
    return re.match(SERVER_NAME_PATTERN, name) is not None


def truncate_with_note(text: str, max_chars: int) -> str:
    """Return the string unchanged if it fits; the note adds to `max_chars`."""
    if len(text) <= max_chars:
        return text
    return f"{text[:max_chars]}\n[Cut here: this was {len(text):,} characters long, and {max_chars:,} are shown.]"

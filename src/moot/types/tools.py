"""Tools: what a model may call, what came of a call, and what people say to one that has effects."""

import re
from typing import Annotated, Literal

from msgspec import Meta, Raw, Struct

BUILTIN_SERVER_NAME = "moot"  # the server of Moot's own tools
MAX_RESULT_CHARACTERS = 40_000  # characters that a model is told
MAX_SHOWN_CHARACTERS = 4_000  # characters that people are shown, and that are kept
MAX_ARGUMENTS_CHARACTERS = 100_000

SERVER_NAME_PATTERN = r"^[a-z0-9][a-z0-9_-]{0,31}(?!\n)$"
TOOL_NAME_PATTERN = r"^[a-z0-9][a-z0-9_-]{0,31}(/[^\s\x00/]{1,128})?(?!\n)$"

ServerName = Annotated[str, Meta(pattern=SERVER_NAME_PATTERN)]
ToolName = Annotated[str, Meta(max_length=161, pattern=TOOL_NAME_PATTERN)]  # `server`, or `server/tool`

ApprovalDecision = Literal["allow", "refuse", "always"]  # always is: for the rest of this discussion
ApprovalOutcome = (
    ApprovalDecision | Literal["expired", "stopped"]
)  # and what it comes to where nobody answers


class ToolInfo(Struct, frozen=True, kw_only=True):
    """One tool of a server; `parameters` is a JSON schema. One with `effects` changes something when it is called."""

    name: str
    description: str = ""
    parameters: Raw = Raw(b'{"type":"object"}')
    effects: bool = True


class ToolOutcome(Struct, frozen=True):
    """What came of a call, as text; an error is told to the model like any other."""

    content: str
    is_error: bool = False


class ToolUse(Struct, frozen=True, kw_only=True):
    """A call as it is kept with its turn, which had said `said` characters by then."""

    call_id: str
    name: str
    arguments: str
    content: str
    is_error: bool
    seconds: float
    said: int


def is_server_name(name: str) -> bool:
    return re.match(SERVER_NAME_PATTERN, name) is not None


def truncate_with_note(text: str, max_chars: int) -> str:
    """Shorten a text that is too long, and say so in it."""
    if len(text) <= max_chars:
        return text
    return f"{text[:max_chars]}\n[Cut here: this was {len(text):,} characters long, and {max_chars:,} are shown.]"

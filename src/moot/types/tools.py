"""Tools: what a model may call, what came of a call, and what people say to one that has effects."""

import re
from typing import Annotated, Literal

from msgspec import Meta, Raw, Struct

OWN = "moot"  # the server of Moot's own tools
LONGEST_RESULT = 40_000  # characters that a model is told
LONGEST_SHOWN = 4_000  # characters that people are shown, and that are kept
LONGEST_ARGUMENTS = 100_000

SERVER_NAME = r"^[a-z0-9][a-z0-9_-]{0,31}(?!\n)$"
TOOL_NAME = r"^[a-z0-9][a-z0-9_-]{0,31}(/[^\s\x00/]{1,128})?(?!\n)$"

ServerName = Annotated[str, Meta(pattern=SERVER_NAME)]
ToolName = Annotated[str, Meta(max_length=161, pattern=TOOL_NAME)]  # `server`, or `server/tool`

Decision = Literal["allow", "refuse", "always"]  # always is: for the rest of this discussion
Approval = Decision | Literal["expired", "stopped"]  # and what it comes to where nobody answers


class ToolInfo(Struct, frozen=True, kw_only=True):
    """One tool of a server; `parameters` is a JSON schema. One with `effects` changes something when it is called."""

    name: str
    description: str = ""
    parameters: Raw = Raw(b'{"type":"object"}')
    effects: bool = True


class Outcome(Struct, frozen=True):
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
    return re.match(SERVER_NAME, name) is not None


def cut(text: str, longest: int) -> str:
    """Shorten a text that is too long, and say so in it."""
    if len(text) <= longest:
        return text
    return f"{text[:longest]}\n[Cut here: this was {len(text):,} characters long, and {longest:,} are shown.]"

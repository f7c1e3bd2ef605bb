"""A guess at tokens, where nobody has counted: so many characters each."""

from collections.abc import Iterable
from math import ceil

from moot.model.chunks import Text, Thought, ToolCall
from moot.model.measures import CHARACTERS_PER_TOKEN
from moot.model.requests import File, Part, ToolResult

TOKENS_A_FILE = 1000


def tokens(text: str, rate: float = CHARACTERS_PER_TOKEN) -> int:
    return ceil(len(text) / rate)


def tokens_of(parts: Iterable[Part], rate: float = CHARACTERS_PER_TOKEN) -> int:
    return sum(_part(part, rate) for part in parts)


def _part(part: Part, rate: float) -> int:
    match part:
        case Text(text) | Thought(text):
            return tokens(text, rate)
        case ToolCall(_, _, arguments):
            return tokens(arguments, rate)
        case ToolResult(_, _, content):
            return tokens(content, rate)
        case File():
            return TOKENS_A_FILE

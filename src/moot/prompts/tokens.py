"""Estimates the tokens of a text and truncates messages to a limit."""

from collections.abc import Iterable, Sequence
from math import ceil

from moot.types.chunks import Text, Thought, ToolCall
from moot.types.model_info import CHARACTERS_PER_TOKEN
from moot.types.requests import File, Part, ToolResult


def cut(text: str, most: int) -> str:
    """Shorten a text; … stands where words are missing."""
    return text if len(text) <= most else text[: most - 1].rstrip() + "…"


def one_line(text: str, most: int) -> str:
    """Put text on one line, so that it cannot look like a part of the prompt."""
    return cut(" ".join(text.split()), most)


def listed(names: Sequence[str]) -> str:
    return " and ".join(filter(None, [", ".join(names[:-1]), *names[-1:]]))


def fitted(texts: Sequence[str], room: int) -> list[str]:
    """Cut texts so that all of them fit: what short ones leave, the long ones may take."""
    most, left = room, room
    for place, length in enumerate(sorted(len(text) for text in texts)):
        most = left // (len(texts) - place)
        if length > most:
            break
        left -= length
    else:
        return list(texts)
    return [cut(text, max(most, 1)) for text in texts]


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

"""Token estimates for texts and message parts, and truncation to a character limit."""

from collections.abc import Iterable, Sequence
from math import ceil

from moot.types.chunks import Text, Thought, ToolCall
from moot.types.model_info import CHARACTERS_PER_TOKEN
from moot.types.requests import File, Part, ToolResult


def truncate_text(text: str, max_chars: int) -> str:
    """A truncated string ends with an ellipsis, which counts toward the limit."""
    return text if len(text) <= max_chars else text[: max_chars - 1].rstrip() + "…"


def one_line(text: str, max_chars: int) -> str:
    """Collapse whitespace, so that a value cannot imitate a line of the prompt."""
    return truncate_text(" ".join(text.split()), max_chars)


def join_names(names: Sequence[str]) -> str:
    return " and ".join(filter(None, [", ".join(names[:-1]), *names[-1:]]))


def fit_texts(texts: Sequence[str], max_chars: int) -> list[str]:
    """Truncate texts to a total limit. Space that short texts leave goes to the long ones."""
    most, left = max_chars, max_chars
    for place, length in enumerate(sorted(len(text) for text in texts)):
        most = left // (len(texts) - place)
        if length > most:
            break
        left -= length
    else:
        return list(texts)
    return [truncate_text(text, max(most, 1)) for text in texts]


TOKENS_PER_FILE = 1000


def estimate_tokens(text: str, rate: float = CHARACTERS_PER_TOKEN) -> int:
    return ceil(len(text) / rate)


def estimate_part_tokens(parts: Iterable[Part], rate: float = CHARACTERS_PER_TOKEN) -> int:
    texts = map(part_text, parts)
    return sum(TOKENS_PER_FILE if text is None else estimate_tokens(text, rate) for text in texts)


def part_text(part: Part) -> str | None:
    """Return None for a file."""
    match part:
        case Text(text) | Thought(text) | ToolCall(arguments=text) | ToolResult(content=text):
            return text
        case File():
            return None

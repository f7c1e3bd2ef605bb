"""Planned messages, and the splitter from Markdown pieces to messages within Discord's length limit.

Each message is valid Markdown: code has its fences, a table its header row, open marks are closed.
"""

import re
from typing import Literal, assert_never

from msgspec import Struct

from moot.discord.format.boundaries import find_split
from moot.discord.format.pieces import CodeBlock, MarkdownPiece, MarkdownTable, Prose
from moot.discord.format.segmenter import Segmenter
from moot.types.events import TurnKey

MAX_MESSAGE_CHARS = 1950  # Discord's limit is 2,000; the rest is for a label and code fences
SMALL_PRINT_PREFIX = "-# "  # Discord's syntax for subtext
MAX_LABEL_CHARS = 36  # label and table fences together must fit into the 50 characters above
MessageKind = Literal["text", "code", "table", "board"]
_FENCE = "```"
_BACKTICK_RUN = re.compile("`{3,}")
_CODE_OR_SPAN = re.compile(r"```.*?```|(?<!`)(`{1,2})(?!`)[^\n]*?[^`\n]\1(?!`)", re.DOTALL)
_OPEN_SPAN = re.compile(r"(?<!`)(`{1,2})[^\n`](?:[^\n]*[^\n`])?\Z")
_STYLE_MARK = re.compile(r"\*{1,3}|__|~~|\|\|")


class MessageAuthor(Struct, frozen=True):
    name: str
    avatar: str | None = None  # URL; None shows Discord's default


MOOT_AUTHOR = MessageAuthor("Moot")


class PlannedMessage(Struct, frozen=True):
    """Text within the limit of one message. `RunPresenter` sets the fields from `author` on."""

    text: str
    kind: MessageKind = "text"  # "table": rendered as an image; "board": the whiteboard after the run
    pause_seconds: float = 0.0  # wait before the typing indicator; 0 for the first message
    typing_seconds: float = 0.0  # show the typing indicator before the message
    author: MessageAuthor = MOOT_AUTHOR
    position: int = 0  # index in the run's steps; the same on every replay
    turn_key: TurnKey | None = None  # None: not part of a turn, so never retracted or dropped with one
    is_reasoning: bool = False  # send to the reasoning channel
    call_id: str | None = None  # the message is an approval prompt for this tool call


def split_piece(piece: MarkdownPiece) -> list[PlannedMessage]:
    match piece:
        case Prose(text):
            return [PlannedMessage(part) for part in _split_prose(_BACKTICK_RUN.sub("``", text))]
        case CodeBlock():
            return [PlannedMessage(part, "code") for part in _split_code_block(piece)]
        case MarkdownTable(text):
            return [PlannedMessage(part, "table") for part in _split_table(_BACKTICK_RUN.sub("``", text))]
        case _:
            assert_never(piece)


def join_messages(message: PlannedMessage, other: PlannedMessage) -> PlannedMessage | None:
    """Join two messages into one. Returns None if they do not fit or one of them is a table."""
    if "table" in {message.kind, other.kind}:
        return None
    beside_code = other.kind == "code" or message.text.endswith(_FENCE)
    apart = not beside_code or message.text.endswith("\n") or other.text.startswith("\n")
    text = message.text + ("" if apart else "\n") + other.text
    return PlannedMessage(text) if len(text) <= MAX_MESSAGE_CHARS else None


def close_open_marks(text: str) -> str:
    """Close open bold, italic, spoiler and code marks, if the result fits into a message."""
    rest = _CODE_OR_SPAN.sub("", text)
    span = _OPEN_SPAN.search(rest) if not text.endswith("`") else None
    if span is not None:
        rest = rest[: span.start()]
    opened: list[str] = []
    for found in _STYLE_MARK.finditer(rest):
        mark, before, after = found[0], rest[: found.start()][-1:], rest[found.end() :][:1]
        if mark in opened:
            del opened[opened.index(mark) :]
        elif not before.isalnum() and (after.strip() or span is not None):
            opened.append(mark)
    closed = text + (span[1] if span else "") + "".join(reversed(opened))
    return closed if len(closed) <= MAX_MESSAGE_CHARS else text


def strip_markdown(name: str) -> str:
    """Remove Markdown characters from a name and truncate it to `MAX_LABEL_CHARS`."""
    return "".join(char for char in name if char not in "*_`~|")[:MAX_LABEL_CHARS]


def append_piece(messages: list[PlannedMessage], piece: MarkdownPiece) -> None:
    """Append a piece in place, joined to the last message if it fits."""
    for message in split_piece(piece):
        joined = join_messages(messages[-1], message) if messages else None
        if joined is None:
            messages.append(message)
        else:
            messages[-1] = joined


def small_print(text: str) -> str:
    """Format text as one line of Discord subtext."""
    return f"{SMALL_PRINT_PREFIX}{' '.join(text.split())}"[:MAX_MESSAGE_CHARS]


def split_into_messages(text: str) -> list[str]:
    """Split a finished text into messages. `MessageFormatter` splits streamed answers. Tables stay plain text."""
    messages: list[PlannedMessage] = []
    segments = Segmenter(sentences=False)
    for piece in [*segments.feed(text), *segments.finish_text()]:
        append_piece(messages, Prose(piece.text) if isinstance(piece, MarkdownTable) else piece)
    return [stripped for message in messages if (stripped := message.text.strip())]


def _split_prose(text: str) -> list[str]:
    parts = []
    while len(text) > MAX_MESSAGE_CHARS:
        end = find_split(text, MAX_MESSAGE_CHARS)
        parts.append(text[:end])
        text = text[end:]
    return [*parts, text]


def _split_code_block(code: CodeBlock) -> list[str]:
    """Split a code block and repeat its fences in each part."""
    head, tail = f"{_FENCE}{code.language}\n", f"\n{_FENCE}"
    lead = f"{_BACKTICK_RUN.sub('``', code.leading_text)}\n" if code.leading_text else ""
    # Zero-width spaces, so that backticks in the code do not close the fence.
    text = _BACKTICK_RUN.sub(lambda run: "\u200b".join(run[0]), code.text)
    room = MAX_MESSAGE_CHARS - len(head) - len(tail)
    parts = _split_lines(text, room)
    if lead and len(lead) + len(parts[0]) > room:
        return [*_split_prose(lead), *(f"{head}{part}{tail}" for part in parts)]
    return [f"{'' if index else lead}{head}{part}{tail}" for index, part in enumerate(parts)]


def _split_table(text: str) -> list[str]:
    """Split a long table between rows and repeat its header in each part."""
    if len(text) <= MAX_MESSAGE_CHARS:
        return [text]
    head = "".join(text.splitlines(keepends=True)[:2])
    if len(head) > MAX_MESSAGE_CHARS // 2:
        return _split_prose(text)
    return [head + part for part in _split_lines(text[len(head) :], MAX_MESSAGE_CHARS - len(head))]


def _split_lines(text: str, limit: int) -> list[str]:
    """Split after line ends; split a line that is longer than `limit` at the limit."""
    parts, part = [], ""
    for line in text.splitlines(keepends=True):
        if part and len(part) + len(line) > limit:
            parts.append(part)
            part = ""
        part += line
        while len(part) > limit:
            parts.append(part[:limit])
            part = part[limit:]
    return [kept.removesuffix("\n") for kept in [*parts, part] if kept]

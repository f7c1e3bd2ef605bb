"""Fitting pieces into messages: cut where they are too long, each with its fences or its table's head, marks closed."""

import re
from typing import Literal, assert_never

from msgspec import Struct

from moot.discord.format.boundaries import find_split
from moot.discord.format.pieces import CodeBlock, MarkdownPiece, MarkdownTable, Prose
from moot.discord.format.segmenter import Segmenter

MAX_MESSAGE_CHARS = 1950  # characters of a message; Discord takes 2,000
SMALL_PRINT_PREFIX = "-# "  # how small print begins
MAX_LABEL_CHARS = 36  # before a message that is as long as it may be, and in a block because it is a table
PartKind = Literal["text", "code", "table"]
_FENCE = "```"
_BACKTICK_RUN = re.compile("`{3,}")
_CODE_OR_SPAN = re.compile(r"```.*?```|(?<!`)(`{1,2})(?!`)[^\n]*?[^`\n]\1(?!`)", re.DOTALL)
_OPEN_SPAN = re.compile(r"(?<!`)(`{1,2})[^\n`](?:[^\n]*[^\n`])?\Z")
_STYLE_MARK = re.compile(r"\*{1,3}|__|~~|\|\|")


class MessagePart(Struct, frozen=True):
    """Text that fits into one message, alone or beside others."""

    text: str
    kind: PartKind


def split_piece(piece: MarkdownPiece) -> list[MessagePart]:
    match piece:
        case Prose(text):
            return [MessagePart(part, "text") for part in _split_prose(_BACKTICK_RUN.sub("``", text))]
        case CodeBlock():
            return [MessagePart(part, "code") for part in _split_code_block(piece)]
        case MarkdownTable(text):
            return [MessagePart(part, "table") for part in _split_table(_BACKTICK_RUN.sub("``", text))]
        case _:
            assert_never(piece)


def join_parts(part: MessagePart, other: MessagePart) -> MessagePart | None:
    """Put two parts into one message, if they fit; a table stays alone, and code has its lines for itself."""
    if "table" in {part.kind, other.kind}:
        return None
    beside_code = other.kind == "code" or part.text.endswith(_FENCE)
    apart = not beside_code or part.text.endswith("\n") or other.text.startswith("\n")
    text = part.text + ("" if apart else "\n") + other.text
    return MessagePart(text, "text") if len(text) <= MAX_MESSAGE_CHARS else None


def close_open_marks(text: str) -> str:
    """Return a text with the marks closed that are still open at its end."""
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
    whole = text + (span[1] if span else "") + "".join(reversed(opened))
    return whole if len(whole) <= MAX_MESSAGE_CHARS else text


def strip_markdown(name: str) -> str:
    """Return a name without what Discord would take for marks, and not too long to stand before other text."""
    return "".join(char for char in name if char not in "*_`~|")[:MAX_LABEL_CHARS]


def append_piece(parts: list[MessagePart], piece: MarkdownPiece) -> None:
    """Add a piece to some parts, as far as it fits to the last of them."""
    for part in split_piece(piece):
        together = join_parts(parts[-1], part) if parts else None
        if together is None:
            parts.append(part)
        else:
            parts[-1] = together


def small_print(text: str) -> str:
    """Write a line in small print."""
    return f"{SMALL_PRINT_PREFIX}{' '.join(text.split())}"[:MAX_MESSAGE_CHARS]


def split_into_messages(text: str) -> list[str]:
    """Cut a text that somebody wrote into messages; a table in it is text as any other."""
    parts: list[MessagePart] = []
    segments = Segmenter(sentences=False)
    for piece in [*segments.feed(text), *segments.finish_text()]:
        append_piece(parts, Prose(piece.text) if isinstance(piece, MarkdownTable) else piece)
    return [part for one in parts if (part := one.text.strip())]


def _split_prose(text: str) -> list[str]:
    parts = []
    while len(text) > MAX_MESSAGE_CHARS:
        place = find_split(text, MAX_MESSAGE_CHARS)
        parts.append(text[:place])
        text = text[place:]
    return [*parts, text]


def _split_code_block(code: CodeBlock) -> list[str]:
    """Write a block with its fences, as often as it takes."""
    head, tail = f"{_FENCE}{code.language}\n", f"\n{_FENCE}"
    lead = f"{_BACKTICK_RUN.sub('``', code.leading_text)}\n" if code.leading_text else ""
    text = _BACKTICK_RUN.sub(lambda run: "\u200b".join(run[0]), code.text)  # else they would end the block
    room = MAX_MESSAGE_CHARS - len(head) - len(tail)
    parts = _split_lines(text, room)
    if lead and len(lead) + len(parts[0]) > room:
        return [*_split_prose(lead), *(f"{head}{part}{tail}" for part in parts)]
    return [f"{'' if place else lead}{head}{part}{tail}" for place, part in enumerate(parts)]


def _split_table(text: str) -> list[str]:
    """Cut a long table between its rows, and give each part the head."""
    if len(text) <= MAX_MESSAGE_CHARS:
        return [text]
    head = "".join(text.splitlines(keepends=True)[:2])
    if len(head) > MAX_MESSAGE_CHARS // 2:
        return _split_prose(text)
    return [head + part for part in _split_lines(text[len(head) :], MAX_MESSAGE_CHARS - len(head))]


def _split_lines(text: str, limit: int) -> list[str]:
    """Cut a text after lines, and a line that is too long wherever it must be."""
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

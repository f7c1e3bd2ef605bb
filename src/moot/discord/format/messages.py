"""Fitting pieces into messages: cut where they are too long, each with its fences or its table's head, marks closed."""

import re
from typing import Literal, assert_never

from msgspec import Struct

from moot.discord.format.boundaries import cut
from moot.discord.format.pieces import Code, Piece, Prose, Table
from moot.discord.format.segmenter import Segmenter

LONGEST = 1950  # characters of a message; Discord takes 2,000
ASIDE = "-# "  # how small print begins
NAME = 36  # before a message that is as long as it may be, and in a block because it is a table
Kind = Literal["text", "code", "table"]
_FENCE = "```"
_RUN = re.compile("`{3,}")
_CODE = re.compile(r"```.*?```|(?<!`)(`{1,2})(?!`)[^\n]*?[^`\n]\1(?!`)", re.DOTALL)
_OPEN_SPAN = re.compile(r"(?<!`)(`{1,2})[^\n`](?:[^\n]*[^\n`])?\Z")
_MARK = re.compile(r"\*{1,3}|__|~~|\|\|")


class Part(Struct, frozen=True):
    """Text that fits into one message, alone or beside others."""

    text: str
    kind: Kind


def fitted(piece: Piece) -> list[Part]:
    match piece:
        case Prose(text):
            return [Part(part, "text") for part in _cut(_RUN.sub("``", text))]
        case Code():
            return [Part(part, "code") for part in _blocks(piece)]
        case Table(text):
            return [Part(part, "table") for part in _tables(_RUN.sub("``", text))]
        case _:
            assert_never(piece)


def joined(part: Part, other: Part) -> Part | None:
    """Put two parts into one message, if they fit; a table stays alone, and code has its lines for itself."""
    if "table" in {part.kind, other.kind}:
        return None
    beside_code = other.kind == "code" or part.text.endswith(_FENCE)
    apart = not beside_code or part.text.endswith("\n") or other.text.startswith("\n")
    text = part.text + ("" if apart else "\n") + other.text
    return Part(text, "text") if len(text) <= LONGEST else None


def closed(text: str) -> str:
    """Return a text with the marks closed that are still open at its end."""
    rest = _CODE.sub("", text)
    span = _OPEN_SPAN.search(rest) if not text.endswith("`") else None
    if span is not None:
        rest = rest[: span.start()]
    opened: list[str] = []
    for found in _MARK.finditer(rest):
        mark, before, after = found[0], rest[: found.start()][-1:], rest[found.end() :][:1]
        if mark in opened:
            del opened[opened.index(mark) :]
        elif not before.isalnum() and (after.strip() or span is not None):
            opened.append(mark)
    whole = text + (span[1] if span else "") + "".join(reversed(opened))
    return whole if len(whole) <= LONGEST else text


def unmarked(name: str) -> str:
    """Return a name without what Discord would take for marks, and not too long to stand before other text."""
    return "".join(char for char in name if char not in "*_`~|")[:NAME]


def gather(parts: list[Part], piece: Piece) -> None:
    """Add a piece to some parts, as far as it fits to the last of them."""
    for part in fitted(piece):
        together = joined(parts[-1], part) if parts else None
        if together is None:
            parts.append(part)
        else:
            parts[-1] = together


def small(text: str) -> str:
    """Write a line in small print."""
    return f"{ASIDE}{' '.join(text.split())}"[:LONGEST]


def messages_of(text: str) -> list[str]:
    """Cut a text that somebody wrote into messages; a table in it is text as any other."""
    parts: list[Part] = []
    segments = Segmenter(sentences=False)
    for piece in [*segments.feed(text), *segments.end()]:
        gather(parts, Prose(piece.text) if isinstance(piece, Table) else piece)
    return [part for one in parts if (part := one.text.strip())]


def _cut(text: str) -> list[str]:
    parts = []
    while len(text) > LONGEST:
        place = cut(text, LONGEST)
        parts.append(text[:place])
        text = text[place:]
    return [*parts, text]


def _blocks(code: Code) -> list[str]:
    """Write a block with its fences, as often as it takes."""
    head, tail = f"{_FENCE}{code.language}\n", f"\n{_FENCE}"
    lead = f"{_RUN.sub('``', code.lead)}\n" if code.lead else ""
    text = _RUN.sub(lambda run: "\u200b".join(run[0]), code.text)  # else they would end the block
    room = LONGEST - len(head) - len(tail)
    parts = _lines(text, room)
    if lead and len(lead) + len(parts[0]) > room:
        return [*_cut(lead), *(f"{head}{part}{tail}" for part in parts)]
    return [f"{'' if place else lead}{head}{part}{tail}" for place, part in enumerate(parts)]


def _tables(text: str) -> list[str]:
    """Cut a long table between its rows, and give each part the head."""
    if len(text) <= LONGEST:
        return [text]
    head = "".join(text.splitlines(keepends=True)[:2])
    if len(head) > LONGEST // 2:
        return _cut(text)
    return [head + part for part in _lines(text[len(head) :], LONGEST - len(head))]


def _lines(text: str, room: int) -> list[str]:
    """Cut a text after lines, and a line that is too long wherever it must be."""
    parts, part = [], ""
    for line in text.splitlines(keepends=True):
        if part and len(part) + len(line) > room:
            parts.append(part)
            part = ""
        part += line
        while len(part) > room:
            parts.append(part[:room])
            part = part[room:]
    return [kept.removesuffix("\n") for kept in [*parts, part] if kept]

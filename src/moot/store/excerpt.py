"""An excerpt: the words around the place in a text where a search found something."""

import re
import unicodedata

from msgspec import Struct

from moot.store.search import LONGEST, words

WORD = re.compile(r"[^\W_]+")
BEFORE, AFTER = 32, 120  # characters around what was found, about


class Excerpt(Struct, frozen=True):
    """What was found, with what stands before and after it on one line."""

    before: str
    found: str
    after: str


def excerpt(text: str, q: str) -> Excerpt:
    """Cut out where the longest word that is sought begins a word, as it tells most; otherwise how the text begins."""
    sought = max((_folded(word) for part in words(q) for word in WORD.findall(part)), key=len, default="")
    places = (one.span() for one in WORD.finditer(text) if sought and _folded(one[0]).startswith(sought))
    start, end = next(places, (0, 0))
    end = min(end, start + LONGEST)
    return Excerpt(_end_of(text[:start]), text[start:end], _beginning_of(text[end:]))


def _folded(word: str) -> str:
    if word.isascii():
        return word.lower()
    return "".join(
        one for one in unicodedata.normalize("NFKD", word) if not unicodedata.combining(one)
    ).lower()


def _end_of(text: str) -> str:
    line = " ".join(text[-4 * BEFORE :].split()) + text[-1:].isspace() * " "
    if len(line) <= BEFORE and len(text) <= 4 * BEFORE:
        return line.lstrip()
    near = line[-BEFORE:]
    return "… " + (near.partition(" ")[2] or near)


def _beginning_of(text: str) -> str:
    line = text[:1].isspace() * " " + " ".join(text[: 4 * AFTER].split())
    if len(line) <= AFTER and len(text) <= 4 * AFTER:
        return line.rstrip()
    near = line[:AFTER]
    return (near.rpartition(" ")[0] or near) + " …"

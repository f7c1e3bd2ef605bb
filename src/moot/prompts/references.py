"""References to other discussions: found in what somebody writes, summed up, and handed on as material."""

import re
from collections.abc import Sequence
from typing import Annotated

from msgspec import Meta, Struct

from moot.prompts.attachments import quoted
from moot.prompts.templates import written
from moot.prompts.tokens import one_line
from moot.types.chunks import Text
from moot.types.primitives import VISIBLE
from moot.types.requests import ModelRequest, user

MOST = 5  # references of a message
POINT = 500  # characters
MOST_TOKENS = 2000
REFERENCE = re.compile(r'@"([^"\n]{1,200})"')


class Points(Struct, frozen=True):
    points: Annotated[
        tuple[Annotated[str, Meta(max_length=POINT, pattern=VISIBLE)], ...], Meta(min_length=3, max_length=5)
    ]


def references(words: str) -> list[str]:
    """List the titles that are referred to, each once, in the order in which they come."""
    found: dict[str, str] = {}
    for title in REFERENCE.findall(words):
        if title.strip():
            found.setdefault(same(title), title.strip())
    return list(found.values())


def same(title: str) -> str:
    """Write a title so that those which differ only in case are equal."""
    return title.strip().casefold()


def recapping(material: str) -> ModelRequest:
    return ModelRequest(model="", system=written("recap"), messages=(user(material),), max_tokens=MOST_TOKENS)


def recap_part(title: str, points: Sequence[str]) -> Text:
    """Write a recap as a part of the message that refers to it: fenced, and said to be material."""
    lines = "\n".join(f"- {one_line(point, POINT)}" for point in points)
    fenced = quoted(one_line(title, 200), lines)
    return Text(f"{written('referred_to')}\n\n{fenced.text}")

"""References to other discussions (`@"title"`): parsing, summary request, and the message part."""

import re
from collections.abc import Sequence
from typing import Annotated

from msgspec import Meta, Struct

from moot.prompts.attachments import quote_block
from moot.prompts.library import load_template
from moot.prompts.tasks.task import task_request
from moot.prompts.tokens import one_line
from moot.types.chunks import Text
from moot.types.primitives import VISIBLE_START_PATTERN
from moot.types.requests import ModelRequest

MAX_REFERENCES = 5  # per message
MAX_POINT_CHARACTERS = 500
MAX_SUMMARY_TOKENS = 2000
REFERENCE_PATTERN = re.compile(r'@"([^"\n]{1,200})"')


class SummaryPoints(Struct, frozen=True):
    points: Annotated[
        tuple[Annotated[str, Meta(max_length=MAX_POINT_CHARACTERS, pattern=VISIBLE_START_PATTERN)], ...],
        Meta(min_length=3, max_length=5),
    ]


def find_references(text: str) -> list[str]:
    """Return unique titles in order of appearance. Case is ignored."""
    found: dict[str, str] = {}
    for title in REFERENCE_PATTERN.findall(text):
        if title.strip():
            found.setdefault(normalize_title(title), title.strip())
    return list(found.values())


def normalize_title(title: str) -> str:
    """Key for case-insensitive comparison."""
    return title.strip().casefold()


def reference_summary_request(material: str) -> ModelRequest:
    return task_request("reference_summary", material, max_tokens=MAX_SUMMARY_TOKENS)


def reference_summary_part(title: str, points: Sequence[str]) -> Text:
    """Fence the summary and mark it as material, so that the model does not follow instructions in it."""
    lines = "\n".join(f"- {one_line(point, MAX_POINT_CHARACTERS)}" for point in points)
    fenced = quote_block(one_line(title, 200), lines)
    return Text(f"{load_template('referred_to')}\n\n{fenced.text}")

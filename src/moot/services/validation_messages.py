"""Validation errors for users: msgspec's own message, or what it lacks, such as the known fields and values."""

import re
from collections.abc import Iterator, Sequence
from typing import Any

from msgspec import inspect

from moot.types import primitives
from moot.types.personas import Colour
from moot.types.stateless import API_KEY_PATTERN

FIELD_ERROR = re.compile(r"Object (missing required|contains unknown) field `(.*)`")
HINTS = {  # by the pattern in msgspec's message, or the whole message
    primitives.NO_NUL_PATTERN: "It must not contain a NUL character.",
    primitives.VISIBLE_START_PATTERN: "It must start with a visible character, not with a space.",
    primitives.ONE_LINE_PATTERN: "It must be one line, with no space at its ends.",
    primitives.EVENT_CURSOR_PATTERN: "Write a run and the number of its last event that you have, such as run_x:57.",
    primitives.PAGE_CURSOR_PATTERN: "Use the `next` field of the previous page.",
    primitives.ModelName.__metadata__[0].pattern: "Write provider/model, such as ollama/llama3.2.",  # type: ignore[attr-defined]
    Colour.__metadata__[0].pattern: "Write a colour as #rrggbb, such as #4a7c59.",  # type: ignore[attr-defined]
    API_KEY_PATTERN: "A key has only visible ASCII characters: paste it without spaces or line breaks.",
    "Invalid RFC3339 encoded date": "Write a day as 2026-11-15.",
}


def explain_validation_error(error: str, type_: Any, path: str = "") -> tuple[str, str]:
    """Return the field that msgspec's `error` is about, such as `participants[0].model`, and what is wrong with it.

    `path` is that of the value in `type_`, if the error does not end with it.
    """
    message, _, place = error.partition(" - at `$")
    path = path or place.strip("`.")
    types = list(_types_at(inspect.type_info(type_), re.findall(r"[^.\[\]]+", path)))
    if found := FIELD_ERROR.fullmatch(message):
        known = ", ".join(field.encode_name for one in types for field in getattr(one, "fields", ()))
        problem = "It is missing." if found[1] == "missing required" else f"There is no such field; known are {known}."
        return f"{path}.{found[2]}".lstrip("."), problem
    if message.startswith("Invalid enum value"):
        values = ", ".join(str(value) for one in types for value in getattr(one, "values", ()))
        return path, f"{message}. Use one of {values}."
    hints = (hint for pattern, hint in HINTS.items() if repr(pattern) in message or pattern == message)
    return path, next(hints, f"{message.rstrip('.')}.")


def _types_at(info: inspect.Type, steps: Sequence[str]) -> Iterator[inspect.Type]:
    """Yield every type that the value at a path may have; several in a union."""
    match info:
        case inspect.UnionType(types=members):
            for member in members:
                yield from _types_at(member, steps)
        case inspect.Metadata(type=described):
            yield from _types_at(described, steps)
        case _ if not steps:
            yield info
        case inspect.StructType(fields=fields):
            for field in fields:
                if field.encode_name == steps[0]:
                    yield from _types_at(field.type, steps[1:])
        case inspect.CollectionType(item_type=item):
            yield from _types_at(item, steps[1:])

"""What does not fit a request, in words for whoever wrote it: what is wanted, and which values there are."""

import re
from collections.abc import Iterable, Iterator
from typing import Any

from msgspec import inspect

from moot.server.event_cursors import MARK
from moot.server.schemas import Cursor
from moot.types.personas import Colour
from moot.types.primitives import NO_NUL, ONE_LINE, VISIBLE, ModelName
from moot.types.stateless import KEY

KINDS = {
    "int": "a whole number",
    "float": "a number",
    "str": "text",
    "bool": "true or false",
    "array": "a list",
    "object": "an object",
}
UNITS = {"str": "characters", "array": "entries"}
PATTERNS = {
    NO_NUL: "It must not hold a NUL character.",
    VISIBLE: "It must begin with something to see, not with a space.",
    ONE_LINE: "It must be one line, with no space at its ends.",
    KEY: "A key has only visible ASCII characters: paste it without spaces or line breaks.",
    ModelName.__metadata__[0].pattern: "Write provider/model, such as ollama/llama3.2.",  # type: ignore[attr-defined]
    Colour.__metadata__[0].pattern: "Write a colour as #rrggbb, such as #4a7c59.",  # type: ignore[attr-defined]
    MARK: "Write a run and the number of the last event that you have of it, such as run_x:57.",
    Cursor.__metadata__[0].pattern: "Take it from the `next` of the page before.",  # type: ignore[attr-defined]
}

# How msgspec says what does not fit.
VALUE = re.compile(r"Invalid enum value '?(.*?)'?", re.DOTALL)
TYPE = re.compile(r"Expected `([a-z |]+)`, got `([a-z]+)`")
LENGTH = re.compile(r"Expected `(str|array)` of length (>=|<=) (\d+)")
SIZE = re.compile(r"Expected `(?:int|float)` (>=|<=) ([\d.]+)")
MORE = re.compile(r"Expected `(?:int|float)` > ([\d.]+)")
PATTERN = "Expected `str` matching regex "
DAY = "Invalid RFC3339 encoded date"
MISSING = "Object missing required field"
UNKNOWN = "Object contains unknown field"


def worded(message: str, type_: Any, path: str = "") -> str:
    """Say what msgspec says of the value at a path, such as `participants[0].model`, in a type."""
    here = list(_at(type_, path))
    if message.startswith(MISSING):
        return "It is missing."
    if message.startswith(UNKNOWN):
        return f"There is no such field; known are {', '.join(_fields(here))}."
    if message == DAY:
        return "Write a day as 2026-11-15."
    if found := VALUE.fullmatch(message):
        return f"{found[1]!r} is none of {', '.join(_values(here))}."
    if found := TYPE.fullmatch(message):
        return _other_type(found[1], _values(here))
    if found := LENGTH.fullmatch(message):
        return _other_length(found[1], found[2], int(found[3]))
    if found := SIZE.fullmatch(message):
        return f"It must be at {_side(found[1])} {found[2]}."
    if found := MORE.fullmatch(message):
        return f"It must be more than {float(found[1]):g}."
    if message.startswith(PATTERN):
        return next((words for pattern, words in PATTERNS.items() if repr(pattern) in message), message)
    return message


def _other_type(wanted: str, values: list[str]) -> str:
    if values:
        return f"It must be one of {', '.join(values)}."
    return (
        f"It must be {' or '.join(KINDS.get(kind, kind) for kind in wanted.split(' | ') if kind != 'null')}."
    )


def _other_length(kind: str, sign: str, length: int) -> str:
    if (sign, length) == (">=", 1):
        return "It must not be empty."
    return f"It must have at {_side(sign)} {length:,} {UNITS[kind]}."


def _side(sign: str) -> str:
    return "least" if sign == ">=" else "most"


def _at(type_: Any, path: str) -> Iterator[inspect.Type]:
    """Find what may be at a path: more than one type, where there is a choice."""
    types = _choices([inspect.type_info(type_)])
    for step in re.findall(r"[^.\[\]]+", path):
        types = _choices(_steps(types, step))
    return types


def _choices(types: Iterable[inspect.Type]) -> Iterator[inspect.Type]:
    for one in types:
        if isinstance(one, inspect.UnionType):
            yield from _choices(one.types)
        elif isinstance(one, inspect.Metadata):  # a description of it
            yield from _choices([one.type])
        else:
            yield one


def _steps(types: Iterable[inspect.Type], step: str) -> Iterator[inspect.Type]:
    for one in types:
        if isinstance(one, inspect.StructType):
            yield from (field.type for field in one.fields if field.encode_name == step)
        elif isinstance(one, inspect.CollectionType):
            yield one.item_type


def _fields(types: Iterable[inspect.Type]) -> list[str]:
    structs = (one for one in types if isinstance(one, inspect.StructType))
    return [field.encode_name for struct in structs for field in struct.fields]


def _values(types: Iterable[inspect.Type]) -> list[str]:
    return [str(value) for one in types if isinstance(one, inspect.LiteralType) for value in one.values]

"""User-facing messages for msgspec validation errors, with the expected type and the allowed values."""

import re
from collections.abc import Iterable, Iterator
from typing import Any

from msgspec import inspect

from moot.types.personas import Colour
from moot.types.primitives import (
    EVENT_CURSOR_PATTERN,
    NO_NUL_PATTERN,
    ONE_LINE_PATTERN,
    PAGE_CURSOR_PATTERN,
    VISIBLE_START_PATTERN,
    ModelName,
)
from moot.types.stateless import API_KEY_PATTERN

TYPE_NAMES = {
    "int": "a whole number",
    "float": "a number",
    "str": "text",
    "bool": "true or false",
    "array": "a list",
    "object": "an object",
}
LENGTH_UNITS = {"str": "characters", "array": "entries"}
PATTERN_MESSAGES = {
    NO_NUL_PATTERN: "It must not contain a NUL character.",
    VISIBLE_START_PATTERN: "It must start with a visible character, not with a space.",
    ONE_LINE_PATTERN: "It must be one line, with no space at its ends.",
    API_KEY_PATTERN: "A key has only visible ASCII characters: paste it without spaces or line breaks.",
    ModelName.__metadata__[0].pattern: "Write provider/model, such as ollama/llama3.2.",  # type: ignore[attr-defined]
    Colour.__metadata__[0].pattern: "Write a colour as #rrggbb, such as #4a7c59.",  # type: ignore[attr-defined]
    EVENT_CURSOR_PATTERN: "Write a run and the number of its last event that you have, such as run_x:57.",
    PAGE_CURSOR_PATTERN: "Use the `next` field of the previous page.",
}

# Patterns of msgspec's error messages.
INVALID_ENUM = re.compile(r"Invalid enum value '?(.*?)'?", re.DOTALL)
WRONG_TYPE = re.compile(r"Expected `([a-z |]+)`, got `([a-z]+)`")
WRONG_LENGTH = re.compile(r"Expected `(str|array)` of length (>=|<=) (\d+)")
OUT_OF_RANGE = re.compile(r"Expected `(?:int|float)` (>=|<=) ([\d.]+)")
NOT_GREATER = re.compile(r"Expected `(?:int|float)` > ([\d.]+)")
PATTERN_PREFIX = "Expected `str` matching regex "
INVALID_DATE = "Invalid RFC3339 encoded date"
MISSING_FIELD = "Object missing required field"
UNKNOWN_FIELD = "Object contains unknown field"


def explain_validation_error(message: str, type_: Any, path: str = "") -> str:
    """Explain msgspec's `message` about the value at `path` in `type_`.

    `path` is such as `participants[0].model`. Returns `message` unchanged if no pattern matches.
    """
    types = list(_types_at(type_, path))
    if message.startswith(MISSING_FIELD):
        return "It is missing."
    if message.startswith(UNKNOWN_FIELD):
        return f"There is no such field; known are {', '.join(_field_names(types))}."
    if message == INVALID_DATE:
        return "Write a day as 2026-11-15."
    if found := INVALID_ENUM.fullmatch(message):
        return f"{found[1]!r} is none of {', '.join(_literal_values(types))}."
    if found := WRONG_TYPE.fullmatch(message):
        return _type_message(found[1], _literal_values(types))
    if found := WRONG_LENGTH.fullmatch(message):
        return _length_message(found[1], found[2], int(found[3]))
    if found := OUT_OF_RANGE.fullmatch(message):
        return f"It must be at {_bound_word(found[1])} {found[2]}."
    if found := NOT_GREATER.fullmatch(message):
        return f"It must be more than {float(found[1]):g}."
    if message.startswith(PATTERN_PREFIX):
        return next(
            (explanation for pattern, explanation in PATTERN_MESSAGES.items() if repr(pattern) in message),
            message,
        )
    return message


def _type_message(expected: str, values: list[str]) -> str:
    if values:
        return f"It must be one of {', '.join(values)}."
    return f"It must be {' or '.join(TYPE_NAMES.get(kind, kind) for kind in expected.split(' | ') if kind != 'null')}."


def _length_message(kind: str, sign: str, length: int) -> str:
    if (sign, length) == (">=", 1):
        return "It must not be empty."
    return f"It must have at {_bound_word(sign)} {length:,} {LENGTH_UNITS[kind]}."


def _bound_word(sign: str) -> str:
    return "least" if sign == ">=" else "most"


def _types_at(type_: Any, path: str) -> Iterator[inspect.Type]:
    """Yield every type that the value at `path` may have; several in a union."""
    types = _flatten_unions([inspect.type_info(type_)])
    for step in re.findall(r"[^.\[\]]+", path):
        types = _flatten_unions(_child_types(types, step))
    return types


def _flatten_unions(types: Iterable[inspect.Type]) -> Iterator[inspect.Type]:
    for one in types:
        if isinstance(one, inspect.UnionType):
            yield from _flatten_unions(one.types)
        elif isinstance(one, inspect.Metadata):  # a type with a description
            yield from _flatten_unions([one.type])
        else:
            yield one


def _child_types(types: Iterable[inspect.Type], step: str) -> Iterator[inspect.Type]:
    for one in types:
        if isinstance(one, inspect.StructType):
            yield from (field.type for field in one.fields if field.encode_name == step)
        elif isinstance(one, inspect.CollectionType):
            yield one.item_type


def _field_names(types: Iterable[inspect.Type]) -> list[str]:
    structs = (one for one in types if isinstance(one, inspect.StructType))
    return [field.encode_name for struct in structs for field in struct.fields]


def _literal_values(types: Iterable[inspect.Type]) -> list[str]:
    return [str(value) for one in types if isinstance(one, inspect.LiteralType) for value in one.values]

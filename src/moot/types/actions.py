"""Lesson actions on the whiteboard and on slides: types, validation and error messages.

Models read the docstrings of the action types, see `action_docs`.
"""

import re
from functools import cache
from typing import Annotated, get_args

import msgspec
from msgspec import Meta, Struct, inspect

from moot.types.drawing import (
    COLOUR_PATTERN,
    ELEMENT_ID_PATTERN,
    STORABLE_PATTERN,
    BaseAction,
    ClearWhiteboard,
    CloseWhiteboard,
    Colour,
    DeleteElement,
    DrawAction,
    EditCode,
    ElementId,
    LineId,
    OpenWhiteboard,
)
from moot.types.errors import InvalidAction
from moot.types.participants import LessonRole


class Spotlight(BaseAction, frozen=True, kw_only=True, tag="spotlight"):
    """Dim the slide but for one element."""

    element_id: ElementId
    dim_opacity: Annotated[float, Meta(ge=0, le=1)] = 0.5


class Laser(BaseAction, frozen=True, kw_only=True, tag="laser"):
    """Point at an element of the slide."""

    element_id: ElementId
    color: Colour = "#ff3b30"


class PlayVideo(BaseAction, frozen=True, kw_only=True, tag="play_video"):
    """Play a video that is on the slide."""

    element_id: ElementId


Action = (
    OpenWhiteboard
    | CloseWhiteboard
    | ClearWhiteboard
    | DeleteElement
    | DrawAction
    | EditCode
    | Spotlight
    | Laser
    | PlayVideo
)

ACTION_TYPES: dict[str, type[Action]] = {kind.__struct_config__.tag: kind for kind in get_args(Action)}
WHITEBOARD_ACTIONS = tuple(name for name in ACTION_TYPES if name.startswith("wb_"))
PATTERN_HINTS = {
    COLOUR_PATTERN: "write a colour as #rrggbb, such as #4a7c59, or by a plain name, such as red",
    ELEMENT_ID_PATTERN: "an id is letters, digits, dots, colons, hyphens and underscores",
    LineId.__metadata__[0].pattern: "a line is called L1, L2 and so on",  # type: ignore[attr-defined]
    STORABLE_PATTERN: "it holds a character that cannot be stored",
}
VALIDATION_MESSAGE = re.compile(r"(?P<why>.*?)(?: - at `\$\.?(?P<where>.*)`)?", re.DOTALL)


def actions_for_role(role: LessonRole | None) -> tuple[str, ...]:
    """Return the allowed action names: all for a teacher, whiteboard actions only for other roles and None."""
    return tuple(ACTION_TYPES) if role == "teacher" else WHITEBOARD_ACTIONS


def parse_action(name: str, params: object, role: LessonRole | None) -> Action:
    """Validate the params object of a model's action. Converts common type errors; raises InvalidAction."""
    if (kind := ACTION_TYPES.get(name)) is None:
        raise InvalidAction(f"There is no action {name[:60]!r}. There are {', '.join(actions_for_role(role))}.")
    if name not in actions_for_role(role):
        raise InvalidAction(f"{name} is for teachers. A {role or 'participant'} has {', '.join(WHITEBOARD_ACTIONS)}.")
    given = {} if params is None else params
    if not isinstance(given, dict):
        raise InvalidAction(f"{name}: params must be an object. Send the fields that the action needs.")
    try:
        return msgspec.convert(_repair_params(given, kind) | {"name": name}, kind, strict=False)
    except msgspec.ValidationError as error:
        raise InvalidAction(f"{name}: {_explain_error(str(error), kind)}.") from error


def get_action_params(action: Action) -> dict[str, object]:
    """Return the params dict that events carry: no `name` key and no None values."""
    fields: dict[str, object] = msgspec.to_builtins(action)
    return {field: value for field, value in fields.items() if field != "name" and value is not None}


def get_action_name(action: Action) -> str:
    return str(action.__struct_config__.tag)


def _repair_params(params: dict[str, object], kind: type[Struct]) -> dict[str, object]:
    """Fix frequent errors of models: null for an optional field, a number for a string, one row for a list of rows."""
    types = {field.encode_name: field.type for field in struct_fields(kind)}
    return {
        key: _coerce_value(value, types[key]) for key, value in params.items() if key in types and value is not None
    }


def _coerce_value(value: object, expected_type: inspect.Type) -> object:
    match expected_type:
        case inspect.StructType() if isinstance(value, dict):
            return _repair_params(value, expected_type.cls)
        case inspect.VarTupleType() if isinstance(value, list | tuple):
            nested = isinstance(expected_type.item_type, inspect.VarTupleType)
            rows = [value] if nested and value and not any(isinstance(v, list | tuple) for v in value) else value
            return [_coerce_value(item, expected_type.item_type) for item in rows]
        case inspect.StrType() if value is None:
            return ""
        case inspect.StrType() if isinstance(value, int | float):
            return str(value)
        case _:
            return value


def _explain_error(message: str, kind: type[Action]) -> str:
    found = VALIDATION_MESSAGE.fullmatch(message)
    why, where = (found["why"], found["where"]) if found else (message, None)
    for pattern, words in PATTERN_HINTS.items():
        if repr(pattern) in why:
            why = words
    if why.startswith("Invalid enum value"):
        there_are = ", ".join(value or '""' for value in field_choices(kind, where or ""))
        why = f"{why[:80]}; there are {there_are}"
    return f"{where}: {why}" if where else why


@cache  # inspecting a type is slower than parsing a value of that type
def struct_fields(kind: type[Struct]) -> tuple[inspect.Field, ...]:
    info = inspect.type_info(kind)
    return info.fields if isinstance(info, inspect.StructType) else ()


def field_choices(kind: type[Action], field: str) -> tuple[str, ...]:
    """Return the literal values of an enum field; an empty tuple for other types."""
    literals = [
        item
        for one in struct_fields(kind)
        if one.encode_name == field.partition("[")[0]
        for item in (one.type.item_types if isinstance(one.type, inspect.TupleType) else (one.type,))
        if isinstance(item, inspect.LiteralType)
    ]
    return tuple(str(value) for value in literals[0].values) if literals else ()

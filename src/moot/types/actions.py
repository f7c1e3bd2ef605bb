"""What agents of a lesson do beside speaking: on the whiteboard, and with the elements of a slide."""

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
from moot.types.modes import LessonRole


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
    """Name what somebody of this role may do: teachers everything, the others what is done on the whiteboard."""
    return tuple(ACTION_TYPES) if role == "teacher" else WHITEBOARD_ACTIONS


def parse_action(name: str, params: object, role: LessonRole | None) -> Action:
    """Read what an agent wrote, forgiving where the meaning is clear; else ActionRefused says why not."""
    if (kind := ACTION_TYPES.get(name)) is None:
        raise InvalidAction(
            f"There is no action {name[:60]!r}. There are {', '.join(actions_for_role(role))}."
        )
    if name not in actions_for_role(role):
        raise InvalidAction(
            f"{name} is for teachers. A {role or 'participant'} has {', '.join(WHITEBOARD_ACTIONS)}."
        )
    given = {} if params is None else params
    if not isinstance(given, dict):
        raise InvalidAction(f"{name}: its params are to be an object with the fields that it needs.")
    try:
        return msgspec.convert(_repair_params(given, kind) | {"name": name}, kind, strict=False)
    except msgspec.ValidationError as error:
        raise InvalidAction(f"{name}: {_explain_error(str(error), kind)}.") from error


def get_action_params(action: Action) -> dict[str, object]:
    """Tell an action as readers of events know it, without its name."""
    told: dict[str, object] = msgspec.to_builtins(action)
    return {field: value for field, value in told.items() if field != "name" and value is not None}


def get_action_name(action: Action) -> str:
    return str(action.__struct_config__.tag)


def _repair_params(params: dict[str, object], kind: type[Struct]) -> dict[str, object]:
    """Mend what models get wrong where it is easily understood: null for nothing, numbers for text, one row for rows."""
    types = {field.encode_name: field.type for field in struct_fields(kind)}
    return {
        key: _coerce_value(value, types[key])
        for key, value in params.items()
        if key in types and value is not None
    }


def _coerce_value(value: object, expected_type: inspect.Type) -> object:
    match expected_type:
        case inspect.StructType() if isinstance(value, dict):
            return _repair_params(value, expected_type.cls)
        case inspect.VarTupleType() if isinstance(value, list | tuple):
            nested = isinstance(expected_type.item_type, inspect.VarTupleType)
            rows = (
                [value] if nested and value and not any(isinstance(v, list | tuple) for v in value) else value
            )
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


@cache  # looking into a type takes longer than reading a value of it
def struct_fields(kind: type[Struct]) -> tuple[inspect.Field, ...]:
    info = inspect.type_info(kind)
    return info.fields if isinstance(info, inspect.StructType) else ()


def field_choices(kind: type[Action], field: str) -> tuple[str, ...]:
    """Return the values that a field can have, where they are few."""
    literals = [
        item
        for one in struct_fields(kind)
        if one.encode_name == field.partition("[")[0]
        for item in (one.type.item_types if isinstance(one.type, inspect.TupleType) else (one.type,))
        if isinstance(item, inspect.LiteralType)
    ]
    return tuple(str(value) for value in literals[0].values) if literals else ()

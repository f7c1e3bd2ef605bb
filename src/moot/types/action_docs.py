"""What agents are told of the actions that they have, made from the actions themselves."""

from functools import cache
from typing import cast

import msgspec
from msgspec import NODEFAULT, Raw, inspect

from moot.types.actions import KINDS, Action, allowed, fields_of
from moot.types.modes import LessonRole

Schema = dict[str, object]

SPEECH: Schema = {
    "type": "object",
    "properties": {"type": {"const": "text"}, "content": {"type": "string"}},
    "required": ["type", "content"],
}


def described(role: LessonRole | None) -> str:
    """Tell each action of a role in one line: its name, its params with their defaults, and what it does."""
    return "\n".join(_line(name, KINDS[name]) for name in allowed(role))


def schema_for(role: LessonRole | None) -> Schema:
    """Return the JSON schema of one action as an agent of this role writes it: type, name and params."""
    kinds = [KINDS[name] for name in allowed(role)]
    _, components = msgspec.json.schema_components(kinds, ref_template="#/$defs/{name}")
    own = {kind.__name__ for kind in kinds}
    shared = {name: schema for name, schema in components.items() if name not in own}
    written = [_written(name, components[KINDS[name].__name__]) for name in allowed(role)]
    return {"anyOf": written, "$defs": shared}


@cache
def line_for(role: LessonRole | None) -> Raw:
    """Write the JSON schema of one item of what an agent of this role answers: speech, or an action."""
    action = schema_for(role)
    line = {**action, "anyOf": [SPEECH, *cast("list[Schema]", action["anyOf"])]}
    return Raw(msgspec.json.encode(line))


def _written(name: str, schema: Schema) -> Schema:
    properties, required = schema["properties"], schema["required"]
    assert isinstance(properties, dict)  # noqa: S101 - so msgspec makes the schema of a struct
    assert isinstance(required, list)  # noqa: S101
    params: Schema = {
        "type": "object",
        "properties": {key: value for key, value in properties.items() if key != "name"},
        "required": [key for key in required if key != "name"],
    }
    return {
        "type": "object",
        "description": schema["description"],
        "properties": {"type": {"const": "action"}, "name": {"const": name}, "params": params},
        "required": ["type", "name", "params"],
    }


def _line(name: str, kind: type[Action]) -> str:
    fields = sorted(fields_of(kind), key=lambda field: (not field.required, field.encode_name == "elementId"))
    params = ", ".join(_param(field) for field in fields)
    return f"{name} {{{params}}}: {kind.__doc__}"


def _param(field: inspect.Field) -> str:
    nothing = field.default is NODEFAULT or field.default in {None, (), ""}
    name = f"{field.encode_name}?" if nothing and not field.required else field.encode_name
    kind = _kind(field.type)
    told = f"{name}: {kind}" if kind else name
    return told if nothing else f"{told} = {_shown(field.default)}"


def _shown(value: object) -> str:
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()


def _kind(type_: inspect.Type) -> str:
    """Say what a param is, where its name does not."""
    match type_:
        case inspect.LiteralType():
            return "|".join(str(value) or '""' for value in type_.values)
        case inspect.TupleType():
            return f"[{', '.join(_kind(item) for item in type_.item_types)}]"
        case inspect.VarTupleType():
            return f"[{_kind(type_.item_type) or _plain(type_.item_type)}, …]"
        case inspect.StructType():
            return "{" + ", ".join(_param(field) for field in type_.fields) + "}"
        case _:
            return ""


def _plain(type_: inspect.Type) -> str:
    return "number" if isinstance(type_, inspect.FloatType | inspect.IntType) else "text"

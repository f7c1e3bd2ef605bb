"""Documentation and JSON schemas of lesson actions, generated from the action types for prompts and requests."""

from functools import cache
from typing import cast

import msgspec
from msgspec import NODEFAULT, Raw, inspect

from moot.types.actions import ACTION_TYPES, Action, actions_for_role, struct_fields
from moot.types.participants import LessonRole

JsonSchema = dict[str, object]

SPEECH_SCHEMA: JsonSchema = {
    "type": "object",
    "properties": {"type": {"const": "text"}, "content": {"type": "string"}},
    "required": ["type", "content"],
}


def describe_actions(role: LessonRole | None) -> str:
    """Return one line per action: name, params with default values, docstring. Prompts include this string."""
    return "\n".join(_describe_action(name, ACTION_TYPES[name]) for name in actions_for_role(role))


def action_schema(role: LessonRole | None) -> JsonSchema:
    """Return the JSON schema of an action object with the fields `type`, `name` and `params`."""
    kinds = [ACTION_TYPES[name] for name in actions_for_role(role)]
    _, components = msgspec.json.schema_components(kinds, ref_template="#/$defs/{name}")
    action_types = {kind.__name__ for kind in kinds}
    shared = {name: schema for name, schema in components.items() if name not in action_types}
    items = [_action_item_schema(name, components[ACTION_TYPES[name].__name__]) for name in actions_for_role(role)]
    return {"anyOf": items, "$defs": shared}


@cache
def lesson_item_schema(role: LessonRole | None) -> Raw:
    """Return the JSON schema of one item in an agent's response array: a text object or an action object."""
    action = action_schema(role)
    item = {**action, "anyOf": [SPEECH_SCHEMA, *cast("list[JsonSchema]", action["anyOf"])]}
    return Raw(msgspec.json.encode(item))


def _action_item_schema(name: str, schema: JsonSchema) -> JsonSchema:
    properties, required = schema["properties"], schema["required"]
    assert isinstance(properties, dict)  # noqa: S101 - msgspec always emits both keys for a struct type
    assert isinstance(required, list)  # noqa: S101
    params: JsonSchema = {
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


def _describe_action(name: str, kind: type[Action]) -> str:
    fields = sorted(struct_fields(kind), key=lambda field: (not field.required, field.encode_name == "elementId"))
    params = ", ".join(_describe_param(field) for field in fields)
    return f"{name} {{{params}}}: {kind.__doc__}"


def _describe_param(field: inspect.Field) -> str:
    nothing = field.default is NODEFAULT or field.default in {None, (), ""}
    name = f"{field.encode_name}?" if nothing and not field.required else field.encode_name
    kind = _describe_type(field.type)
    param = f"{name}: {kind}" if kind else name
    return param if nothing else f"{param} = {_format_default(field.default)}"


def _format_default(value: object) -> str:
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()


def _describe_type(type_: inspect.Type) -> str:
    """Return an empty string for plain types: the field name explains those."""
    match type_:
        case inspect.LiteralType():
            return "|".join(str(value) or '""' for value in type_.values)
        case inspect.TupleType():
            return f"[{', '.join(_describe_type(item) for item in type_.item_types)}]"
        case inspect.VarTupleType():
            return f"[{_describe_type(type_.item_type) or _plain_type_name(type_.item_type)}, …]"
        case inspect.StructType():
            return "{" + ", ".join(_describe_param(field) for field in type_.fields) + "}"
        case _:
            return ""


def _plain_type_name(type_: inspect.Type) -> str:
    return "number" if isinstance(type_, inspect.FloatType | inspect.IntType) else "text"

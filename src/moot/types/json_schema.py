"""JSON schemas of structs: for prompts, for tools, and for the strict formats of providers."""

from typing import Any

import msgspec
from msgspec import Struct

NOISE = frozenset({"title", "default", "pattern"})  # of no use to somebody who is to write an answer

# What the strict formats of some providers refuse. The prompt tells these limits, and the check holds them.
LIMITS = frozenset(
    {"minimum", "maximum", "exclusiveMinimum", "minLength", "maxLength", "minItems", "maxItems"}
)


def schema(type_: type[Struct]) -> dict[str, Any]:
    """Write the JSON schema of a type, with everything that it refers to in its place."""
    (top,), parts = msgspec.json.schema_components([type_], ref_template="{name}")
    found: dict[str, Any] = _without(NOISE, _inlined(top, parts))
    return found


def strict(type_: type[Struct]) -> dict[str, Any]:
    """Write the schema as providers enforce it: nothing optional, nothing else, and no limits."""
    found: dict[str, Any] = _closed(_without(LIMITS, schema(type_)))
    return found


def _inlined(node: Any, parts: dict[str, Any]) -> Any:
    match node:
        case {"$ref": name}:
            return _inlined(parts[name], parts)
        case dict():
            return {name: _inlined(value, parts) for name, value in node.items()}
        case list():
            return [_inlined(one, parts) for one in node]
    return node


def _without(words: frozenset[str], node: Any) -> Any:
    """Leave out words of the schema language; fields that happen to have such a name stay."""
    match node:
        case {"properties": fields}:
            kept = {name: _without(words, value) for name, value in node.items() if name not in words}
            return {**kept, "properties": {name: _without(words, field) for name, field in fields.items()}}
        case dict():
            return {name: _without(words, value) for name, value in node.items() if name not in words}
        case list():
            return [_without(words, one) for one in node]
    return node


def _closed(node: Any) -> Any:
    match node:
        case {"properties": fields}:
            closed = {name: _closed(field) for name, field in fields.items()}
            return {**node, "properties": closed, "required": list(closed), "additionalProperties": False}
        case {"enum": [first, *_]}:
            return {"type": "integer" if isinstance(first, int) else "string", **node}
        case dict():
            return {name: _closed(value) for name, value in node.items()}
        case list():
            return [_closed(one) for one in node]
    return node

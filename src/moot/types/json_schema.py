"""JSON schemas of struct types, for prompts, tools and structured responses."""

from typing import Any

import msgspec
from msgspec import Struct

UNUSED_KEYWORDS = frozenset({"title", "default", "pattern"})  # do not help a model to write a response

# Strict mode of some providers rejects these keys. The prompt states the limits; msgspec validates them.
LIMIT_KEYWORDS = frozenset({"minimum", "maximum", "exclusiveMinimum", "minLength", "maxLength", "minItems", "maxItems"})


def struct_schema(type_: type[Struct]) -> dict[str, Any]:
    """Return the schema with every `$ref` inlined."""
    (top,), parts = msgspec.json.schema_components([type_], ref_template="{name}")
    found: dict[str, Any] = _drop_keywords(UNUSED_KEYWORDS, _inline_refs(top, parts))
    return found


def strict_schema(type_: type[Struct]) -> dict[str, Any]:
    """Return the schema for strict mode: all fields required, no additional fields, no limits."""
    found: dict[str, Any] = _close_objects(_drop_keywords(LIMIT_KEYWORDS, struct_schema(type_)))
    return found


def _inline_refs(node: Any, definitions: dict[str, Any]) -> Any:
    match node:
        case {"$ref": name}:
            return _inline_refs(definitions[name], definitions)
        case dict():
            return {name: _inline_refs(value, definitions) for name, value in node.items()}
        case list():
            return [_inline_refs(one, definitions) for one in node]
    return node


def _drop_keywords(keywords: frozenset[str], node: Any) -> Any:
    """Remove schema keywords, but keep struct fields of the same name."""
    match node:
        case {"properties": fields}:
            kept = {name: _drop_keywords(keywords, value) for name, value in node.items() if name not in keywords}
            return {**kept, "properties": {name: _drop_keywords(keywords, field) for name, field in fields.items()}}
        case dict():
            return {name: _drop_keywords(keywords, value) for name, value in node.items() if name not in keywords}
        case list():
            return [_drop_keywords(keywords, one) for one in node]
    return node


def _close_objects(node: Any) -> Any:
    match node:
        case {"properties": fields}:
            closed = {name: _close_objects(field) for name, field in fields.items()}
            return {**node, "properties": closed, "required": list(closed), "additionalProperties": False}
        case {"enum": [first, *_]}:
            return {"type": "integer" if isinstance(first, int) else "string", **node}
        case dict():
            return {name: _close_objects(value) for name, value in node.items()}
        case list():
            return [_close_objects(one) for one in node]
    return node

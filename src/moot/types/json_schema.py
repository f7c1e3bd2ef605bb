"""JSON schemas of structs: for prompts, for tools, and for the strict formats of providers."""

from typing import Any

import msgspec
from msgspec import Struct

UNUSED_KEYWORDS = frozenset(
    {"title", "default", "pattern"}
)  # of no use to somebody who is to write an answer

# What the strict formats of some providers refuse. The prompt tells these limits, and the check holds them.
LIMIT_KEYWORDS = frozenset(
    {"minimum", "maximum", "exclusiveMinimum", "minLength", "maxLength", "minItems", "maxItems"}
)


def struct_schema(type_: type[Struct]) -> dict[str, Any]:
    """Write the JSON schema of a type, with everything that it refers to in its place."""
    (top,), parts = msgspec.json.schema_components([type_], ref_template="{name}")
    found: dict[str, Any] = _drop_keywords(UNUSED_KEYWORDS, _inline_refs(top, parts))
    return found


def strict_schema(type_: type[Struct]) -> dict[str, Any]:
    """Write the schema as providers enforce it: nothing optional, nothing else, and no limits."""
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
    """Leave out words of the schema language; fields that happen to have such a name stay."""
    match node:
        case {"properties": fields}:
            kept = {
                name: _drop_keywords(keywords, value) for name, value in node.items() if name not in keywords
            }
            return {
                **kept,
                "properties": {name: _drop_keywords(keywords, field) for name, field in fields.items()},
            }
        case dict():
            return {
                name: _drop_keywords(keywords, value) for name, value in node.items() if name not in keywords
            }
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

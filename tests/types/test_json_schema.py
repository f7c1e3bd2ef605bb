"""JSON schemas of structs."""

from typing import Annotated, Literal

import msgspec
import pytest
from inline_snapshot import snapshot
from msgspec import Meta, Struct

from moot.types.json_schema import strict_schema, struct_schema
from moot.types.knowledge import ExtractedKnowledge, ExtractedPatterns


class Leg(Struct, frozen=True):
    length: Annotated[float, Meta(gt=0)]


class Table(Struct, frozen=True):
    """A table."""

    shape: Literal["round", "square"]
    legs: Annotated[tuple[Leg, ...], Meta(min_length=1)]
    name: str | None = None


def test_strict_schema_has_no_limits_and_requires_all_fields() -> None:
    assert strict_schema(Table) == snapshot(
        {
            "description": "A table.",
            "type": "object",
            "properties": {
                "shape": {"type": "string", "enum": ["round", "square"]},
                "legs": {
                    "type": "array",
                    "items": {
                        "type": "object",
                        "properties": {"length": {"type": "number"}},
                        "required": ["length"],
                        "additionalProperties": False,
                    },
                },
                "name": {"anyOf": [{"type": "string"}, {"type": "null"}]},
            },
            "required": ["shape", "legs", "name"],
            "additionalProperties": False,
        }
    )
    assert struct_schema(Table)["properties"]["legs"]["minItems"] == 1


@pytest.mark.parametrize("type_", [ExtractedKnowledge, ExtractedPatterns])
def test_strict_schemas_in_use_have_no_references_or_limits(type_: type[Struct]) -> None:
    written = msgspec.json.encode(strict_schema(type_))
    for word in (b"$ref", b"$defs", b"minLength", b"maxItems", b'"pattern":', b'"default"', b"minimum"):
        assert word not in written
    assert written.count(b'"additionalProperties":false') == written.count(b'"type":"object"') == 2

from typing import Any

import msgspec
import pytest

from moot.tools.arguments import misfit

SCHEMA = {
    "type": "object",
    "properties": {"word": {"type": "string"}, "times": {"type": "integer", "minimum": 1}},
    "required": ["word"],
    "additionalProperties": False,
}


def wrong(schema: dict[str, Any], arguments: Any) -> str | None:
    return misfit(msgspec.json.encode(schema), arguments)


def test_what_fits_is_right() -> None:
    assert wrong(SCHEMA, {"word": "moot", "times": 2}) is None


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({}, "'word' is a required property"),
        ({"word": 1}, "word: 1 is not of type 'string'"),
        ({"word": "a", "times": 0}, "times: 0 is less than the minimum"),
        ({"word": "a", "more": 1}, "'more' was unexpected"),
    ],
)
def test_what_does_not_is_said_in_words(arguments: Any, words: str) -> None:
    assert words in (wrong(SCHEMA, arguments) or "")


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "object", "properties": {"a": {"$ref": "http://127.0.0.1:9/schema.json"}}},
        {"type": "nonsense"},
        {"properties": "nonsense"},
        {"type": "object", "properties": {"a": {"pattern": "^(a+)+$"}}},
    ],
)
def test_a_schema_that_is_wrong_fetches_and_slow_patterns_are_left_to_the_server(
    schema: dict[str, Any],
) -> None:
    assert wrong(schema, {"a": "a" * 60 + "!"}) is None

import asyncio
import json
from typing import Any, get_args

import msgspec
import pytest
from msgspec import Raw

from moot.providers.local_limits import (
    CONTEXT_TOKENS,
    DEFAULT_MAX_ITEMS,
    DEFAULT_MAX_TEXT_CHARS,
    DEFAULT_MAX_TOKENS,
    ContextPool,
    estimate_context_tokens,
    limit_request,
    limit_schema,
    simplify_schema,
)
from moot.types.action_docs import lesson_item_schema
from moot.types.participants import LessonRole
from moot.types.requests import ModelRequest, user_message


def make_request(text: str = "Why?", **fields: object) -> ModelRequest:
    return ModelRequest(model="m", messages=(user_message(text),), **fields)  # type: ignore[arg-type]


def test_limit_schema_adds_missing_maximums() -> None:
    form = {
        "type": "object",
        "properties": {
            "title": {"type": "string"},
            "kind": {"type": "string", "enum": ["a", "b"]},
            "points": {"type": "array", "items": {"type": "string"}},
            "few": {"type": "array", "maxItems": 2, "items": {"type": "integer"}},
        },
    }
    assert limit_schema(form) == {
        "type": "object",
        "properties": {
            "title": {"type": "string", "maxLength": DEFAULT_MAX_TEXT_CHARS},
            "kind": {"type": "string", "enum": ["a", "b"]},
            "points": {
                "type": "array",
                "maxItems": DEFAULT_MAX_ITEMS,
                "items": {"type": "string", "maxLength": DEFAULT_MAX_TEXT_CHARS},
            },
            "few": {"type": "array", "maxItems": 2, "items": {"type": "integer"}},
        },
    }


def test_limit_request_sets_default_max_tokens() -> None:
    assert limit_request(make_request()).max_tokens == DEFAULT_MAX_TOKENS
    assert limit_request(make_request(max_tokens=5000)).max_tokens == 5000
    assert limit_request(make_request(json_schema=Raw(b"{}"), max_tokens=5000)).max_tokens == 2 * DEFAULT_MAX_TOKENS


def test_estimate_context_tokens_adds_prompt_and_answer_up_to_context() -> None:
    assert estimate_context_tokens(make_request("x" * 3000, max_tokens=100)) == 1100
    assert estimate_context_tokens(make_request("x" * 300_000, max_tokens=100)) == CONTEXT_TOKENS


async def try_acquire(pool: ContextPool, tokens: int) -> bool:
    try:
        async with asyncio.timeout(0.01):
            await pool.acquire_tokens(tokens)
    except TimeoutError:
        return False
    return True


async def test_context_pool_waits_in_order_until_tokens_are_released() -> None:
    context = ContextPool(slots=3, tokens=100)
    assert await try_acquire(context, 60)
    assert not await try_acquire(context, 50)
    waiting = asyncio.create_task(context.acquire_tokens(50))
    await asyncio.sleep(0)
    assert not await try_acquire(context, 10), "requests keep their order"
    context.release_tokens(60)
    await waiting
    assert await try_acquire(context, 10)


async def test_context_pool_limits_slots() -> None:
    context = ContextPool(slots=1, tokens=100)
    assert await try_acquire(context, 1)
    assert not await try_acquire(context, 1)
    context.release_tokens(1)
    assert await try_acquire(context, 100)


@pytest.mark.parametrize("admitted", [False, True])
async def test_context_pool_leaks_nothing_when_waiter_is_cancelled(admitted: bool) -> None:
    context = ContextPool(slots=2, tokens=100)
    await context.acquire_tokens(60)
    waiting = asyncio.create_task(context.acquire_tokens(60))
    await asyncio.sleep(0)
    if admitted:
        context.release_tokens(60)
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    if not admitted:
        context.release_tokens(60)
    assert await try_acquire(context, 100)


def limited_item_schema(item: object) -> Any:
    made = limit_request(make_request(array_of=Raw(msgspec.json.encode(item))))
    assert made.array_of is None
    assert made.json_schema is not None
    return json.loads(bytes(made.json_schema))


def test_limit_request_turns_array_of_into_bounded_json_schema() -> None:
    assert limited_item_schema({"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]}) == {
        "type": "array",
        "minItems": 1,
        "maxItems": DEFAULT_MAX_ITEMS,
        "items": {
            "type": "object",
            "properties": {"a": {"type": "string", "maxLength": DEFAULT_MAX_TEXT_CHARS}},
            "required": ["a"],
        },
        "$defs": {},
    }


@pytest.mark.parametrize("role", [*get_args(LessonRole), None])
def test_lesson_item_schema_for_grammar_is_small_and_complete(role: LessonRole | None) -> None:
    form = limited_item_schema(json.loads(bytes(lesson_item_schema(role))))
    text = json.dumps(form)
    assert len(text) < 8000
    assert not any(word in text for word in ('"pattern"', '"description"', '"default"', '"null"'))
    assert all(f'"{name}": ' in json.dumps(form["$defs"]) for name in _referenced_names(form))
    names = [one["properties"].get("name", {}).get("const") for one in form["items"]["anyOf"]]
    assert names[0] is None, "speech comes first"
    assert ("spotlight" in names) == (role == "teacher")


def _referenced_names(schema: Any) -> set[str]:
    match schema:
        case {"$ref": str(place)}:
            return {place.removeprefix("#/$defs/")}
        case dict():
            return {name for one in schema.values() for name in _referenced_names(one)}
        case list():
            return {name for one in schema for name in _referenced_names(one)}
    return set()


def test_simplify_schema_drops_optional_properties_and_annotations() -> None:
    form = {
        "type": "object",
        "description": "A box.",
        "properties": {
            "x": {"type": "number", "minimum": 0, "maximum": 9, "default": 1},
            "kind": {"type": "string", "enum": ["a", "b"]},
            "id": {"type": "string", "pattern": "^a(?!b)"},
            "color": {"type": "string"},
        },
        "required": ["x", "kind", "id"],
    }
    assert simplify_schema(form) == {
        "type": "object",
        "properties": {
            "x": {"type": "integer", "minimum": 0, "maximum": 9},
            "kind": {"enum": ["a", "b"]},
            "id": {"type": "string"},
        },
        "required": ["x", "kind", "id"],
    }

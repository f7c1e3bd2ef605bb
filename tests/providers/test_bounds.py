import asyncio

import pytest
from msgspec import Raw

from moot.model.requests import ModelRequest, user
from moot.providers.bounds import (
    CONTEXT,
    LONGEST_TEXT,
    MOST_ITEMS,
    MOST_TOKENS,
    Context,
    bounded,
    ending,
    tokens_of,
)


def asked(words: str = "Why?", **more: object) -> ModelRequest:
    return ModelRequest(model="m", messages=(user(words),), **more)  # type: ignore[arg-type]


def test_what_has_no_end_in_a_form_is_given_one() -> None:
    form = {
        "type": "object",
        "properties": {
            "title": {"type": "string"},
            "kind": {"type": "string", "enum": ["a", "b"]},
            "points": {"type": "array", "items": {"type": "string"}},
            "few": {"type": "array", "maxItems": 2, "items": {"type": "integer"}},
        },
    }
    assert bounded(form) == {
        "type": "object",
        "properties": {
            "title": {"type": "string", "maxLength": LONGEST_TEXT},
            "kind": {"type": "string", "enum": ["a", "b"]},
            "points": {
                "type": "array",
                "maxItems": MOST_ITEMS,
                "items": {"type": "string", "maxLength": LONGEST_TEXT},
            },
            "few": {"type": "array", "maxItems": 2, "items": {"type": "integer"}},
        },
    }


def test_an_answer_has_an_end_unless_somebody_sets_another_one() -> None:
    assert ending(asked()).max_tokens == MOST_TOKENS
    assert ending(asked(max_tokens=5000)).max_tokens == 5000
    assert ending(asked(json_schema=Raw(b"{}"), max_tokens=5000)).max_tokens == 2 * MOST_TOKENS


def test_a_request_takes_what_it_reads_and_what_it_may_say_and_never_more_than_there_is() -> None:
    assert tokens_of(asked("x" * 3000, max_tokens=100)) == 1100
    assert tokens_of(asked("x" * 300_000, max_tokens=100)) == CONTEXT


async def taken(context: Context, tokens: int) -> bool:
    try:
        async with asyncio.timeout(0.01):
            await context.take(tokens)
    except TimeoutError:
        return False
    return True


async def test_whoever_does_not_fit_waits_until_somebody_leaves() -> None:
    context = Context(slots=3, tokens=100)
    assert await taken(context, 60)
    assert not await taken(context, 50)
    waiting = asyncio.create_task(context.take(50))
    await asyncio.sleep(0)
    assert not await taken(context, 10), "nobody overtakes"
    context.give_back(60)
    await waiting
    assert await taken(context, 10)


async def test_there_are_only_so_many_places() -> None:
    context = Context(slots=1, tokens=100)
    assert await taken(context, 1)
    assert not await taken(context, 1)
    context.give_back(1)
    assert await taken(context, 100)


@pytest.mark.parametrize("admitted", [False, True])
async def test_who_leaves_while_waiting_takes_nothing_along(admitted: bool) -> None:
    context = Context(slots=2, tokens=100)
    await context.take(60)
    waiting = asyncio.create_task(context.take(60))
    await asyncio.sleep(0)
    if admitted:
        context.give_back(60)
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    if not admitted:
        context.give_back(60)
    assert await taken(context, 100)

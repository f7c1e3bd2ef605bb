"""Limits for the embedded model: a shared context, and bounded answers and JSON schemas."""

import asyncio
from collections import deque
from typing import Any

import msgspec

from moot.types.chunks import Text
from moot.types.requests import ModelRequest

CONTEXT_TOKENS = 8192  # shared by all parallel requests
DEFAULT_MAX_TOKENS = CONTEXT_TOKENS // 8  # of an answer, if the request sets no limit
DEFAULT_MAX_ITEMS, DEFAULT_MAX_TEXT_CHARS = 3, 160  # for arrays and strings in schemas that set no limits
CHARACTERS_PER_TOKEN = 3  # a low estimate; most languages have more


class ContextPool:
    """Admission of parallel requests: together they must fit into the context. The others wait in a FIFO queue."""

    def __init__(self, slots: int, tokens: int = CONTEXT_TOKENS) -> None:
        self._free_slots = slots
        self._free_tokens = tokens
        self._waiters: deque[tuple[int, asyncio.Future[None]]] = deque()

    async def acquire_tokens(self, tokens: int) -> None:
        """Wait for a slot and for `tokens` of the context. Call `release_tokens` with the same value."""
        waiter = (tokens, asyncio.get_running_loop().create_future())
        self._waiters.append(waiter)
        self._wake_waiters()
        try:
            await waiter[1]
        except asyncio.CancelledError:
            if waiter in self._waiters:
                self._waiters.remove(waiter)
                self._wake_waiters()
            else:  # granted and cancelled at the same time: return the tokens
                self.release_tokens(tokens)
            raise

    def release_tokens(self, tokens: int) -> None:
        self._free_slots += 1
        self._free_tokens += tokens
        self._wake_waiters()

    def _wake_waiters(self) -> None:
        # Strict FIFO: a small request does not overtake a large one, which could wait forever.
        while self._waiters and self._free_slots > 0 and self._free_tokens >= self._waiters[0][0]:
            tokens, future = self._waiters.popleft()
            self._free_slots -= 1
            self._free_tokens -= tokens
            future.set_result(None)


def limit_request(request: ModelRequest) -> ModelRequest:
    """Bound the answer, because a small model may repeat itself forever. Replaces `array_of` by a JSON schema."""
    if request.array_of is not None:
        request = msgspec.structs.replace(request, json_schema=_array_schema(request.array_of), array_of=None)
    if request.json_schema is None:
        return msgspec.structs.replace(request, max_tokens=request.max_tokens or DEFAULT_MAX_TOKENS)
    schema = msgspec.json.encode(limit_schema(msgspec.json.decode(request.json_schema)))
    max_tokens = min(request.max_tokens or CONTEXT_TOKENS, 2 * DEFAULT_MAX_TOKENS)
    return msgspec.structs.replace(request, json_schema=msgspec.Raw(schema), max_tokens=max_tokens)


def _array_schema(item: msgspec.Raw) -> msgspec.Raw:
    """Return the schema of a non-empty array. `$defs` move to the top, where `$ref` looks for them."""
    schema = simplify_schema(msgspec.json.decode(item))
    defs = schema.pop("$defs", {})
    return msgspec.Raw(msgspec.json.encode({"type": "array", "minItems": 1, "items": schema, "$defs": defs}))


def simplify_schema(schema: Any) -> Any:
    """Drop optional properties, descriptions and string patterns from a JSON schema.

    A smaller schema gives a smaller grammar, and a small model makes fewer errors. Numbers become integers, which
    are enough for whiteboard coordinates and simple charts.
    """
    match schema:
        case {"type": "object", "properties": dict(properties), "required": list(required)}:
            kept = {name: simplify_schema(properties[name]) for name in required}
            return {"type": "object", "properties": kept, "required": required}
        case {"type": "string", "enum": list(values)}:
            return {"enum": values}
        case {"type": "string"}:
            # Grammars do not support string patterns. The parser of the answer checks them.
            return {"type": "string"}
        case {"type": "number", **bounds}:
            return {"type": "integer", **{name: bounds[name] for name in ("minimum", "maximum") if name in bounds}}
        case dict():
            return {
                name: simplify_schema(one) for name, one in schema.items() if name not in {"description", "default"}
            }
        case list():
            return [simplify_schema(one) for one in schema]
    return schema


def limit_schema(schema: Any) -> Any:
    """Add `maxItems` and `maxLength` where they are missing. Without them the grammar allows endless output."""
    match schema:
        case {"type": "array", **rest}:
            return {
                "maxItems": DEFAULT_MAX_ITEMS,
                "type": "array",
                **{name: limit_schema(one) for name, one in rest.items()},
            }
        case {"type": "string", **rest} if "enum" not in rest:
            return {"maxLength": DEFAULT_MAX_TEXT_CHARS, "type": "string", **rest}
        case dict():
            return {name: limit_schema(one) for name, one in schema.items()}
        case list():
            return [limit_schema(one) for one in schema]
    return schema


def estimate_context_tokens(request: ModelRequest) -> int:
    """Estimate the tokens of prompt and answer, at most CONTEXT_TOKENS."""
    texts = [part.text for message in request.messages for part in message.parts if isinstance(part, Text)]
    prompt_tokens = sum(map(len, [request.system, *texts])) // CHARACTERS_PER_TOKEN
    return min(CONTEXT_TOKENS, prompt_tokens + (request.max_tokens or 0))

"""What keeps a small model within bounds: its context, which all who ask share, and an end to what it says."""

import asyncio
from collections import deque
from typing import Any

import msgspec

from moot.types.chunks import Text
from moot.types.requests import ModelRequest

CONTEXT_TOKENS = 8192  # tokens
DEFAULT_MAX_TOKENS = CONTEXT_TOKENS // 8  # of an answer, if nothing else is said
DEFAULT_MAX_ITEMS, DEFAULT_MAX_TEXT_CHARS = 3, 160  # of lists and of texts in forms that set no limits
CHARACTERS_PER_TOKEN = 3  # or more, in most languages


class ContextPool:
    """Those that go on at the same time must fit into the context together; whoever does not, waits in line."""

    def __init__(self, slots: int, tokens: int = CONTEXT_TOKENS) -> None:
        self._free_slots = slots
        self._free_tokens = tokens
        self._waiters: deque[tuple[int, asyncio.Future[None]]] = deque()

    async def acquire_tokens(self, tokens: int) -> None:
        place = (tokens, asyncio.get_running_loop().create_future())
        self._waiters.append(place)
        self._wake_waiters()
        try:
            await place[1]
        except asyncio.CancelledError:
            if place in self._waiters:
                self._waiters.remove(place)
                self._wake_waiters()
            else:
                self.release_tokens(tokens)
            raise

    def release_tokens(self, tokens: int) -> None:
        self._free_slots += 1
        self._free_tokens += tokens
        self._wake_waiters()

    def _wake_waiters(self) -> None:
        while self._waiters and self._free_slots > 0 and self._free_tokens >= self._waiters[0][0]:
            tokens, waiting = self._waiters.popleft()
            self._free_slots -= 1
            self._free_tokens -= tokens
            waiting.set_result(None)


def limit_request(request: ModelRequest) -> ModelRequest:
    """Put an end to what a small model would go on saying for ever, and hold it to the array it is to write."""
    if request.array_of is not None:
        request = msgspec.structs.replace(request, json_schema=_array_schema(request.array_of), array_of=None)
    if request.json_schema is None:
        return msgspec.structs.replace(request, max_tokens=request.max_tokens or DEFAULT_MAX_TOKENS)
    form = msgspec.json.encode(limit_schema(msgspec.json.decode(request.json_schema)))
    most = min(request.max_tokens or CONTEXT_TOKENS, 2 * DEFAULT_MAX_TOKENS)
    return msgspec.structs.replace(request, json_schema=msgspec.Raw(form), max_tokens=most)


def _array_schema(item: msgspec.Raw) -> msgspec.Raw:
    """Write the form of an array; what its items refer to is found at the top of a form only."""
    form = simplify_schema(msgspec.json.decode(item))
    defs = form.pop("$defs", {})
    return msgspec.Raw(msgspec.json.encode({"type": "array", "minItems": 1, "items": form, "$defs": defs}))


def simplify_schema(schema: Any) -> Any:
    """Leave out of a form what need not be there: a small model gets lost in it, and a grammar of it grows large.

    Numbers become whole: that is enough for places on a board, and a chart of a model this small.
    """
    match schema:
        case {"type": "object", "properties": dict(properties), "required": list(required)}:
            kept = {name: simplify_schema(properties[name]) for name in required}
            return {"type": "object", "properties": kept, "required": required}
        case {"type": "string", "enum": list(values)}:
            return {"enum": values}
        case {"type": "string"}:
            return {
                "type": "string"
            }  # the pattern of a text is beyond grammars, and whoever reads it checks it
        case {"type": "number", **bounds}:
            return {
                "type": "integer",
                **{name: bounds[name] for name in ("minimum", "maximum") if name in bounds},
            }
        case dict():
            return {
                name: simplify_schema(one)
                for name, one in schema.items()
                if name not in {"description", "default"}
            }
        case list():
            return [simplify_schema(one) for one in schema]
    return schema


def limit_schema(schema: Any) -> Any:
    """Give lists and texts of a JSON schema an end: the grammar lets a small model go on with them for ever."""
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
    """Guess how much of the context a request takes, with its answer; more than there is takes all of it."""
    texts = [part.text for message in request.messages for part in message.parts if isinstance(part, Text)]
    read = sum(map(len, [request.system, *texts])) // CHARACTERS_PER_TOKEN
    return min(CONTEXT_TOKENS, read + (request.max_tokens or 0))

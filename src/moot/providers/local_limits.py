"""What keeps a small model within bounds: its context, which all who ask share, and an end to what it says."""

import asyncio
from collections import deque
from typing import Any

import msgspec

from moot.types.chunks import Text
from moot.types.requests import ModelRequest

CONTEXT = 8192  # tokens
MOST_TOKENS = CONTEXT // 8  # of an answer, if nothing else is said
MOST_ITEMS, LONGEST_TEXT = 3, 160  # of lists and of texts in forms that set no limits
CHARACTERS_A_TOKEN = 3  # or more, in most languages


class Context:
    """Those that go on at the same time must fit into the context together; whoever does not, waits in line."""

    def __init__(self, slots: int, tokens: int = CONTEXT) -> None:
        self._slots = slots
        self._tokens = tokens
        self._waiting: deque[tuple[int, asyncio.Future[None]]] = deque()

    async def take(self, tokens: int) -> None:
        place = (tokens, asyncio.get_running_loop().create_future())
        self._waiting.append(place)
        self._admit()
        try:
            await place[1]
        except asyncio.CancelledError:
            if place in self._waiting:
                self._waiting.remove(place)
                self._admit()
            else:
                self.give_back(tokens)
            raise

    def give_back(self, tokens: int) -> None:
        self._slots += 1
        self._tokens += tokens
        self._admit()

    def _admit(self) -> None:
        while self._waiting and self._slots > 0 and self._tokens >= self._waiting[0][0]:
            tokens, waiting = self._waiting.popleft()
            self._slots -= 1
            self._tokens -= tokens
            waiting.set_result(None)


def ending(request: ModelRequest) -> ModelRequest:
    """Put an end to what a small model would go on saying for ever, and hold it to the array it is to write."""
    if request.array_of is not None:
        request = msgspec.structs.replace(request, json_schema=_array(request.array_of), array_of=None)
    if request.json_schema is None:
        return msgspec.structs.replace(request, max_tokens=request.max_tokens or MOST_TOKENS)
    form = msgspec.json.encode(bounded(msgspec.json.decode(request.json_schema)))
    most = min(request.max_tokens or CONTEXT, 2 * MOST_TOKENS)
    return msgspec.structs.replace(request, json_schema=msgspec.Raw(form), max_tokens=most)


def _array(item: msgspec.Raw) -> msgspec.Raw:
    """Write the form of an array; what its items refer to is found at the top of a form only."""
    form = least(msgspec.json.decode(item))
    defs = form.pop("$defs", {})
    return msgspec.Raw(msgspec.json.encode({"type": "array", "minItems": 1, "items": form, "$defs": defs}))


def least(form: Any) -> Any:
    """Leave out of a form what need not be there: a small model gets lost in it, and a grammar of it grows large.

    Numbers become whole: that is enough for places on a board, and a chart of a model this small.
    """
    match form:
        case {"type": "object", "properties": dict(properties), "required": list(required)}:
            kept = {name: least(properties[name]) for name in required}
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
            return {name: least(one) for name, one in form.items() if name not in {"description", "default"}}
        case list():
            return [least(one) for one in form]
    return form


def bounded(form: Any) -> Any:
    """Give lists and texts of a JSON schema an end: the grammar lets a small model go on with them for ever."""
    match form:
        case {"type": "array", **rest}:
            return {
                "maxItems": MOST_ITEMS,
                "type": "array",
                **{name: bounded(one) for name, one in rest.items()},
            }
        case {"type": "string", **rest} if "enum" not in rest:
            return {"maxLength": LONGEST_TEXT, "type": "string", **rest}
        case dict():
            return {name: bounded(one) for name, one in form.items()}
        case list():
            return [bounded(one) for one in form]
    return form


def tokens_of(request: ModelRequest) -> int:
    """Guess how much of the context a request takes, with its answer; more than there is takes all of it."""
    texts = [part.text for message in request.messages for part in message.parts if isinstance(part, Text)]
    read = sum(map(len, [request.system, *texts])) // CHARACTERS_A_TOKEN
    return min(CONTEXT, read + (request.max_tokens or 0))

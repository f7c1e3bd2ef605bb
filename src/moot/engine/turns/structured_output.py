"""Answers with a shape: a model is asked for JSON of a type, and what it says is checked, whatever it promised."""

from collections.abc import Callable, Sequence
from typing import Any, Generic, TypeVar

import msgspec
from msgspec import Raw, Struct
from msgspec.structs import replace

from moot.engine.turns.model_caller import Speaker
from moot.prompts.tasks.task import ASKS, Inquiry, anything
from moot.prompts.templates import written
from moot.providers.registry import Resolved
from moot.streaming.cancellation import Stop
from moot.types.billing import total
from moot.types.chunks import Usage
from moot.types.errors import ProviderError
from moot.types.events import TurnEnded
from moot.types.faults import Fault, fault
from moot.types.json_schema import schema, strict
from moot.types.requests import ModelRequest, assistant, user

T = TypeVar("T", bound=Struct)

ESCAPED_NUL = r"\u0000"  # which no database keeps


class Shaped(Struct, Generic[T], frozen=True, kw_only=True):
    """An answer of the type that was asked for, or why there is none; and what it took, however it went.

    `cost` is None where nobody knows.
    """

    value: T | None
    model: str
    usage: Usage
    cost: float | None
    fault: Fault | None = None

    def needed(self) -> T:
        """Return the answer, where nothing can be done without it."""
        if self.value is None:
            raise ProviderError(self.fault or fault("bad_response", f"{self.model} gave no answer."))
        return self.value


async def structured(
    speaker: Speaker,
    chain: Sequence[Resolved],
    request: ModelRequest,
    type_: type[T],
    check: Callable[[T], str | None] = anything,
    stop: Stop | None = None,
    asks: int = ASKS,
) -> Shaped[T]:
    """Ask for a value of a type, and once more with the reason if what came is none; `check` says what else is wrong."""
    ask = replace(request, system=_told(request.system, type_), json_schema=Raw(_encoded(strict(type_))))
    shaped: Shaped[T] = Shaped(value=None, model="", usage=Usage(), cost=0.0)
    value: T | str = ""
    for _ in range(asks):
        ended = await speaker.answer(chain, ask, stop or Stop())
        shaped = _paid(shaped, ended)
        if ended.status != "completed":
            return replace(shaped, fault=ended.fault)
        value = _understood(ended, type_, check)
        if isinstance(value, type_):
            return replace(shaped, value=value)
        reply = assistant(ended.message.text), user(written("ask_again").format(reason=value))
        ask = replace(ask, messages=(*ask.messages, *reply))
    asked = "was asked twice and " if asks > 1 else ""
    words = f"{shaped.model} {asked}did not answer in the form that is needed. {value} Try again, or choose another model."
    return replace(shaped, fault=fault("bad_response", words))


async def inquired(speaker: Speaker, chain: Sequence[Resolved], inquiry: Inquiry, stop: Stop) -> Shaped[Any]:
    """Ask what an inquiry wants to know, as often as it may be asked."""
    return await structured(
        speaker, chain, inquiry.request, inquiry.answer, inquiry.check, stop, inquiry.asks
    )


def _paid(shaped: Shaped[T], ended: TurnEnded) -> Shaped[T]:
    cost = total((shaped.cost, ended.cost))
    return replace(shaped, model=ended.model, usage=shaped.usage + ended.usage, cost=cost)


def _told(system: str, type_: type[Struct]) -> str:
    """Say what form is wanted in words too: not every model can be held to a schema."""
    form = written("answer_in_json").replace("{schema}", _encoded(schema(type_)).decode())
    return f"{system}\n\n{form}".strip()


def _encoded(value: object) -> bytes:
    return msgspec.json.encode(value)


def _understood(ended: TurnEnded, type_: type[T], check: Callable[[T], str | None]) -> T | str:
    """Read the JSON object in an answer, whatever stands around it; words say what is wrong with it."""
    text = ended.message.text.replace(ESCAPED_NUL, "")
    cut = " The answer was cut off at the token limit: write less." if ended.finish == "length" else ""
    found = text[text.find("{") : text.rfind("}") + 1]
    if not found:
        return f"There is no JSON object in it.{cut}"
    try:
        value = msgspec.json.decode(found, type=type_)
    except (msgspec.DecodeError, RecursionError) as error:
        return f"{' '.join(str(error).split())}.{cut}"
    return check(value) or value

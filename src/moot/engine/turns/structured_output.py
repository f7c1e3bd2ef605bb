"""Answers with a shape: a model is asked for JSON of a type, and what it says is checked, whatever it promised."""

from collections.abc import Callable, Sequence
from typing import Any, Generic, TypeVar

import msgspec
from msgspec import Raw, Struct
from msgspec.structs import replace

from moot.engine.turns.model_caller import ModelCaller
from moot.prompts.tasks.task import MAX_ATTEMPTS, AnalysisTask, accept_any_answer
from moot.prompts.templates import load_template
from moot.providers.registry import ResolvedModel
from moot.streaming.cancellation import StopSignal
from moot.types.billing import sum_costs
from moot.types.chunks import Usage
from moot.types.errors import ProviderError
from moot.types.events import TurnEnded
from moot.types.faults import Fault, make_fault
from moot.types.json_schema import strict_schema, struct_schema
from moot.types.requests import ModelRequest, assistant_message, user_message

T = TypeVar("T", bound=Struct)

ESCAPED_NUL = r"\u0000"  # which no database keeps


class StructuredResult(Struct, Generic[T], frozen=True, kw_only=True):
    """An answer of the type that was asked for, or why there is none; and what it took, however it went.

    `cost` is None where nobody knows.
    """

    value: T | None
    model: str
    usage: Usage
    cost: float | None
    fault: Fault | None = None

    def unwrap(self) -> T:
        """Return the answer, where nothing can be done without it."""
        if self.value is None:
            raise ProviderError(self.fault or make_fault("bad_response", f"{self.model} gave no answer."))
        return self.value


async def structured_completion(
    model_caller: ModelCaller,
    chain: Sequence[ResolvedModel],
    request: ModelRequest,
    type_: type[T],
    check: Callable[[T], str | None] = accept_any_answer,
    stop: StopSignal | None = None,
    max_attempts: int = MAX_ATTEMPTS,
) -> StructuredResult[T]:
    """Ask for a value of a type, and once more with the reason if what came is none; `check` says what else is wrong."""
    ask = replace(
        request,
        system=_with_schema_prompt(request.system, type_),
        json_schema=Raw(_encode_json(strict_schema(type_))),
    )
    shaped: StructuredResult[T] = StructuredResult(value=None, model="", usage=Usage(), cost=0.0)
    value: T | str = ""
    for _ in range(max_attempts):
        ended = await model_caller.complete_request(chain, ask, stop or StopSignal())
        shaped = _add_cost(shaped, ended)
        if ended.status != "completed":
            return replace(shaped, fault=ended.fault)
        value = _parse_answer(ended, type_, check)
        if isinstance(value, type_):
            return replace(shaped, value=value)
        reply = (
            assistant_message(ended.message.text),
            user_message(load_template("ask_again").format(reason=value)),
        )
        ask = replace(ask, messages=(*ask.messages, *reply))
    asked = "was asked twice and " if max_attempts > 1 else ""
    words = f"{shaped.model} {asked}did not answer in the form that is needed. {value} Try again, or choose another model."
    return replace(shaped, fault=make_fault("bad_response", words))


async def complete_analysis(
    model_caller: ModelCaller, chain: Sequence[ResolvedModel], task: AnalysisTask, stop: StopSignal
) -> StructuredResult[Any]:
    """Ask what an inquiry wants to know, as often as it may be asked."""
    return await structured_completion(
        model_caller, chain, task.request, task.answer_type, task.check, stop, task.max_attempts
    )


def _add_cost(result: StructuredResult[T], turn_end: TurnEnded) -> StructuredResult[T]:
    cost = sum_costs((result.cost, turn_end.cost))
    return replace(result, model=turn_end.model, usage=result.usage + turn_end.usage, cost=cost)


def _with_schema_prompt(system: str, type_: type[Struct]) -> str:
    """Say what form is wanted in words too: not every model can be held to a schema."""
    form = load_template("answer_in_json").replace("{schema}", _encode_json(struct_schema(type_)).decode())
    return f"{system}\n\n{form}".strip()


def _encode_json(value: object) -> bytes:
    return msgspec.json.encode(value)


def _parse_answer(turn_end: TurnEnded, type_: type[T], check: Callable[[T], str | None]) -> T | str:
    """Read the JSON object in an answer, whatever stands around it; words say what is wrong with it."""
    text = turn_end.message.text.replace(ESCAPED_NUL, "")
    cut = " The answer was cut off at the token limit: write less." if turn_end.finish == "length" else ""
    found = text[text.find("{") : text.rfind("}") + 1]
    if not found:
        return f"There is no JSON object in it.{cut}"
    try:
        value = msgspec.json.decode(found, type=type_)
    except (msgspec.DecodeError, RecursionError) as error:
        return f"{' '.join(str(error).split())}.{cut}"
    return check(value) or value

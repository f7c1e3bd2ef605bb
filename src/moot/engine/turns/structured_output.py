"""Structured output: requests JSON of a type from a model, and parses and validates the answer.

The answer is always validated, because not every provider enforces the schema.
"""

from collections.abc import Callable, Sequence
from typing import Any, Generic, TypeVar

import msgspec
from msgspec import Raw, Struct
from msgspec.structs import replace

from moot.engine.turns.model_caller import ModelCaller
from moot.prompts.library import load_template
from moot.prompts.tasks.task import MAX_ATTEMPTS, AnalysisTask, accept_any_answer
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

ESCAPED_NUL = r"\u0000"  # databases reject it


class StructuredResult(Struct, Generic[T], frozen=True, kw_only=True):
    """The parsed value, or the fault, with the usage of all attempts."""

    value: T | None
    model: str  # that gave the last answer
    usage: Usage
    cost_usd: float | None  # US dollars; None if the price is unknown
    fault: Fault | None = None  # also None after a stop

    def unwrap(self) -> T:
        """Return the value. Raises ProviderError if there is none."""
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
    """Request a value of `type_`. An invalid answer is sent back with the error, up to `max_attempts` requests.

    `check` returns an error message for a value that parses but is wrong. Faults are returned, not raised.
    """
    current = replace(
        request,
        system=with_schema_prompt(request.system, type_),
        json_schema=Raw(msgspec.json.encode(strict_schema(type_))),
    )
    result: StructuredResult[T] = StructuredResult(value=None, model="", usage=Usage(), cost_usd=0.0)
    value: T | str = ""
    for _ in range(max_attempts):
        turn_end = await model_caller.complete_request(chain, current, stop or StopSignal())
        result = _add_cost(result, turn_end)
        if turn_end.status != "completed":
            return replace(result, fault=turn_end.fault)
        value = _parse_answer(turn_end, type_, check)
        if isinstance(value, type_):
            return replace(result, value=value)
        reply = (
            assistant_message(turn_end.message.text),
            user_message(load_template("ask_again").format(reason=value)),
        )
        current = replace(current, messages=(*current.messages, *reply))
    attempts = "was asked twice and " if max_attempts > 1 else ""
    text = f"{result.model} {attempts}did not return the required format. {value} Try again, or choose another model."
    return replace(result, fault=make_fault("bad_response", text))


async def complete_analysis(
    model_caller: ModelCaller, chain: Sequence[ResolvedModel], task: AnalysisTask, stop: StopSignal
) -> StructuredResult[Any]:
    return await structured_completion(
        model_caller, chain, task.request, task.answer_type, task.check, stop, task.max_attempts
    )


def _add_cost(result: StructuredResult[T], turn_end: TurnEnded) -> StructuredResult[T]:
    cost = sum_costs((result.cost_usd, turn_end.cost_usd))
    return replace(result, model=turn_end.model, usage=result.usage + turn_end.usage, cost_usd=cost)


def with_schema_prompt(system: str, type_: type[Struct]) -> str:
    """Add the schema to the system prompt, for models without native schema support."""
    form = load_template("answer_in_json").replace("{schema}", msgspec.json.encode(struct_schema(type_)).decode())
    return f"{system}\n\n{form}".strip()


def _parse_answer(turn_end: TurnEnded, type_: type[T], check: Callable[[T], str | None]) -> T | str:
    """Parse the JSON object, ignoring text around it; return an error message for the model if it is invalid."""
    text = turn_end.message.text.replace(ESCAPED_NUL, "")
    cut = " The answer was cut off at the token limit: write less." if turn_end.finish_reason == "length" else ""
    found = text[text.find("{") : text.rfind("}") + 1]
    if not found:
        return f"There is no JSON object in it.{cut}"
    try:
        value = msgspec.json.decode(found, type=type_)
    except (msgspec.DecodeError, RecursionError) as error:
        return f"{' '.join(str(error).split())}.{cut}"
    return check(value) or value

"""Structured output: the request, what is parsed, and what follows an invalid answer."""

from typing import Annotated, Literal

import msgspec
import pytest
from inline_snapshot import snapshot
from msgspec import Meta, Struct

from moot.engine.turns.model_caller import ModelCaller
from moot.engine.turns.structured_output import StructuredResult, structured_completion
from moot.providers.keys import KeyRing
from moot.providers.provider import ChunkStream
from moot.providers.registry import ResolvedModel
from moot.providers.scripted.provider import ScriptedProvider
from moot.providers.scripted.scripts import BUILT_IN_SCRIPTS, Script, Scripts
from moot.streaming.cancellation import StopSignal
from moot.types.chunks import Text, Usage
from moot.types.errors import ProviderError
from moot.types.json_schema import strict_schema
from moot.types.requests import ModelRequest, user_message

MODEL_CALLER = ModelCaller(backoff_seconds=0.001)
REQUEST = ModelRequest(model="", system="Judge tables.", messages=(user_message("It is round."),))


class Leg(Struct, frozen=True):
    length: Annotated[float, Meta(gt=0)]


class Table(Struct, frozen=True):
    """A table."""

    shape: Literal["round", "square"]
    legs: Annotated[tuple[Leg, ...], Meta(min_length=1)]
    name: str | None = None


GOOD = '{"shape": "round", "legs": [{"length": 0.7}]}'
BAD = '{"shape": "oval", "legs": []}'
VALUE = Table("round", (Leg(0.7),))


class SequenceProvider(ScriptedProvider):
    """A model that gives the answers in order and records its requests."""

    def __init__(self, *answers: str) -> None:
        super().__init__(Scripts({str(place): Script(answer=answer) for place, answer in enumerate(answers)}))
        self.requests: list[ModelRequest] = []

    async def stream_chunks(self, request: ModelRequest, key: str | None = None) -> ChunkStream:
        self.requests.append(request)
        stream = super().stream_chunks(msgspec.structs.replace(request, model=str(len(self.requests) - 1)), key)
        async for chunks in stream:
            yield chunks


def resolve_models(provider: ScriptedProvider, *models: str) -> list[ResolvedModel]:
    return [ResolvedModel(f"scripted/{model}", provider, model, KeyRing(())) for model in models or ("changing",)]


async def request_table(*answers: str) -> tuple[StructuredResult[Table], SequenceProvider]:
    provider = SequenceProvider(*answers)
    return await structured_completion(MODEL_CALLER, resolve_models(provider), REQUEST, Table), provider


@pytest.mark.parametrize(
    "answer",
    [
        GOOD,
        f"```json\n{GOOD}\n```",
        f"```\n{GOOD}\n```",
        f"Here it is:\n\n{GOOD}\n\nAnything else?",
        f"\n {GOOD}\n",
    ],
)
async def test_structured_completion_parses_object_whatever_surrounds_it(answer: str) -> None:
    completion, provider = await request_table(answer)
    assert completion.value == VALUE
    assert (completion.model, completion.cost_usd) == ("scripted/changing", 0.0)
    assert completion.usage.output > 0
    assert len(provider.requests) == 1


async def test_structured_completion_sends_schema_in_prompt_and_request() -> None:
    _, provider = await request_table(GOOD)
    (asked,) = provider.requests
    assert asked.system == snapshot("""\
Judge tables.

Answer with one JSON object and nothing else: no words before or after it, no code fence. It must fit this JSON schema; where something does not apply, write null or an empty list.

{"description":"A table.","type":"object","properties":{"shape":{"enum":["round","square"]},"legs":{"type":"array","items":{"type":"object","properties":{"length":{"type":"number","exclusiveMinimum":0}},"required":["length"]},"minItems":1},"name":{"anyOf":[{"type":"string"},{"type":"null"}]}},"required":["shape","legs"]}\
""")
    assert asked.json_schema is not None
    assert msgspec.json.decode(asked.json_schema) == strict_schema(Table)
    assert asked.messages == REQUEST.messages


async def test_invalid_answer_is_requested_again_with_reason() -> None:
    completion, provider = await request_table(BAD, GOOD)
    assert completion.value == VALUE
    again = provider.requests[1].messages
    assert [message.role for message in again] == ["user", "assistant", "user"]
    assert again[1].parts == (Text(BAD),)
    assert again[2].parts == (
        Text(
            "That answer cannot be used: Invalid enum value 'oval' - at `$.shape`. Write the whole answer again "
            "as one JSON object that fits the schema, with nothing before or after it."
        ),
    )
    first, second = (
        Usage(len("It is round.") // 4 + 1, -(-len(BAD) // 4)),
        Usage(len(again[2].parts[0].text) // 4 + 1, -(-len(GOOD) // 4)),
    )
    assert completion.usage == first + second


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (BAD, "oval"),
        ("I would rather not.", "no JSON object"),
        ("}{", "no JSON object"),
        ('{"shape": "round"}', "legs"),
        ('{"shape": "round", "legs": [{"length": 0}]}', "legs"),
        ("[" * 10 + "{" * 100_000 + "}", "JSON|recursion"),
    ],
)
async def test_second_invalid_answer_is_error_with_reason(answer: str, reason: str) -> None:
    completion, _ = await request_table(answer, answer, GOOD)
    assert completion.fault is not None
    assert completion.fault.kind == "bad_response"
    assert "scripted/changing was asked twice" in completion.fault.message
    assert completion.usage.output == 2 * -(-len(answer) // 4)  # an invalid answer is charged too
    with pytest.raises(ProviderError, match=reason):
        completion.unwrap()


async def test_truncated_answer_is_requested_again_shorter() -> None:
    provider = SequenceProvider(GOOD[:20], GOOD)
    provider._scripts.by_name["0"] = Script(answer=GOOD[:20], finish_reason="length")
    completion = await structured_completion(MODEL_CALLER, resolve_models(provider), REQUEST, Table)
    assert completion.value == VALUE
    (complaint,) = provider.requests[1].messages[-1].parts
    assert isinstance(complaint, Text)
    assert "cut off at the token limit" in complaint.text


async def test_failed_model_is_error_with_its_message() -> None:
    provider = ScriptedProvider(Scripts(BUILT_IN_SCRIPTS))
    completion = await structured_completion(MODEL_CALLER, resolve_models(provider, "unauthorized"), REQUEST, Table)
    with pytest.raises(ProviderError, match="Key rejected") as error:
        completion.unwrap()
    assert error.value.fault.kind == "auth"


async def test_partial_answer_is_error() -> None:
    provider = ScriptedProvider(Scripts({"cut": Script(answer=GOOD, fault="reset", chunk_chars=40)}))
    completion = await structured_completion(MODEL_CALLER, resolve_models(provider, "cut"), REQUEST, Table)
    assert completion.value is None
    with pytest.raises(ProviderError, match="broke"):
        completion.unwrap()


async def test_failed_custom_check_is_reported_to_model_and_in_fault() -> None:
    provider = SequenceProvider(GOOD, GOOD)
    completion = await structured_completion(
        MODEL_CALLER, resolve_models(provider), REQUEST, Table, lambda _: "it wobbles"
    )
    assert completion.fault is not None
    assert "it wobbles" in completion.fault.message
    (complaint,) = provider.requests[1].messages[-1].parts
    assert isinstance(complaint, Text)
    assert "it wobbles" in complaint.text


async def test_stop_returns_no_value_and_no_fault() -> None:
    provider, stop = SequenceProvider(GOOD, GOOD), StopSignal()
    stop.request_stop()
    completion = await structured_completion(MODEL_CALLER, resolve_models(provider), REQUEST, Table, stop=stop)
    assert (completion.value, completion.fault, provider.requests) == (None, None, [])


async def test_fallback_model_answers_when_first_model_fails() -> None:
    provider = ScriptedProvider(Scripts({**BUILT_IN_SCRIPTS, "good": Script(answer=GOOD)}))
    completion = await structured_completion(
        MODEL_CALLER, resolve_models(provider, "unauthorized", "good"), REQUEST, Table
    )
    assert (completion.value, completion.model) == (VALUE, "scripted/good")


async def test_thoughts_before_answer_are_ignored() -> None:
    completion, _ = await request_table(f"<think>{{round?}}</think>{GOOD}")
    assert completion.value == VALUE

"""The adapters against a server we did not write: llama.cpp's own, which speaks two of the formats on loopback."""

import asyncio
import json
import re
from collections.abc import AsyncIterator
from typing import Any

import pytest
from msgspec import Raw

from moot.providers.catalog import Api
from moot.providers.http_provider import HttpProvider
from moot.providers.local import find_demo_weights, load_library
from moot.providers.registry import WIRE_FORMATS
from moot.providers.transport import Transport
from moot.streaming.cancellation import StopSignal
from moot.types.events import TextDelta
from moot.types.requests import ModelRequest, assistant_message, user_message
from tests.support.provider_turns import API_KEY, run_provider_turn

CAPITAL_REQUEST = ModelRequest(
    model="peer",
    system="Answer in one short sentence.",
    messages=(
        user_message("Hello"),
        assistant_message("Hello!"),
        user_message("What is the capital of France?"),
    ),
    max_tokens=24,
    temperature=0.0,
)


@pytest.fixture(scope="module")
def llama_cpp_server() -> Any:
    library = load_library()
    params = library.CommonParams()
    params.model.path = str(find_demo_weights())
    params.model_alias = {"peer"}
    params.n_ctx, params.n_parallel, params.verbosity = 4096, 2, -1
    params.api_keys = [API_KEY]
    return library.Server(params)


@pytest.fixture(params=["openai", "anthropic"])
async def provider(llama_cpp_server: Any, request: pytest.FixtureRequest) -> AsyncIterator[HttpProvider]:
    api: Api = request.param
    transport = Transport()
    yield HttpProvider(api, WIRE_FORMATS[api](), f"{llama_cpp_server.listening_address}/v1", transport)
    await transport.aclose()


async def test_llama_cpp_answer_streams_with_usage(provider: HttpProvider) -> None:
    taken = await run_provider_turn(provider, "peer", request=CAPITAL_REQUEST)
    assert taken.result.status == "completed"
    assert re.search(r"\w{3}", taken.result.text)
    assert len([event for event in taken.events if isinstance(event, TextDelta)]) > 1
    assert taken.result.usage is not None
    assert taken.result.usage.input > 10
    assert taken.result.usage.output > 1


async def test_llama_cpp_max_tokens_sets_finish_length(provider: HttpProvider) -> None:
    request = ModelRequest(model="peer", messages=(user_message("Tell me a story."),), max_tokens=3)
    assert (await run_provider_turn(provider, "peer", request=request)).result.finish == "length"


async def test_llama_cpp_stream_stops_on_stop_signal(provider: HttpProvider) -> None:
    stop = StopSignal()
    request = ModelRequest(model="peer", messages=(user_message("Tell me a very long story."),), max_tokens=2000)
    asyncio.get_running_loop().call_later(0.1, stop.request_stop)
    taken = await run_provider_turn(provider, "peer", request=request, stop=stop)
    assert taken.result.status == "stopped_by_user"


async def test_llama_cpp_too_long_prompt_gives_context_length_fault(provider: HttpProvider) -> None:
    request = ModelRequest(model="peer", messages=(user_message("word " * 9000),), max_tokens=5)
    fault = (await run_provider_turn(provider, "peer", request=request)).result.fault
    assert fault is not None
    assert fault.kind == "context_length"


async def test_llama_cpp_wrong_key_is_rejected_without_exposing_it(provider: HttpProvider) -> None:
    (batch,) = [batch async for batch in provider.stream_chunks(CAPITAL_REQUEST, "wrong-key-0123456789")]
    (failed,) = batch
    assert "Key rejected" in str(failed)
    assert "0123456789" not in str(failed)


async def test_llama_cpp_models_are_listed(provider: HttpProvider) -> None:
    assert await provider.list_models(API_KEY) == ["peer"]


async def test_llama_cpp_answer_follows_json_schema(llama_cpp_server: Any) -> None:
    transport = Transport()
    peer = HttpProvider("openai", WIRE_FORMATS["openai"](), f"{llama_cpp_server.listening_address}/v1", transport)
    schema = b'{"type": "object", "properties": {"n": {"enum": [1, 2]}}, "required": ["n"]}'
    request = ModelRequest(
        model="peer", messages=(user_message("Pick a number."),), json_schema=Raw(schema), max_tokens=40
    )
    answer = (await run_provider_turn(peer, "peer", request=request)).result.text
    await transport.aclose()
    assert json.loads(answer)["n"] in {1, 2}

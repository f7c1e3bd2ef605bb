"""The conformance suite of `Provider`, for all five implementations."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import aclosing

import pytest
from msgspec.structs import replace

from moot.providers.catalog import Api
from moot.providers.local import DEMO_MODEL, PARALLEL_SLOTS
from moot.providers.provider import Provider
from moot.providers.scripted.provider import ScriptedProvider
from moot.providers.scripted.scripts import BUILT_IN_SCRIPTS, Scripts
from moot.types.chunks import Chunk, Done, Failed, Text, Usage
from moot.types.errors import UnknownModel
from moot.types.requests import ModelRequest, user_message
from tests.providers.preloaded_provider import PreloadedLocalProvider
from tests.support.provider_turns import API_KEY, ProviderServerSetup, run_provider_turn

MakeRequest = Callable[[str], ModelRequest]
APIS: tuple[Api, ...] = ("openai", "anthropic", "google", "scripted", "local")


@pytest.fixture(params=APIS)
def api(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
async def provider(
    api: Api, provider_server: ProviderServerSetup, request: pytest.FixtureRequest
) -> AsyncIterator[Provider]:
    made: Provider
    match api:
        case "local":
            made = PreloadedLocalProvider(request.getfixturevalue("loaded_server"))
        case "scripted":
            made = ScriptedProvider(Scripts(BUILT_IN_SCRIPTS))
        case _:
            made = provider_server.create_provider(api)
    yield made
    await made.aclose()


@pytest.fixture
def make_request(api: str) -> MakeRequest:
    """Return a short request. The embedded model answers freely, the others by script."""

    def make(script: str) -> ModelRequest:
        model = DEMO_MODEL if api == "local" else script
        return ModelRequest(model=model, messages=(user_message("Say hello."),), max_tokens=12, temperature=0.0)

    return make


async def collect_chunks(provider: Provider, request: ModelRequest) -> list[Chunk]:
    return [chunk async for batch in provider.stream_chunks(request, API_KEY) for chunk in batch]


async def test_provider_stream_ends_with_exactly_one_final_chunk(provider: Provider, make_request: MakeRequest) -> None:
    chunks = await collect_chunks(provider, make_request("steady"))
    assert [type(c) for c in chunks if isinstance(c, Done | Failed)] == [Done]
    assert isinstance(chunks[-1], Done)


async def test_provider_streams_text_in_pieces_with_usage(provider: Provider, make_request: MakeRequest) -> None:
    chunks = await collect_chunks(provider, make_request("steady"))
    assert len([c for c in chunks if isinstance(c, Text)]) > 1
    usage = [c for c in chunks if isinstance(c, Usage)][-1]
    assert usage.input > 0
    assert usage.output > 0


async def test_provider_completes_more_parallel_calls_than_slots(provider: Provider, make_request: MakeRequest) -> None:
    lanes = PARALLEL_SLOTS + 1
    together = await asyncio.gather(
        *(run_provider_turn(provider, "echo", request=make_request("echo")) for _ in range(lanes))
    )
    assert [taken.result.status for taken in together] == ["completed"] * lanes
    assert all(taken.result.text for taken in together)


async def test_provider_stays_usable_after_stream_is_closed_early(
    provider: Provider, make_request: MakeRequest
) -> None:
    stream = provider.stream_chunks(make_request("slow"), API_KEY)
    async with aclosing(stream):
        async for _ in stream:
            break
    assert (await run_provider_turn(provider, "echo", request=make_request("echo"))).result.status == "completed"


async def test_provider_stream_ends_when_task_is_cancelled(provider: Provider, make_request: MakeRequest) -> None:
    began = asyncio.Event()

    async def listen() -> None:
        async for _ in provider.stream_chunks(replace(make_request("long"), max_tokens=2000), API_KEY):
            began.set()

    task = asyncio.create_task(listen())
    async with asyncio.timeout(60):
        await began.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


async def test_provider_reports_failure_as_chunk(provider: Provider, api: str) -> None:
    if api == "local":
        too_long = ModelRequest(model=DEMO_MODEL, messages=(user_message("word " * 20_000),))
        chunks = await collect_chunks(provider, too_long)
        assert isinstance(chunks[-1], Failed)
        assert chunks[-1].fault.kind == "context_length"
    else:
        chunks = await collect_chunks(provider, ModelRequest(model="overloaded", messages=(user_message("?"),)))
        assert isinstance(chunks[-1], Failed)
        assert chunks[-1].fault.kind == "overloaded"


async def test_provider_lists_models(provider: Provider, api: str) -> None:
    assert (DEMO_MODEL if api == "local" else "echo") in await provider.list_models(API_KEY)


async def test_provider_rejects_unknown_model(provider: Provider, api: str) -> None:
    if api in {"local", "scripted"}:
        with pytest.raises(UnknownModel):
            provider.check_model("no-such-model")
    else:
        provider.check_model("no-such-model")
        (failed,) = await collect_chunks(provider, ModelRequest(model="no-such-model", messages=(user_message("?"),)))
        assert isinstance(failed, Failed)
        assert "no-such-model" in failed.fault.message
        assert not failed.fault.retryable


def test_provider_profile_accepts_text_files(provider: Provider, make_request: MakeRequest) -> None:
    assert "text" in provider.model_profile(make_request("echo").model).files


def test_provider_call_cost_is_price_or_unknown(provider: Provider, api: str) -> None:
    expected = 0.0 if api in {"local", "scripted"} else None
    assert provider.call_cost_usd("echo", Usage(1000, 1000)) == expected

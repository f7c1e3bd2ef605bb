"""The measured clients: a minimal client, Moot's three wire formats, and the SDKs if they are installed.

Opening a client returns a function that sends one request. The model name in the request selects the response of the
server, and the client calls `on_text` for each text that it receives from the stream.
"""

import os
from collections.abc import AsyncIterator, Callable, Coroutine, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from importlib import import_module, metadata
from importlib.util import find_spec
from typing import Any

import aiohttp
import msgspec
from msgspec import Struct

from moot.engine.runs.ephemeral import RunLog
from moot.providers.anthropic import AnthropicWireFormat
from moot.providers.google import GoogleWireFormat
from moot.providers.http_provider import HttpProvider
from moot.providers.openai import OpenAIWireFormat
from moot.providers.transport import Transport
from moot.providers.wire_format import WireFormat
from moot.streaming.cancellation import StopSignal
from moot.streaming.turn_stream import Limits, StreamConsumer, consume_stream
from moot.types.events import Event, TextDelta, TurnKey
from moot.types.requests import ModelRequest, user_message

QUESTION = "Why does an event loop need no threads?"
MESSAGES = [{"role": "user", "content": QUESTION}]

OnText = Callable[[str], object]
SendRequest = Callable[[str, OnText], Coroutine[None, None, None]]
OpenClient = Callable[[str], AbstractAsyncContextManager[SendRequest]]


class Delta(Struct):
    content: str | None = None


class Choice(Struct):
    delta: Delta


class Frame(Struct):
    choices: list[Choice]


@asynccontextmanager
async def open_bare_client(address: str) -> AsyncIterator[SendRequest]:
    """Open a minimal client of aiohttp and msgspec, without limits, error handling, cancellation or timeouts."""
    decoder = msgspec.json.Decoder(Frame)
    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0)) as session:

        async def send_request(model: str, on_text: OnText) -> None:
            body = msgspec.json.encode({"model": model, "stream": True, "messages": MESSAGES})
            rest = b""
            async with session.post(f"{address}/v1/chat/completions", data=body) as response:
                async for piece in response.content.iter_any():
                    *events, rest = (rest + piece).split(b"\n\n")
                    for event in events:
                        if event != b"data: [DONE]":
                            for choice in decoder.decode(event[6:]).choices:
                                if choice.delta.content:
                                    on_text(choice.delta.content)

        yield send_request


def build_moot_client(name: str, wire: WireFormat, path: str) -> OpenClient:
    """Build a client from Moot's own code: provider stream, turn, event log and subscriber."""

    @asynccontextmanager
    async def open_client(address: str) -> AsyncIterator[SendRequest]:
        transport = Transport()
        provider = HttpProvider(name, wire, address + path, transport)

        async def send_request(model: str, on_text: OnText) -> None:
            def handle_events(events: Sequence[Event]) -> None:
                for event in events:
                    if isinstance(event, TextDelta):
                        on_text(event.text)

            request = ModelRequest(model=model, messages=(user_message(QUESTION),))
            stream = provider.stream_chunks(request, "key")
            consumer = StreamConsumer(TurnKey("alpha"), Limits())
            result = await consume_stream(stream, consumer, StopSignal(), RunLog(handle_events).append_events)
            assert result.status == "completed", result

        try:
            yield send_request
        finally:
            await transport.aclose()

    return open_client


@asynccontextmanager
async def open_openai_sdk(address: str) -> AsyncIterator[SendRequest]:
    library: Any = import_module("openai")
    async with library.AsyncOpenAI(base_url=f"{address}/v1", api_key="key") as client:

        async def send_request(model: str, on_text: OnText) -> None:
            stream = await client.chat.completions.create(model=model, messages=MESSAGES, stream=True)
            async for chunk in stream:
                if chunk.choices and (text := chunk.choices[0].delta.content):
                    on_text(text)

        yield send_request


@asynccontextmanager
async def open_litellm(address: str) -> AsyncIterator[SendRequest]:
    os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"  # without this, the import sends a request for a price list
    os.environ["LITELLM_TELEMETRY"] = "False"
    library: Any = import_module("litellm")
    library.telemetry = False

    async def send_request(model: str, on_text: OnText) -> None:
        stream = await library.acompletion(
            model=f"openai/{model}", messages=MESSAGES, stream=True, api_base=f"{address}/v1", api_key="key"
        )
        async for chunk in stream:
            if chunk.choices and (text := chunk.choices[0].delta.content):
                on_text(text)

    yield send_request


BARE = "bare loop"
MOOT = "Moot, OpenAI format"
OPENAI_SDK = "OpenAI SDK"
LITELLM = "LiteLLM"
CLIENTS: dict[str, OpenClient] = {
    BARE: open_bare_client,
    MOOT: build_moot_client("openai", OpenAIWireFormat(), "/v1"),
    "Moot, Anthropic format": build_moot_client("anthropic", AnthropicWireFormat(), "/v1"),
    "Moot, Google format": build_moot_client("google", GoogleWireFormat(), "/v1beta"),
    OPENAI_SDK: open_openai_sdk,
    LITELLM: open_litellm,
}
PACKAGES = {OPENAI_SDK: "openai", LITELLM: "litellm"}


def list_installed_clients() -> dict[str, OpenClient]:
    """Return all clients except the SDKs that are not installed."""
    return {
        name: open_client for name, open_client in CLIENTS.items() if name not in PACKAGES or find_spec(PACKAGES[name])
    }


def read_package_versions() -> dict[str, str]:
    packages = ("aiohttp", "msgspec", "uvloop", *PACKAGES.values())
    return {package: metadata.version(package) for package in packages if find_spec(package)}

"""Who is measured: a bare loop, our three adapters, and the SDKs where they are installed.

A contender is opened once on the server's address, and then asked with a plan; it tells each text that it hears.
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
Ask = Callable[[str, OnText], Coroutine[None, None, None]]
OpenContender = Callable[[str], AbstractAsyncContextManager[Ask]]


class Delta(Struct):
    content: str | None = None


class Choice(Struct):
    delta: Delta


class Frame(Struct):
    choices: list[Choice]


@asynccontextmanager
async def bare(address: str) -> AsyncIterator[Ask]:
    """The least that aiohttp and msgspec can do: no limits, no errors, no stop, no time-outs."""
    decoder = msgspec.json.Decoder(Frame)
    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0)) as session:

        async def ask(plan: str, on_text: OnText) -> None:
            body = msgspec.json.encode({"model": plan, "stream": True, "messages": MESSAGES})
            rest = b""
            async with session.post(f"{address}/v1/chat/completions", data=body) as response:
                async for piece in response.content.iter_any():
                    *events, rest = (rest + piece).split(b"\n\n")
                    for event in events:
                        if event != b"data: [DONE]":
                            for choice in decoder.decode(event[6:]).choices:
                                if choice.delta.content:
                                    on_text(choice.delta.content)

        yield ask


def moot(name: str, wire: WireFormat, path: str) -> OpenContender:
    """Our path: the provider's stream through the turn to the log, and its reader."""

    @asynccontextmanager
    async def open_contender(address: str) -> AsyncIterator[Ask]:
        transport = Transport()
        provider = HttpProvider(name, wire, address + path, transport)

        async def ask(plan: str, on_text: OnText) -> None:
            def read(events: Sequence[Event]) -> None:
                for event in events:
                    if isinstance(event, TextDelta):
                        on_text(event.text)

            request = ModelRequest(model=plan, messages=(user_message(QUESTION),))
            stream = provider.stream_chunks(request, "key")
            consumer = StreamConsumer(TurnKey("alpha"), Limits())
            result = await consume_stream(stream, consumer, StopSignal(), RunLog(read).append_events)
            assert result.status == "completed", result

        try:
            yield ask
        finally:
            await transport.aclose()

    return open_contender


@asynccontextmanager
async def openai_sdk(address: str) -> AsyncIterator[Ask]:
    library: Any = import_module("openai")
    async with library.AsyncOpenAI(base_url=f"{address}/v1", api_key="key") as client:

        async def ask(plan: str, on_text: OnText) -> None:
            stream = await client.chat.completions.create(model=plan, messages=MESSAGES, stream=True)
            async for chunk in stream:
                if chunk.choices and (text := chunk.choices[0].delta.content):
                    on_text(text)

        yield ask


@asynccontextmanager
async def litellm(address: str) -> AsyncIterator[Ask]:
    os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"  # else it fetches a list when it is imported
    os.environ["LITELLM_TELEMETRY"] = "False"
    library: Any = import_module("litellm")
    library.telemetry = False

    async def ask(plan: str, on_text: OnText) -> None:
        stream = await library.acompletion(
            model=f"openai/{plan}", messages=MESSAGES, stream=True, api_base=f"{address}/v1", api_key="key"
        )
        async for chunk in stream:
            if chunk.choices and (text := chunk.choices[0].delta.content):
                on_text(text)

    yield ask


BARE = "bare loop"
MOOT = "moot, openai"
OPENAI_SDK = "OpenAI SDK"
LITELLM = "LiteLLM"
CONTENDERS: dict[str, OpenContender] = {
    BARE: bare,
    MOOT: moot("openai", OpenAIWireFormat(), "/v1"),
    "moot, anthropic": moot("anthropic", AnthropicWireFormat(), "/v1"),
    "moot, google": moot("google", GoogleWireFormat(), "/v1beta"),
    OPENAI_SDK: openai_sdk,
    LITELLM: litellm,
}
PACKAGES = {OPENAI_SDK: "openai", LITELLM: "litellm"}


def installed_contenders() -> dict[str, OpenContender]:
    """Leave out the SDKs that are not there to be measured."""
    return {name: opened for name, opened in CONTENDERS.items() if name not in PACKAGES or find_spec(PACKAGES[name])}


def versions() -> dict[str, str]:
    packages = ("aiohttp", "msgspec", "uvloop", *PACKAGES.values())
    return {package: metadata.version(package) for package in packages if find_spec(package)}

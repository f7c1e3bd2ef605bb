import asyncio
import time
from collections.abc import AsyncGenerator, AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from typing import Any, NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from moot.providers import http_provider
from moot.providers.catalog import Api
from moot.providers.http_provider import HttpProvider
from moot.providers.registry import WIRE_FORMATS
from moot.providers.scripted.scripts import LOOK_UP_TOOL, Script, Scripts
from moot.providers.sse import EventParser
from moot.providers.transport import Transport
from moot.streaming.cancellation import StopSignal
from moot.testing.frames import answer_frames, encode_event
from moot.testing.wire_formats.anthropic import AnthropicDialect
from moot.testing.wire_formats.dialect import Dialect
from moot.testing.wire_formats.google import GoogleDialect
from moot.testing.wire_formats.openai import OpenAIDialect
from moot.types.chunks import Usage
from moot.types.errors import ProviderError
from moot.types.requests import ModelRequest, user_message
from tests.support.provider_turns import ProviderServerSetup, ProviderTurn, run_provider_turn

APIS: tuple[Api, ...] = ("openai", "anthropic", "google")
DIALECTS: dict[Api, type[Dialect]] = {
    "openai": OpenAIDialect,
    "anthropic": AnthropicDialect,
    "google": GoogleDialect,
}
RICH_SCRIPT = Script(
    thoughts="Zuerst: ein Gedanke. 考える。",
    answer='Ein Tisch — <think>rund?</think> ja 🪑👩‍👩‍👧.\u2028Zeile `<think>` \\ "Zitat"\n```py\n<details>\n```\n<details>klein</details>',
    tool=LOOK_UP_TOOL,
    chunk_chars=5,
)


class ReplayTransport(Transport):
    """A transport that replays recorded bytes in these pieces."""

    def __init__(self, pieces: Sequence[bytes]) -> None:
        super().__init__()
        self._pieces = pieces

    async def post_stream(
        self, provider_name: str, url: str, headers: Mapping[str, str], body: bytes, key: str | None
    ) -> AsyncGenerator[list[bytes], None]:
        parser = EventParser()
        for piece in self._pieces:
            if events := parser.feed_bytes(piece):
                yield events


def record_stream(api: Api) -> bytes:
    scripts = Scripts({"rich": RICH_SCRIPT})
    reply = scripts.next_reply(ModelRequest(model="rich", messages=(user_message("?"),)))
    return b"".join(encode_event(frame, "") for frame in answer_frames(DIALECTS[api](), reply))


async def replay_stream(api: Api, pieces: Sequence[bytes]) -> ProviderTurn:
    return await run_provider_turn(
        HttpProvider(api, WIRE_FORMATS[api](), "http://replay", ReplayTransport(pieces)), "rich"
    )


@pytest.mark.parametrize("api", APIS)
def test_stream_result_does_not_depend_on_chunk_boundaries(api: Api) -> None:
    stream = record_stream(api)
    whole = asyncio.run(replay_stream(api, [stream])).result
    assert (whole.status, whole.details) == ("tool_call", "klein")
    assert "rund?" in whole.thoughts
    assert "🪑👩‍👩‍👧.\u2028Zeile" in whole.text

    @settings(max_examples=60)  # the profile for slow tests does not apply to a nested property
    @given(st.lists(st.integers(0, len(stream)), max_size=40))
    def cut(places: list[int]) -> None:
        cuts = sorted(places)
        pieces = [stream[a:b] for a, b in zip([0, *cuts], [*cuts, len(stream)], strict=True)]
        result = asyncio.run(replay_stream(api, pieces)).result
        for field in ("status", "text", "thoughts", "details", "tool_calls", "usage", "finish", "fault"):
            assert getattr(result, field) == getattr(whole, field)

    cut()
    bytewise = asyncio.run(replay_stream(api, [bytes([byte]) for byte in stream])).result
    assert (bytewise.text, bytewise.thoughts) == (whole.text, whole.thoughts)


@pytest.mark.parametrize("api", APIS)
async def test_stop_closes_connection_without_waiting_for_next_chunk(
    provider_server: ProviderServerSetup, api: Api
) -> None:
    provider_server.add_scripts(crawl=Script(chunk_interval_seconds=60.0))
    stop = StopSignal()
    turn = asyncio.create_task(run_provider_turn(provider_server.create_provider(api), "crawl", stop=stop))
    while not (
        provider_server.fake_server.received_requests and provider_server.fake_server.received_requests[0].frame_count
    ):
        await asyncio.sleep(0.01)
    stop.request_stop()
    taken = await asyncio.wait_for(turn, 60)
    async with asyncio.timeout(60):
        while not provider_server.fake_server.received_requests[0].outcome:
            await asyncio.sleep(0.005)
    assert (
        provider_server.fake_server.received_requests[0].outcome,
        provider_server.fake_server.received_requests[0].frame_count,
    ) == (
        "client left",
        1,
    )
    assert taken.result.status == "stopped_by_user"


@pytest.mark.parametrize("api", APIS)
async def test_script_over_http_gives_expected_text_and_details(provider_server: ProviderServerSetup, api: Api) -> None:
    provider_server.add_scripts(rich=RICH_SCRIPT)
    result = (await run_provider_turn(provider_server.create_provider(api), "rich")).result
    assert (result.text, result.details) == (
        'Ein Tisch —  ja 🪑👩‍👩‍👧.\u2028Zeile `<think>` \\ "Zitat"\n```py\n<details>\n```\n',
        "klein",
    )


async def test_list_models_rejects_invalid_response(provider_server: ProviderServerSetup) -> None:
    wrong = HttpProvider("wrong", WIRE_FORMATS["google"](), f"{provider_server.url}/v1", provider_server.transport)
    with pytest.raises(ProviderError, match="invalid model list"):
        await wrong.list_models()


async def test_call_cost_depends_on_base_url(provider_server: ProviderServerSetup) -> None:
    hosted = HttpProvider("openai", WIRE_FORMATS["openai"](), "https://api.openai.com/v1", provider_server.transport)
    elsewhere = HttpProvider("openai", WIRE_FORMATS["openai"](), provider_server.url, provider_server.transport)
    free = HttpProvider(
        "ollama", WIRE_FORMATS["openai"](), provider_server.url, provider_server.transport, is_free=True
    )
    usage = Usage(1_000_000, 1_000_000)
    assert (hosted.call_cost_usd("gpt-4o-mini", usage) or 0) > 0
    assert elsewhere.call_cost_usd("gpt-4o-mini", usage) is None
    assert free.call_cost_usd("gpt-4o-mini", usage) == 0.0
    assert hosted.model_profile("gpt-4o-mini").context == 128_000


class ServerHandle(NamedTuple):
    url: str
    connections: list[asyncio.StreamWriter]


@asynccontextmanager
async def serve_chunks(
    *pieces: bytes, pause_seconds: float = 0.0, hang_up: bool = False
) -> AsyncIterator[ServerHandle]:
    """Serve one chunked answer to every request, in pieces, and count connections."""
    connections: list[asyncio.StreamWriter] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        connections.append(writer)
        with suppress(asyncio.IncompleteReadError, ConnectionError):
            while head := await reader.readuntil(b"\r\n\r\n"):
                await reader.readexactly(int(head.lower().split(b"content-length: ")[1].split(b"\r\n")[0]))
                writer.write(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
                for piece in pieces:
                    writer.write(f"{len(piece):x}\r\n".encode() + piece + b"\r\n")
                    await writer.drain()
                    await asyncio.sleep(pause_seconds)
                if hang_up:
                    break
                writer.write(b"0\r\n\r\n")
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    async with server:
        host, port = server.sockets[0].getsockname()
        yield ServerHandle(f"http://{host}:{port}", connections)
        for writer in connections:
            writer.close()
            with suppress(ConnectionError):
                await writer.wait_closed()
        await asyncio.sleep(0.01)  # the handlers see it and end


HELLO_EVENT = b'data: {"choices": [{"delta": {"content": "Hello"}, "finish_reason": "stop"}]}\n\n'
DONE_EVENT = b"data: [DONE]\n\n"


@asynccontextmanager
async def open_provider(server: ServerHandle) -> AsyncIterator[HttpProvider]:
    transport = Transport()
    yield HttpProvider("peer", WIRE_FORMATS["openai"](), server.url, transport)
    await transport.aclose()


async def test_connection_is_reused_when_end_of_answer_comes_late(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(http_provider, "DRAIN_SECONDS", 60.0)
    async with (
        serve_chunks(HELLO_EVENT, DONE_EVENT, pause_seconds=0.002) as served,
        open_provider(served) as provider,
    ):
        for _ in range(5):
            assert (await run_provider_turn(provider, "x")).result.status == "completed"
        assert len(served.connections) == 1


async def test_finish_reason_counts_when_server_closes_connection_abruptly() -> None:
    async with serve_chunks(HELLO_EVENT, hang_up=True) as served, open_provider(served) as provider:
        result = (await run_provider_turn(provider, "x")).result
    assert (result.status, result.text) == ("completed", "Hello")


async def test_stop_after_end_of_answer_keeps_completed_status() -> None:
    stop = StopSignal()

    class Lingering(ReplayTransport):
        async def post_stream(self, *asked: Any) -> AsyncGenerator[list[bytes], None]:
            async for events in super().post_stream(*asked):
                yield events
            stop.request_stop()  # the consumer has taken all events
            await asyncio.sleep(0.2)

    provider = HttpProvider("openai", WIRE_FORMATS["openai"](), "http://replay", Lingering([HELLO_EVENT + DONE_EVENT]))
    result = (await run_provider_turn(provider, "x", stop=stop)).result
    assert stop.reason is not None
    assert (result.status, result.text) == ("completed", "Hello")


async def test_stream_error_redacts_key() -> None:
    key = "7f3a9c21d4e86b05"
    error = f'data: {{"error": {{"message": "no such account {key}"}}}}\n\n'.encode()
    async with serve_chunks(error) as served, open_provider(served) as provider:
        (batch,) = [batch async for batch in provider.stream_chunks(ModelRequest(model="x", messages=()), key)]
    assert "no such account [key]" in str(batch)
    assert key not in str(batch)


async def test_unsendable_key_is_failed_chunk_without_key() -> None:
    async with serve_chunks(HELLO_EVENT) as served, open_provider(served) as provider:
        (batch,) = [batch async for batch in provider.stream_chunks(ModelRequest(model="x", messages=()), "sec\nret")]
    assert "key of peer" in str(batch)
    assert "sec" not in str(batch)


async def test_completed_answer_does_not_wait_for_end_of_stream() -> None:
    async with (
        serve_chunks(HELLO_EVENT, b": still here\n\n", pause_seconds=90.0) as served,
        open_provider(served) as provider,
    ):
        began = time.monotonic()
        result = (await run_provider_turn(provider, "x")).result
        assert time.monotonic() - began < 80
    assert (result.status, result.text) == ("completed", "Hello")


async def test_invalid_usage_does_not_lose_text() -> None:
    for usage in (
        '{"completion_tokens": 3.5}',
        '{"prompt_tokens": "12"}',
        '{"prompt_tokens_details": []}',
        "7",
    ):
        frame = (
            f'data: {{"choices": [{{"delta": {{"content": "end"}}, "finish_reason": "stop"}}], "usage": {usage}}}\n\n'
        )
        async with serve_chunks(frame.encode() + DONE_EVENT) as served, open_provider(served) as provider:
            result = (await run_provider_turn(provider, "x")).result
        assert (result.status, result.text, result.usage) == ("completed", "end", None)


@pytest.mark.parametrize("reason", ["Zq9abcdefghij" + "x" * 400, "x" * 50 + "Zq9abcdefghij", "<html>Zq9abcdefghij"])
async def test_stream_errors_never_quote_part_of_key(reason: str) -> None:
    key = "Zq9abcdefghij"
    error = f'data: {{"error": {{"message": "{"y" * 290} {reason}"}}}}\n\n'.encode()
    finish = f'data: {{"choices": [{{"delta": {{}}, "finish_reason": "{reason}"}}]}}\n\n'.encode()
    for frame in (error, finish + DONE_EVENT):
        async with serve_chunks(frame) as served, open_provider(served) as provider:
            chunks = str([batch async for batch in provider.stream_chunks(ModelRequest(model="x", messages=()), key)])
        assert "Zq9" not in chunks
        assert "<html" not in chunks
        assert len(chunks) < 700

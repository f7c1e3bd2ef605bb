"""Connects to MCP servers: a local command over stdio, or an address over HTTP."""

import asyncio
import contextlib
import os
from collections.abc import AsyncIterator, Mapping, Sequence

import httpx2
from mcp.client._transport import TransportStreams
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp.client.streamable_http import streamable_http_client

from moot.tools.ssrf import public_address

LARGEST = 64 * 1024 * 1024  # bytes of one answer
TIMES = httpx2.Timeout(30, read=330)  # a call may take longer than anything else


@contextlib.asynccontextmanager
async def address_open(
    url: str, headers: Mapping[str, str], *, anywhere: bool
) -> AsyncIterator[TransportStreams]:
    """Speak to an address; unless it may be `anywhere`, each connection goes to a public address or is refused."""
    transport = Bounded(httpx2.AsyncHTTPTransport(trust_env=False), anywhere=anywhere)
    async with (
        httpx2.AsyncClient(headers=dict(headers), timeout=TIMES, transport=transport) as client,
        streamable_http_client(url, http_client=client, max_sse_event_size=LARGEST) as streams,
    ):
        yield streams


class Bounded(httpx2.AsyncBaseTransport):
    """Connects to the very address that was looked at, so that a name cannot lead elsewhere in between."""

    def __init__(self, inner: httpx2.AsyncBaseTransport, *, anywhere: bool) -> None:
        self._inner = inner
        self._anywhere = anywhere

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        sent = request if self._anywhere else await _pinned(request)
        try:
            response = await self._inner.handle_async_request(sent)
        except httpx2.ConnectError as error:
            where = f"{request.url.host}, port {_port(request.url)}"
            raise httpx2.ConnectError(f"there is no connection to {where}: {error}") from error
        assert isinstance(response.stream, httpx2.AsyncByteStream)  # noqa: S101 - so says the transport
        response.stream = BoundedStream(response.stream)
        return response

    async def aclose(self) -> None:
        await self._inner.aclose()


class BoundedStream(httpx2.AsyncByteStream):
    def __init__(self, inner: httpx2.AsyncByteStream) -> None:
        self._inner = inner

    async def __aiter__(self) -> AsyncIterator[bytes]:
        received = 0
        async for piece in self._inner:
            received += len(piece)
            if received > LARGEST:
                raise httpx2.ReadError(f"The answer has more than {LARGEST:,} bytes.")
            yield piece

    async def aclose(self) -> None:
        await self._inner.aclose()


def _port(url: httpx2.URL) -> int:
    return url.port or (443 if url.scheme == "https" else 80)


async def _pinned(request: httpx2.Request) -> httpx2.Request:
    """Address a request to a checked address; its host, and the name in its certificate, stay what they are."""
    url = request.url
    address = await public_address(url.host, _port(url))
    return httpx2.Request(
        request.method,
        url.copy_with(host=address),
        headers=request.headers,
        stream=request.stream,
        extensions={**request.extensions, "sni_hostname": url.host},
    )


KEPT = 2000  # bytes of what a command writes beside its answers
LAST_SECONDS = 1.0  # for the last of them to come


class LastWords(asyncio.Protocol):
    """The end of what a command writes beside its answers; all before it is for nobody, as it may hold what was said."""

    def __init__(self) -> None:
        self.over = asyncio.Event()
        self._kept = b""

    def data_received(self, data: bytes) -> None:
        self._kept = (self._kept + data)[-KEPT:]

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002 - a Protocol
        self.over.set()

    @property
    def line(self) -> str:
        lines = [line.strip() for line in self._kept.decode("utf-8", "replace").splitlines()]
        last = next((line for line in reversed(lines) if line), "")
        return "".join(character for character in last if character.isprintable())


@contextlib.asynccontextmanager
async def command_running(
    command: Sequence[str], environment: Mapping[str, str]
) -> AsyncIterator[TransportStreams]:
    """Run a command with little of our environment; it ends, or is killed, with this.

    Where that is because of an error, its last words are a note to it.
    """
    program, *arguments = command
    server = StdioServerParameters(command=program, args=arguments, env=dict(environment))
    reading, writing = os.pipe()
    loop, words = asyncio.get_running_loop(), LastWords()
    transport, _ = await loop.connect_read_pipe(lambda: words, os.fdopen(reading, "rb", 0))
    try:
        with os.fdopen(writing, "w") as errors:
            async with stdio_client(server, errlog=errors) as streams:
                yield streams
    except Exception as error:
        with contextlib.suppress(TimeoutError):  # what it started may hold the pipe open
            await asyncio.wait_for(words.over.wait(), LAST_SECONDS)
        if words.line:
            error.add_note(words.line)
        raise
    finally:
        transport.close()

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

MAX_RESPONSE_BYTES = 64 * 1024 * 1024  # bytes of one answer
HTTP_TIMEOUT = httpx2.Timeout(30, read=330)  # a call may take longer than anything else


@contextlib.asynccontextmanager
async def open_http_transport(
    url: str, headers: Mapping[str, str], *, allow_private_hosts: bool
) -> AsyncIterator[TransportStreams]:
    """Speak to an address; unless it may be `anywhere`, each connection goes to a public address or is refused."""
    transport = PinnedTransport(
        httpx2.AsyncHTTPTransport(trust_env=False), allow_private_hosts=allow_private_hosts
    )
    async with (
        httpx2.AsyncClient(headers=dict(headers), timeout=HTTP_TIMEOUT, transport=transport) as client,
        streamable_http_client(url, http_client=client, max_sse_event_size=MAX_RESPONSE_BYTES) as streams,
    ):
        yield streams


class PinnedTransport(httpx2.AsyncBaseTransport):
    """Connects to the very address that was looked at, so that a name cannot lead elsewhere in between."""

    def __init__(self, inner: httpx2.AsyncBaseTransport, *, allow_private_hosts: bool) -> None:
        self._inner = inner
        self._allow_private_hosts = allow_private_hosts

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        sent = request if self._allow_private_hosts else await _pin_address(request)
        try:
            response = await self._inner.handle_async_request(sent)
        except httpx2.ConnectError as error:
            where = f"{request.url.host}, port {_url_port(request.url)}"
            raise httpx2.ConnectError(f"there is no connection to {where}: {error}") from error
        assert isinstance(response.stream, httpx2.AsyncByteStream)  # noqa: S101 - so says the transport
        response.stream = SizeLimitedStream(response.stream)
        return response

    async def aclose(self) -> None:
        await self._inner.aclose()


class SizeLimitedStream(httpx2.AsyncByteStream):
    def __init__(self, inner: httpx2.AsyncByteStream) -> None:
        self._inner = inner

    async def __aiter__(self) -> AsyncIterator[bytes]:
        received = 0
        async for piece in self._inner:
            received += len(piece)
            if received > MAX_RESPONSE_BYTES:
                raise httpx2.ReadError(f"The answer has more than {MAX_RESPONSE_BYTES:,} bytes.")
            yield piece

    async def aclose(self) -> None:
        await self._inner.aclose()


def _url_port(url: httpx2.URL) -> int:
    return url.port or (443 if url.scheme == "https" else 80)


async def _pin_address(request: httpx2.Request) -> httpx2.Request:
    """Address a request to a checked address; its host, and the name in its certificate, stay what they are."""
    url = request.url
    address = await public_address(url.host, _url_port(url))
    return httpx2.Request(
        request.method,
        url.copy_with(host=address),
        headers=request.headers,
        stream=request.stream,
        extensions={**request.extensions, "sni_hostname": url.host},
    )


MAX_STDERR_BYTES = 2000  # bytes of what a command writes beside its answers
STDERR_DRAIN_SECONDS = 1.0  # for the last of them to come


class StderrTail(asyncio.Protocol):
    """The end of what a command writes beside its answers; all before it is for nobody, as it may hold what was said."""

    def __init__(self) -> None:
        self.finished = asyncio.Event()
        self._tail = b""

    def data_received(self, data: bytes) -> None:
        self._tail = (self._tail + data)[-MAX_STDERR_BYTES:]

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002 - a Protocol
        self.finished.set()

    @property
    def last_line(self) -> str:
        lines = [line.strip() for line in self._tail.decode("utf-8", "replace").splitlines()]
        last = next((line for line in reversed(lines) if line), "")
        return "".join(character for character in last if character.isprintable())


@contextlib.asynccontextmanager
async def open_stdio_transport(
    command: Sequence[str], environment: Mapping[str, str]
) -> AsyncIterator[TransportStreams]:
    """Run a command with little of our environment; it ends, or is killed, with this.

    Where that is because of an error, its last words are a note to it.
    """
    program, *arguments = command
    server = StdioServerParameters(command=program, args=arguments, env=dict(environment))
    reading, writing = os.pipe()
    loop, words = asyncio.get_running_loop(), StderrTail()
    transport, _ = await loop.connect_read_pipe(lambda: words, os.fdopen(reading, "rb", 0))
    try:
        with os.fdopen(writing, "w") as errors:
            async with stdio_client(server, errlog=errors) as streams:
                yield streams
    except Exception as error:
        with contextlib.suppress(TimeoutError):  # what it started may hold the pipe open
            await asyncio.wait_for(words.finished.wait(), STDERR_DRAIN_SECONDS)
        if words.last_line:
            error.add_note(words.last_line)
        raise
    finally:
        transport.close()

"""MCP transports: a local command over stdio, or a URL over streamable HTTP."""

import asyncio
import contextlib
import os
from collections.abc import AsyncIterator, Mapping, Sequence

import httpx2
from mcp.client._transport import TransportStreams
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp.client.streamable_http import streamable_http_client

from moot.tools.ssrf import public_address

MAX_RESPONSE_BYTES = 64 * 1024 * 1024  # size limit of one response body, and of one SSE event
HTTP_TIMEOUT = httpx2.Timeout(30, read=330)  # seconds; a tool call may run for minutes


@contextlib.asynccontextmanager
async def open_http_transport(
    url: str, headers: Mapping[str, str], *, allow_private_hosts: bool
) -> AsyncIterator[TransportStreams]:
    """Without `allow_private_hosts`, each request to a private address raises Forbidden (SSRF protection)."""
    transport = PinnedTransport(httpx2.AsyncHTTPTransport(trust_env=False), allow_private_hosts=allow_private_hosts)
    async with (
        httpx2.AsyncClient(headers=dict(headers), timeout=HTTP_TIMEOUT, transport=transport) as client,
        streamable_http_client(url, http_client=client, max_sse_event_size=MAX_RESPONSE_BYTES) as streams,
    ):
        yield streams


class PinnedTransport(httpx2.AsyncBaseTransport):
    """Connects to the IP address that was checked.

    A second DNS query could return a private address (DNS rebinding).
    """

    def __init__(self, inner: httpx2.AsyncBaseTransport, *, allow_private_hosts: bool) -> None:
        self._inner = inner
        self._allow_private_hosts = allow_private_hosts

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        pinned = request if self._allow_private_hosts else await _pin_address(request)
        try:
            response = await self._inner.handle_async_request(pinned)
        except httpx2.ConnectError as error:
            where = f"{request.url.host}, port {_url_port(request.url)}"
            raise httpx2.ConnectError(f"there is no connection to {where}: {error}") from error
        assert isinstance(response.stream, httpx2.AsyncByteStream)  # noqa: S101 - the async transport returns this type
        response.stream = SizeLimitedStream(response.stream)
        return response

    async def aclose(self) -> None:
        await self._inner.aclose()


class SizeLimitedStream(httpx2.AsyncByteStream):
    """Raises ReadError after MAX_RESPONSE_BYTES, so that a server cannot exhaust the memory."""

    def __init__(self, inner: httpx2.AsyncByteStream) -> None:
        self._inner = inner

    async def __aiter__(self) -> AsyncIterator[bytes]:
        received = 0
        async for piece in self._inner:
            received += len(piece)
            if received > MAX_RESPONSE_BYTES:
                raise httpx2.ReadError(f"The response has more than {MAX_RESPONSE_BYTES:,} bytes.")
            yield piece

    async def aclose(self) -> None:
        await self._inner.aclose()


def _url_port(url: httpx2.URL) -> int:
    return url.port or (443 if url.scheme == "https" else 80)


async def _pin_address(request: httpx2.Request) -> httpx2.Request:
    """Replace the host in the URL by a checked IP address.

    The Host header and the TLS server name stay, so the certificate check still works.
    """
    url = request.url
    address = await public_address(url.host, _url_port(url))
    return httpx2.Request(
        request.method,
        url.copy_with(host=address),
        headers=request.headers,
        stream=request.stream,
        extensions={**request.extensions, "sni_hostname": url.host},
    )


MAX_STDERR_BYTES = 2000
STDERR_DRAIN_SECONDS = 1.0  # timeout for the last bytes, after the command failed


class StderrTail(asyncio.Protocol):
    """Buffers the end of a command's stderr. The rest is dropped, because it may contain user messages."""

    def __init__(self) -> None:
        self.finished = asyncio.Event()
        self._tail = b""

    def data_received(self, data: bytes) -> None:
        self._tail = (self._tail + data)[-MAX_STDERR_BYTES:]

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002 - signature of asyncio.Protocol
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
    """Run a command until the context exits, then stop or kill it.

    The command gets `environment` and a few variables such as PATH, not the environment of this process.
    If an exception ends the context, the last line of stderr is added as a note.
    """
    program, *arguments = command
    server = StdioServerParameters(command=program, args=arguments, env=dict(environment))
    reading, writing = os.pipe()
    loop, stderr = asyncio.get_running_loop(), StderrTail()
    transport, _ = await loop.connect_read_pipe(lambda: stderr, os.fdopen(reading, "rb", 0))
    try:
        with os.fdopen(writing, "w") as errors:
            async with stdio_client(server, errlog=errors) as streams:
                yield streams
    except Exception as error:
        with contextlib.suppress(TimeoutError):  # a child process of the command may keep the pipe open
            await asyncio.wait_for(stderr.finished.wait(), STDERR_DRAIN_SECONDS)
        if stderr.last_line:
            error.add_note(stderr.last_line)
        raise
    finally:
        transport.close()

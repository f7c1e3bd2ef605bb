import asyncio
import gzip
import socket
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

import aiohttp
import pytest
import trustme

from moot.providers.transport import Transport, find_proxy
from moot.types.errors import ProviderError
from moot.types.faults import FaultKind


@asynccontextmanager
async def serve_bytes(answer: bytes, tls: ssl.SSLContext | None = None) -> AsyncIterator[str]:
    """Serve the same bytes on every connection."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(ConnectionError):
            await reader.read(65536)
            writer.write(answer)
            await writer.drain()
        writer.close()
        with suppress(ConnectionError, ssl.SSLError):
            await writer.wait_closed()

    server = await asyncio.start_server(serve, "127.0.0.1", 0, ssl=tls)
    async with server:
        yield f"127.0.0.1:{server.sockets[0].getsockname()[1]}"


async def request_error(url: str, connect_seconds: float = 60.0) -> ProviderError:
    transport = Transport(connect_seconds)
    try:
        with pytest.raises(ProviderError) as caught:
            async for _ in transport.post_stream("lab", url, {}, b"{}", "sk-secret-key"):
                pass
    finally:
        await transport.aclose()
    return caught.value


async def test_refused_connection_is_network_fault() -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        error = await request_error(f"http://127.0.0.1:{free.getsockname()[1]}/v1")
    assert error.fault.kind == "network"
    assert "Is it running?" in error.fault.message


async def test_unknown_host_is_network_fault() -> None:
    error = await request_error("http://no-such-host.invalid/v1")
    assert error.fault.kind == "network"


async def test_tls_failure_is_network_fault() -> None:
    async with serve_bytes(b"HTTP/1.1 200 OK\r\n\r\n") as address:
        error = await request_error(f"https://{address}/v1")
    assert error.fault.kind == "network"
    assert "secure connection" in error.fault.message


async def test_unreachable_proxy_is_network_fault(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    monkeypatch.delenv("NO_PROXY", raising=False)
    monkeypatch.delenv("no_proxy", raising=False)
    error = await request_error("http://models.invalid/v1")
    assert error.fault.kind == "network"
    assert "proxy" in error.fault.message


def test_find_proxy_skips_loopback_and_no_proxy_hosts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://proxy.example:3128")
    monkeypatch.setenv("NO_PROXY", "inside.example")
    assert find_proxy("http://models.example/v1") == "http://proxy.example:3128"
    assert find_proxy("http://inside.example/v1") is None
    assert find_proxy("http://127.0.0.1:11434/v1") is None
    assert find_proxy("http://[half/v1") is None


async def test_unaccepted_connection_is_timeout_fault() -> None:
    with socket.socket() as full:
        full.bind(("127.0.0.1", 0))
        full.listen(0)
        address = full.getsockname()
        waiting = [socket.socket() for _ in range(4)]  # fill the backlog, so that no other connection is accepted
        try:
            for client in waiting:
                client.setblocking(False)
                client.connect_ex(address)
            error = await request_error(f"http://{address[0]}:{address[1]}/v1", connect_seconds=0.2)
        finally:
            for client in waiting:
                client.close()
    assert error.fault.kind == "timeout"


@pytest.mark.parametrize(
    ("answer", "kind", "words"),
    [
        (b"garbage\r\n\r\n", "network", "broke"),
        (
            b"HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:9/\r\nContent-Length: 0\r\n\r\n",
            "api_error",
            "302",
        ),
        (b"HTTP/1.1 404 Not Found\r\nContent-Length: 4\r\n\r\nnope", "api_error", "nope"),
        (
            b'HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n\n\n {"error": "model is off"}',
            "bad_response",
            "model is off",
        ),
        (b"HTTP/1.1 200 OK\r\nContent-Encoding: br\r\nContent-Length: 4\r\n\r\nnope", "bad_response", "br"),
    ],
)
async def test_invalid_http_response_is_fault(answer: bytes, kind: FaultKind, words: str) -> None:
    async with serve_bytes(answer) as address:
        error = await request_error(f"http://{address}/v1")
    assert error.fault.kind == kind
    assert words in error.fault.message


async def test_malformed_url_is_not_retryable() -> None:
    error = await request_error("http://[half/v1")
    assert (error.fault.kind, error.fault.retryable) == ("network", False)


async def test_untrusted_certificate_is_network_fault() -> None:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    trustme.CA().issue_cert("127.0.0.1").configure_cert(context)  # an unknown authority
    async with serve_bytes(b"HTTP/1.1 200 OK\r\n\r\n", context) as address:
        error = await request_error(f"https://{address}/v1")
    assert error.fault.kind == "network"
    assert "certificate" in error.fault.message


async def test_bytes_after_compressed_body_are_ignored() -> None:
    packed = gzip.compress(b"data: a\n\n")
    head = b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nConnection: close\r\n\r\n"
    async with serve_bytes(head + packed + b"x" * 1_000_000) as address:
        transport = Transport()
        got = [events async for events in transport.post_stream("lab", f"http://{address}/", {}, b"", None)]
        await transport.aclose()
    assert got == [[b"a"]]


async def test_http_session_has_no_cookies_and_requests_no_compression() -> None:
    transport = Transport()
    assert isinstance(transport.http_session.cookie_jar, aiohttp.DummyCookieJar)
    assert transport.http_session.headers["Accept-Encoding"] == "identity"
    await transport.aclose()
    await transport.aclose()

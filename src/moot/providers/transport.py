"""HTTP client for providers: a shared session, size limits, and mapping of HTTP errors to `ProviderError`."""

import contextlib
import ssl
import zlib
from collections.abc import AsyncGenerator, Iterator, Mapping
from functools import cache
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

import aiohttp

from moot.providers import errors
from moot.providers.sse import EventParser
from moot.types.errors import ProviderError
from moot.types.faults import make_fault

CONNECT_SECONDS = 10.0
MAX_STREAM_BYTES = 64 * 1024 * 1024
MAX_ERROR_BODY_BYTES = 64 * 1024
MAX_JSON_BODY_BYTES = 8 * 1024 * 1024
READ_BUFFER_BYTES = 64 * 1024
NON_STREAM_PREFIXES = (b"<", b"{", b"[")  # first byte of an HTML page or JSON body, never of an event stream


class Transport:
    """HTTP client shared by all HTTP providers.

    The session is created at first use, because aiohttp needs the running event loop.
    """

    def __init__(self, connect_seconds: float = CONNECT_SECONDS) -> None:
        self._connect_seconds = connect_seconds
        self._session: aiohttp.ClientSession | None = None
        self._cached_proxy = cache(find_proxy)

    @property
    def http_session(self) -> aiohttp.ClientSession:
        if self._session is None:
            self._session = aiohttp.ClientSession(
                connector=aiohttp.TCPConnector(limit=0, ttl_dns_cache=60),
                # No total timeout: an answer may stream for minutes. The turn has its own timeouts.
                timeout=aiohttp.ClientTimeout(total=None, connect=self._connect_seconds),
                auto_decompress=False,  # `ResponseBody` decompresses in bounded pieces
                read_bufsize=READ_BUFFER_BYTES,
                cookie_jar=aiohttp.DummyCookieJar(),
                headers={"Accept-Encoding": "identity"},
            )
        return self._session

    async def post_stream(
        self, provider_name: str, url: str, headers: Mapping[str, str], body: bytes, key: str | None
    ) -> AsyncGenerator[list[bytes], None]:
        """Post a request. Yields a list for each read: the data of the events that are now complete.

        Raises ProviderError for any other response. Redirects are not followed: they could leak the key.
        """
        with map_http_errors(provider_name):
            async with self.http_session.post(
                url, data=body, headers=headers, allow_redirects=False, proxy=self._cached_proxy(url)
            ) as response:
                try:
                    answer = ResponseBody(response)
                    if response.status != 200:
                        raise await _response_error(provider_name, response, answer, key)
                    parser, received = EventParser(), 0
                    while piece := await answer.read_piece():
                        if not received and piece.lstrip().startswith(NON_STREAM_PREFIXES):
                            raise await _response_error(provider_name, response, answer, key, piece)
                        received += len(piece.lstrip() if not received else piece)
                        if received > MAX_STREAM_BYTES:
                            raise _too_long_error(provider_name)
                        if events := parser.feed_bytes(piece):
                            yield events
                    if (tail := parser.flush_event()) is not None and tail.endswith((b"}", b"[DONE]")):
                        yield [tail]  # a complete event without its final blank line
                finally:
                    # Close even if the caller stops early, so that the provider stops generating.
                    response.close()

    async def fetch_body(
        self,
        provider_name: str,
        url: str,
        headers: Mapping[str, str],
        key: str | None,
        *,
        post: bytes | None = None,
        timeout_seconds: float = 10.0,
    ) -> bytes:
        """Fetch a small JSON body, such as a model list, cut at MAX_JSON_BODY_BYTES. With a `post` body it is a POST."""
        timeout = aiohttp.ClientTimeout(total=timeout_seconds)
        method = "GET" if post is None else "POST"
        proxy = self._cached_proxy(url)
        with map_http_errors(provider_name):
            async with self.http_session.request(
                method, url, data=post, headers=headers, timeout=timeout, allow_redirects=False, proxy=proxy
            ) as response:
                answer = ResponseBody(response)
                if response.status != 200:
                    raise await _response_error(provider_name, response, answer, key)
                return await answer.read_all(MAX_JSON_BODY_BYTES)

    async def aclose(self) -> None:
        if self._session is not None:
            await self._session.close()
            self._session = None


class ResponseBody:
    """A streaming response body.

    Requests ask for no compression. If a server compresses anyway, the body is decompressed in bounded pieces,
    so that a compression bomb cannot exhaust memory.
    """

    def __init__(self, response: aiohttp.ClientResponse) -> None:
        self._read_raw = response.content.readany
        encoding = response.headers.get("Content-Encoding", "identity").lower()
        if encoding not in {"identity", "gzip", "deflate"}:
            raise ProviderError(
                make_fault("bad_response", f"The response has the unsupported content encoding {encoding}.")
            )
        self.read_piece = self._read_raw  # returns b"" at the end of the body
        if encoding != "identity":
            self._decompressor = zlib.decompressobj(wbits=47)
            self.read_piece = self._read_decompressed

    async def read_all(self, limit: int) -> bytes:
        """Return the body, truncated to `limit` bytes."""
        body = bytearray()
        while len(body) < limit and (piece := await self.read_piece()):
            body += piece
        return bytes(body[:limit])

    async def _read_decompressed(self) -> bytes:
        while not self._decompressor.eof:
            compressed = self._decompressor.unconsumed_tail or await self._read_raw()
            if not compressed:
                raise zlib.error("compressed response ended early")
            if piece := self._decompressor.decompress(compressed, READ_BUFFER_BYTES):
                return piece
        return b""


def find_proxy(url: str) -> str | None:
    """Return the proxy URL from the environment; None for loopback hosts and hosts in NO_PROXY."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return None  # a malformed URL: the request itself raises the error
    if parts.hostname in {"localhost", "127.0.0.1", "::1"} or proxy_bypass(parts.hostname or ""):
        return None
    return getproxies().get(parts.scheme)


async def _response_error(
    provider_name: str, response: aiohttp.ClientResponse, answer: ResponseBody, key: str | None, prefix: bytes = b""
) -> ProviderError:
    """Read the rest of an error response; `prefix` is the part already read."""
    body = prefix + await answer.read_all(MAX_ERROR_BODY_BYTES)
    return ProviderError(errors.fault_from_response(provider_name, response.status, response.headers, body, key))


def _too_long_error(provider_name: str) -> ProviderError:
    return ProviderError(
        make_fault("bad_response", f"{provider_name} sent more than {MAX_STREAM_BYTES:,} bytes.", retryable=False)
    )


@contextlib.contextmanager
def map_http_errors(provider_name: str) -> Iterator[None]:
    """Map errors of aiohttp, ssl and zlib to ProviderError.

    Only a broken connection or a timeout is retryable. Wrong settings fail the same way again.
    """
    try:
        yield
    except (aiohttp.ClientSSLError, ssl.SSLError) as error:
        raise _settings_error(
            f"No secure connection to {provider_name}: the certificate was rejected, or the server does not use HTTPS."
        ) from error
    except aiohttp.ClientProxyConnectionError as error:
        raise _settings_error(f"The proxy for {provider_name} cannot be reached. Check the proxy settings.") from error
    except aiohttp.ClientConnectorDNSError as error:
        raise _settings_error(
            f"The host {error.host} of {provider_name} was not found. Check the network and base_url."
        ) from error
    except aiohttp.ClientConnectorError as error:
        raise _settings_error(
            f"Cannot connect to {provider_name} at {error.host}:{error.port}. Is it running?"
        ) from error
    except TimeoutError as error:
        raise ProviderError(make_fault("timeout", f"The connection to {provider_name} timed out.")) from error
    except ValueError as error:  # an invalid URL or header value
        raise _settings_error(f"The base_url or the key of {provider_name} is invalid. Check both.") from error
    except (aiohttp.ClientError, zlib.error, OSError) as error:
        raise ProviderError(
            make_fault("network", f"The connection to {provider_name} broke before the answer was complete.")
        ) from error


def _settings_error(message: str) -> ProviderError:
    return ProviderError(make_fault("network", message, retryable=False))

"""HTTP to providers: one pooled session, bounded reading, and foreign errors mapped in one place."""

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
NON_STREAM_PREFIXES = (b"<", b"{", b"[")  # how an error page or body begins, and an event stream never does


class Transport:
    """Shared by all HTTP providers. The session is made at first use, inside the running loop."""

    def __init__(self, connect_seconds: float = CONNECT_SECONDS) -> None:
        self._connect_seconds = connect_seconds
        self._session: aiohttp.ClientSession | None = None
        self._cached_proxy = cache(find_proxy)

    @property
    def http_session(self) -> aiohttp.ClientSession:
        if self._session is None:
            self._session = aiohttp.ClientSession(
                connector=aiohttp.TCPConnector(limit=0, ttl_dns_cache=60),
                timeout=aiohttp.ClientTimeout(total=None, connect=self._connect_seconds),
                auto_decompress=False,
                read_bufsize=READ_BUFFER_BYTES,
                cookie_jar=aiohttp.DummyCookieJar(),
                headers={"Accept-Encoding": "identity"},
            )
        return self._session

    async def post_stream(
        self, provider_name: str, url: str, headers: Mapping[str, str], body: bytes, key: str | None
    ) -> AsyncGenerator[list[bytes], None]:
        """Post a request and yield the data of the events that each read of the answer completed."""
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
                        yield [tail]  # a whole event whose blank line never came
                finally:
                    response.close()

    async def fetch_body(
        self,
        provider_name: str,
        url: str,
        headers: Mapping[str, str],
        key: str | None,
        timeout_seconds: float = 10.0,
    ) -> bytes:
        """Fetch a small body, such as a list of models."""
        timeout = aiohttp.ClientTimeout(total=timeout_seconds)
        with map_http_errors(provider_name):
            async with self.http_session.get(
                url, headers=headers, timeout=timeout, allow_redirects=False, proxy=self._cached_proxy(url)
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
    """An answer's body as it arrives, unpacked in bounded pieces where the server packed it unasked."""

    def __init__(self, response: aiohttp.ClientResponse) -> None:
        self._read_raw = response.content.readany
        encoding = response.headers.get("Content-Encoding", "identity").lower()
        if encoding not in {"identity", "gzip", "deflate"}:
            raise ProviderError(
                make_fault("bad_response", f"The answer is packed as {encoding}, which was not asked for.")
            )
        self.read_piece = self._read_raw  # b"" is the end
        if encoding != "identity":
            self._decompressor = zlib.decompressobj(wbits=47)
            self.read_piece = self._read_decompressed

    async def read_all(self, limit: int) -> bytes:
        """Return all of it, or as much as the limit allows."""
        body = bytearray()
        while len(body) < limit and (piece := await self.read_piece()):
            body += piece
        return bytes(body[:limit])

    async def _read_decompressed(self) -> bytes:
        while not self._decompressor.eof:
            packed = self._decompressor.unconsumed_tail or await self._read_raw()
            if not packed:
                raise zlib.error("the packed answer ended early")
            if piece := self._decompressor.decompress(packed, READ_BUFFER_BYTES):
                return piece
        return b""


def find_proxy(url: str) -> str | None:
    """Name the proxy that the environment wants for an address; this machine needs none."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return None  # no address at all: whoever connects to it says so
    if parts.hostname in {"localhost", "127.0.0.1", "::1"} or proxy_bypass(parts.hostname or ""):
        return None
    return getproxies().get(parts.scheme)


async def _response_error(
    provider_name: str,
    response: aiohttp.ClientResponse,
    answer: ResponseBody,
    key: str | None,
    prefix: bytes = b"",
) -> ProviderError:
    """Read an answer that is no stream of events, and say what it means."""
    body = prefix + await answer.read_all(MAX_ERROR_BODY_BYTES)
    return ProviderError(
        errors.fault_from_response(provider_name, response.status, response.headers, body, key)
    )


def _too_long_error(provider_name: str) -> ProviderError:
    return ProviderError(
        make_fault(
            "bad_response", f"{provider_name} sent more than {MAX_STREAM_BYTES:,} bytes.", retryable=False
        )
    )


@contextlib.contextmanager
def map_http_errors(provider_name: str) -> Iterator[None]:
    """Turn what aiohttp, ssl and zlib raise into a ProviderError that says what to look at."""
    try:
        yield
    except (aiohttp.ClientSSLError, ssl.SSLError) as error:
        raise ProviderError(
            make_fault(
                "network",
                f"No secure connection to {provider_name}: its certificate was refused, or it does not speak https.",
                retryable=False,
            )
        ) from error
    except aiohttp.ClientProxyConnectionError as error:
        raise ProviderError(
            make_fault(
                "network", f"The proxy on the way to {provider_name} cannot be reached.", retryable=False
            )
        ) from error
    except aiohttp.ClientConnectorDNSError as error:
        raise ProviderError(
            make_fault(
                "network",
                f"The host {error.host} of {provider_name} cannot be found: check the network, and base_url if you set one.",
                retryable=False,
            )
        ) from error
    except aiohttp.ClientConnectorError as error:
        where = f"{error.host}:{error.port}"
        raise ProviderError(
            make_fault(
                "network", f"Nothing answers for {provider_name} at {where}: is it running?", retryable=False
            )
        ) from error
    except TimeoutError as error:
        raise ProviderError(
            make_fault("timeout", f"{provider_name} did not accept a connection in time.")
        ) from error
    except ValueError as error:  # an address or a header that cannot be sent
        raise ProviderError(
            make_fault(
                "network",
                f"The base_url or the key of {provider_name} cannot be used as it is.",
                retryable=False,
            )
        ) from error
    except (aiohttp.ClientError, zlib.error, OSError) as error:
        raise ProviderError(
            make_fault("network", f"The connection to {provider_name} broke before the answer was complete.")
        ) from error

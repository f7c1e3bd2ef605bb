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
from moot.types.faults import fault

CONNECT_SECONDS = 10.0
MAX_STREAM = 64 * 1024 * 1024
MAX_BODY = 64 * 1024
MAX_LISTING = 8 * 1024 * 1024
READ_BUFFER = 64 * 1024
NO_EVENTS = (b"<", b"{", b"[")  # how an error page or body begins, and an event stream never does


class Transport:
    """Shared by all HTTP providers. The session is made at first use, inside the running loop."""

    def __init__(self, connect_seconds: float = CONNECT_SECONDS) -> None:
        self._connect_seconds = connect_seconds
        self._session: aiohttp.ClientSession | None = None
        self._proxy = cache(proxy_for)

    @property
    def session(self) -> aiohttp.ClientSession:
        if self._session is None:
            self._session = aiohttp.ClientSession(
                connector=aiohttp.TCPConnector(limit=0, ttl_dns_cache=60),
                timeout=aiohttp.ClientTimeout(total=None, connect=self._connect_seconds),
                auto_decompress=False,
                read_bufsize=READ_BUFFER,
                cookie_jar=aiohttp.DummyCookieJar(),
                headers={"Accept-Encoding": "identity"},
            )
        return self._session

    async def post(
        self, who: str, url: str, headers: Mapping[str, str], body: bytes, key: str | None
    ) -> AsyncGenerator[list[bytes], None]:
        """Post a request and yield the data of the events that each read of the answer completed."""
        with mapped_errors(who):
            async with self.session.post(
                url, data=body, headers=headers, allow_redirects=False, proxy=self._proxy(url)
            ) as response:
                try:
                    answer = Body(response)
                    if response.status != 200:
                        raise await _refusal(who, response, answer, key)
                    parser, received = EventParser(), 0
                    while piece := await answer.read():
                        if not received and piece.lstrip().startswith(NO_EVENTS):
                            raise await _refusal(who, response, answer, key, piece)
                        received += len(piece.lstrip() if not received else piece)
                        if received > MAX_STREAM:
                            raise _too_long(who)
                        if events := parser.feed(piece):
                            yield events
                    if (tail := parser.close()) is not None and tail.endswith((b"}", b"[DONE]")):
                        yield [tail]  # a whole event whose blank line never came
                finally:
                    response.close()

    async def get(
        self, who: str, url: str, headers: Mapping[str, str], key: str | None, seconds: float = 10.0
    ) -> bytes:
        """Fetch a small body, such as a list of models."""
        timeout = aiohttp.ClientTimeout(total=seconds)
        with mapped_errors(who):
            async with self.session.get(
                url, headers=headers, timeout=timeout, allow_redirects=False, proxy=self._proxy(url)
            ) as response:
                answer = Body(response)
                if response.status != 200:
                    raise await _refusal(who, response, answer, key)
                return await answer.whole(MAX_LISTING)

    async def aclose(self) -> None:
        if self._session is not None:
            await self._session.close()
            self._session = None


class Body:
    """An answer's body as it arrives, unpacked in bounded pieces where the server packed it unasked."""

    def __init__(self, response: aiohttp.ClientResponse) -> None:
        self._arrived = response.content.readany
        encoding = response.headers.get("Content-Encoding", "identity").lower()
        if encoding not in {"identity", "gzip", "deflate"}:
            raise ProviderError(
                fault("bad_response", f"The answer is packed as {encoding}, which was not asked for.")
            )
        self.read = self._arrived  # b"" is the end
        if encoding != "identity":
            self._unpacker = zlib.decompressobj(wbits=47)
            self.read = self._unpacked

    async def whole(self, limit: int) -> bytes:
        """Return all of it, or as much as the limit allows."""
        body = bytearray()
        while len(body) < limit and (piece := await self.read()):
            body += piece
        return bytes(body[:limit])

    async def _unpacked(self) -> bytes:
        while not self._unpacker.eof:
            packed = self._unpacker.unconsumed_tail or await self._arrived()
            if not packed:
                raise zlib.error("the packed answer ended early")
            if piece := self._unpacker.decompress(packed, READ_BUFFER):
                return piece
        return b""


def proxy_for(url: str) -> str | None:
    """Name the proxy that the environment wants for an address; this machine needs none."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return None  # no address at all: whoever connects to it says so
    if parts.hostname in {"localhost", "127.0.0.1", "::1"} or proxy_bypass(parts.hostname or ""):
        return None
    return getproxies().get(parts.scheme)


async def _refusal(
    who: str, response: aiohttp.ClientResponse, answer: Body, key: str | None, begin: bytes = b""
) -> ProviderError:
    """Read an answer that is no stream of events, and say what it means."""
    body = begin + await answer.whole(MAX_BODY)
    return ProviderError(errors.from_response(who, response.status, response.headers, body, key))


def _too_long(who: str) -> ProviderError:
    return ProviderError(
        fault("bad_response", f"{who} sent more than {MAX_STREAM:,} bytes.", retryable=False)
    )


@contextlib.contextmanager
def mapped_errors(who: str) -> Iterator[None]:
    """Turn what aiohttp, ssl and zlib raise into a ProviderError that says what to look at."""
    try:
        yield
    except (aiohttp.ClientSSLError, ssl.SSLError) as error:
        raise ProviderError(
            fault(
                "network",
                f"No secure connection to {who}: its certificate was refused, or it does not speak https.",
                retryable=False,
            )
        ) from error
    except aiohttp.ClientProxyConnectionError as error:
        raise ProviderError(
            fault("network", f"The proxy on the way to {who} cannot be reached.", retryable=False)
        ) from error
    except aiohttp.ClientConnectorDNSError as error:
        raise ProviderError(
            fault(
                "network",
                f"The host {error.host} of {who} cannot be found: check the network, and base_url if you set one.",
                retryable=False,
            )
        ) from error
    except aiohttp.ClientConnectorError as error:
        where = f"{error.host}:{error.port}"
        raise ProviderError(
            fault("network", f"Nothing answers for {who} at {where}: is it running?", retryable=False)
        ) from error
    except TimeoutError as error:
        raise ProviderError(fault("timeout", f"{who} did not accept a connection in time.")) from error
    except ValueError as error:  # an address or a header that cannot be sent
        raise ProviderError(
            fault("network", f"The base_url or the key of {who} cannot be used as it is.", retryable=False)
        ) from error
    except (aiohttp.ClientError, zlib.error, OSError) as error:
        raise ProviderError(
            fault("network", f"The connection to {who} broke before the answer was complete.")
        ) from error

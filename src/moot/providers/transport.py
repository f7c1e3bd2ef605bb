"""HTTP to providers: one pooled session, bounded reading, and foreign errors mapped in one place."""

import contextlib
import ssl
import zlib
from collections.abc import AsyncGenerator, AsyncIterator, Iterator, Mapping

import aiohttp

from moot.model.errors import ProviderError
from moot.model.faults import fault
from moot.providers import failures
from moot.providers.sse import EventParser

CONNECT_SECONDS = 10.0
MAX_STREAM = 64 * 1024 * 1024
MAX_BODY = 64 * 1024
MAX_LISTING = 8 * 1024 * 1024
READ_BUFFER = 64 * 1024


class Transport:
    """Shared by all HTTP providers. The session is made at first use, inside the running loop."""

    def __init__(self, connect_seconds: float = CONNECT_SECONDS) -> None:
        self._connect_seconds = connect_seconds
        self._session: aiohttp.ClientSession | None = None

    @property
    def session(self) -> aiohttp.ClientSession:
        if self._session is None:
            self._session = aiohttp.ClientSession(
                connector=aiohttp.TCPConnector(limit=0, ttl_dns_cache=60),
                timeout=aiohttp.ClientTimeout(total=None, connect=self._connect_seconds),
                auto_decompress=False,
                read_bufsize=READ_BUFFER,
                trust_env=True,
                cookie_jar=aiohttp.DummyCookieJar(),
                headers={"Accept-Encoding": "identity"},
            )
        return self._session

    async def post(
        self, who: str, url: str, headers: Mapping[str, str], body: bytes, key: str | None
    ) -> AsyncGenerator[list[bytes], None]:
        """Post a request and yield the data of the events that each read of the answer completed."""
        with mapped_errors(who):
            async with self.session.post(url, data=body, headers=headers, allow_redirects=False) as response:
                try:
                    async for events in _events(who, response, key):
                        yield events
                finally:
                    response.close()

    async def get(
        self, who: str, url: str, headers: Mapping[str, str], key: str | None, seconds: float = 10.0
    ) -> bytes:
        """Fetch a small body, such as a list of models."""
        timeout = aiohttp.ClientTimeout(total=seconds)
        with mapped_errors(who):
            async with self.session.get(
                url, headers=headers, timeout=timeout, allow_redirects=False
            ) as response:
                body = await _bounded(_plain(response), MAX_LISTING)
                if response.status != 200:
                    raise ProviderError(
                        failures.from_response(who, response.status, response.headers, body, key)
                    )
                return body

    async def aclose(self) -> None:
        if self._session is not None:
            await self._session.close()
            self._session = None


async def _events(who: str, response: aiohttp.ClientResponse, key: str | None) -> AsyncIterator[list[bytes]]:
    pieces = _plain(response)
    if response.status != 200:
        body = await _bounded(pieces, MAX_BODY)
        raise ProviderError(failures.from_response(who, response.status, response.headers, body, key))
    parser = EventParser()
    first, received = True, 0
    async for piece in pieces:
        if first and piece.strip():
            first = False
            if piece.lstrip()[:1] in b"<{[":  # an event stream never begins so: an error page or body does
                body = piece + await _bounded(pieces, MAX_BODY)
                raise ProviderError(failures.from_response(who, 200, response.headers, body, key))
        received += len(piece)
        if received > MAX_STREAM:
            raise ProviderError(
                fault("bad_response", f"{who} sent more than {MAX_STREAM:,} bytes.", retryable=False)
            )
        if events := parser.feed(piece):
            yield events
    if (tail := parser.close()) is not None and tail.endswith((b"}", b"[DONE]")):
        yield [tail]  # a whole event whose blank line never came


async def _plain(response: aiohttp.ClientResponse) -> AsyncIterator[bytes]:
    """Yield the body as it arrives, unpacked in bounded pieces where the server compressed it unasked."""
    encoding = response.headers.get("Content-Encoding", "identity").lower()
    if encoding == "identity":
        async for piece in response.content.iter_any():
            yield piece
        return
    if encoding not in {"gzip", "deflate"}:
        raise ProviderError(
            fault("bad_response", f"The answer is packed as {encoding}, which was not asked for.")
        )
    unpacker = zlib.decompressobj(wbits=47)
    async for piece in response.content.iter_any():
        rest = piece
        while rest:
            unpacked = unpacker.decompress(rest, READ_BUFFER)
            rest = unpacker.unconsumed_tail
            if unpacked:
                yield unpacked
    if not unpacker.eof:
        raise zlib.error("the packed answer ended early")


async def _bounded(pieces: AsyncIterator[bytes], limit: int) -> bytes:
    body = bytearray()
    async for piece in pieces:
        body += piece
        if len(body) > limit:
            break
    return bytes(body[:limit])


@contextlib.contextmanager
def mapped_errors(who: str) -> Iterator[None]:
    """Turn what aiohttp, ssl and zlib raise into a ProviderError that says what to look at."""
    try:
        yield
    except (aiohttp.ClientSSLError, ssl.SSLError) as error:
        raise ProviderError(
            fault("network", f"No secure connection to {who}: its certificate or TLS set-up was refused.")
        ) from error
    except aiohttp.ClientProxyConnectionError as error:
        raise ProviderError(fault("network", f"The proxy on the way to {who} cannot be reached.")) from error
    except aiohttp.ClientConnectorDNSError as error:
        raise ProviderError(
            fault("network", f"The host name of {who} cannot be found. Check base_url and the network.")
        ) from error
    except aiohttp.ClientConnectorError as error:
        raise ProviderError(fault("network", f"{who} cannot be reached: is it running?")) from error
    except TimeoutError as error:
        raise ProviderError(fault("timeout", f"{who} did not accept a connection in time.")) from error
    except aiohttp.InvalidURL as error:
        raise ProviderError(
            fault("network", f"The base_url of {who} is not a valid address.", retryable=False)
        ) from error
    except (aiohttp.ClientError, zlib.error, OSError) as error:
        raise ProviderError(
            fault("network", f"The connection to {who} broke before the answer was complete.")
        ) from error

"""HTTP client of the Moot API, with retries on connection errors and rate limits, and the lookup of its server.

The server is the one of `--server`, the one that holds the database lock, or one embedded in this process.
An error response is raised as UsageError with the server's text.
"""

import asyncio
import socket
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping
from contextlib import aclosing, asynccontextmanager
from pathlib import Path
from typing import Any, Self, TypeVar
from urllib.parse import urlsplit
from uuid import uuid4

import aiohttp
import msgspec
from msgspec import Struct

from moot.app.database_lock import lock_holder_address
from moot.providers.sse import EventParser
from moot.settings import Settings
from moot.types.discussions import Discussion, Message, Run
from moot.types.errors import ServerUnreachable, UsageError
from moot.types.events import Event, RunEnded

TOKEN_VARIABLE = "MOOT_TOKEN"  # noqa: S105 - a variable name, not a token
LOOPBACK_HOST = "127.0.0.1"
MAX_WAIT_SECONDS = 300.0
FIRST_BACKOFF_SECONDS, MAX_BACKOFF_SECONDS = 0.1, 2.0
READ_TIMEOUT_SECONDS = 60.0  # the server sends a keep-alive every 15 s
MAX_EVENT_BYTES = 16 * 2**20
CONNECTION_ERRORS = (aiohttp.ClientConnectionError, aiohttp.ClientPayloadError, TimeoutError)

T = TypeVar("T")
Notify = Callable[[str], None]
decode_event = msgspec.json.Decoder(Event).decode


class ServerAddress(Struct, frozen=True):
    url: str
    token: str | None
    is_remote: bool = False  # given by --server, so its settings and models are unknown here

    @property
    def headers(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {self.token}"} if self.token else {}


@asynccontextmanager
async def connect_to_server(
    server: str | None, settings: Settings, environment: Mapping[str, str]
) -> AsyncIterator[ServerAddress]:
    """Yield the address of a server. An embedded server stops at the end of the block."""
    token = environment.get(TOKEN_VARIABLE) or None
    if server is not None:
        yield ServerAddress(_validate_server_url(server), token, is_remote=True)
    elif address := _local_server_url(settings.database_address):
        yield ServerAddress(address, token)
    else:
        from moot.cli.serve import EmbeddedServer, start_server

        with socket.create_server((LOOPBACK_HOST, 0)) as listener:
            async with start_server(settings, listener, loopback=True, server_class=EmbeddedServer) as running_server:
                yield ServerAddress(running_server.page_url.rstrip("/"), token)


def _local_server_url(database: str) -> str | None:
    """Return the URL of the process that holds the SQLite lock. None for Postgres, which servers can share.

    Raises UsageError if that process is still starting.
    """
    if not database.startswith("sqlite:///"):
        return None
    address = lock_holder_address(Path(database.removeprefix("sqlite:///")).expanduser())
    if address == "":
        raise UsageError("Another moot is starting on this database. Try again in a moment.")
    return address and address.rstrip("/")


def _validate_server_url(server: str) -> str:
    parts = urlsplit(server)
    if parts.scheme not in {"http", "https"} or not parts.hostname:
        raise UsageError(f"--server {server}: not a URL. Use one such as https://moot.example.org.")
    return server.rstrip("/")


class FieldError(Struct, frozen=True):
    message: str


class Problem(Struct, frozen=True):
    """Error body of the server. Field names are left out: they mean nothing to a CLI user."""

    detail: str
    errors: tuple[FieldError, ...] = ()


class CreatedDiscussion(Struct, frozen=True):
    discussion: Discussion
    run: Run


class AcceptedMessage(Struct, frozen=True):
    run: Run


class FetchedDiscussion(Struct, frozen=True):
    discussion: Discussion
    messages: tuple[Message, ...]  # the newest, in order
    before: int | None  # cursor of older messages; None if there are none
    runs: tuple[Run, ...]  # active runs


class DiscussionList(Struct, frozen=True):
    discussions: tuple[Discussion, ...]


class ProviderInfo(Struct, frozen=True):
    name: str


class ApiClient:
    """Client for one server. `notify` receives status lines while it retries."""

    def __init__(self, server: ServerAddress, notify: Notify, max_wait_seconds: float = MAX_WAIT_SECONDS) -> None:
        self._server = server
        self._notify = notify
        self._max_wait_seconds = max_wait_seconds

    async def __aenter__(self) -> Self:
        self._http_session = aiohttp.ClientSession(
            headers=self._server.headers, timeout=aiohttp.ClientTimeout(sock_read=READ_TIMEOUT_SECONDS)
        )
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._http_session.close()

    async def check_connection(self) -> None:
        """Check server and token without retries. Raises ServerUnreachable or UsageError."""
        try:
            await self._request_once("GET", "/api/me", None, {})
        except CONNECTION_ERRORS as error:
            raise ServerUnreachable(
                f"No server answers at {self._server.url}. Is `moot serve` running there?"
            ) from error

    async def get(self, path: str, response_type: type[T]) -> T:
        return await self._call_with_retries("GET", path, response_type)

    async def post(self, path: str, response_type: type[T], body: object = None) -> T:
        """Send a POST request with an idempotency key, so that retries are safe."""
        return await self._call_with_retries("POST", path, response_type, body, {"Idempotency-Key": uuid4().hex})

    async def patch(self, path: str, response_type: type[T], body: object) -> T:
        return await self._call_with_retries("PATCH", path, response_type, body)

    async def stream_events(self, run: str) -> AsyncGenerator[list[Event], None]:
        """Yield batches of events until the run ends. After a lost connection, resume after the last `seq`."""
        after = 0
        backoff = _Backoff(self._max_wait_seconds, self._notify)
        while True:
            try:
                async with aclosing(self._open_event_stream(run, after)) as stream:
                    async for events in stream:
                        backoff.reset_after_success()
                        after = events[-1].seq
                        yield events
                        if isinstance(events[-1], RunEnded):
                            return
            except CONNECTION_ERRORS as error:
                if not await backoff.wait_for_retry():
                    raise self._unreachable_error() from error
            except _StreamFinished:
                return

    async def _open_event_stream(self, run: str, after: int) -> AsyncGenerator[list[Event], None]:
        parser = EventParser(MAX_EVENT_BYTES)
        url = f"{self._server.url}/api/runs/{run}/events?after={after}"
        async with self._http_session.get(url) as response:
            if response.status == 204:
                raise _StreamFinished
            if response.status >= 500:
                raise aiohttp.ClientConnectionError("the server is starting or ending")
            if response.status != 200:
                raise UsageError(_error_text(await response.read(), response.status))
            async for piece in response.content.iter_any():
                if events := [event for data in parser.feed_bytes(piece) for event in _decode_known_events(data)]:
                    yield events
        raise aiohttp.ClientPayloadError("the stream ended before the run")

    async def _call_with_retries(
        self, method: str, path: str, response_type: type[T], body: object = None, headers: dict[str, str] | None = None
    ) -> T:
        backoff = _Backoff(self._max_wait_seconds, self._notify)
        while True:
            try:
                data = await self._request_once(method, path, body, headers or {})
            except _RateLimited as limited:
                self._notify(f"The server is rate limiting. Retrying in {limited.retry_after_seconds:.0f} s.")
                await asyncio.sleep(limited.retry_after_seconds)
            except CONNECTION_ERRORS as error:
                if not await backoff.wait_for_retry():
                    raise self._unreachable_error() from error
            else:
                backoff.reset_after_success()
                return msgspec.json.decode(data or b"null", type=response_type)  # an empty body is None

    async def _request_once(self, method: str, path: str, body: object, headers: dict[str, str]) -> bytes:
        options: dict[str, Any] = {"headers": dict(headers)}
        if body is not None:
            options["data"] = msgspec.json.encode(body)
            options["headers"]["Content-Type"] = "application/json"
        async with self._http_session.request(method, self._server.url + path, **options) as response:
            data = await response.read()
            if response.status == 401:
                raise UsageError(
                    f"{self._server.url} rejected the login. Set {TOKEN_VARIABLE} to a token of your account."
                )
            if response.status == 429:
                raise _RateLimited(float(response.headers.get("Retry-After", "1")))
            if response.status == 503:
                raise aiohttp.ClientConnectionError("the server is starting or ending")
            if response.status >= 400:
                raise UsageError(_error_text(data, response.status))
            return data

    def _unreachable_error(self) -> ServerUnreachable:
        return ServerUnreachable(
            f"The server at {self._server.url} has not answered for {self._max_wait_seconds:.0f} s. Messages that it "
            "accepted are kept. Continue with `moot chat --last` when it is back."
        )


class _StreamFinished(Exception):
    """The server has no further events: the run ended."""


class _RateLimited(Exception):
    def __init__(self, retry_after_seconds: float) -> None:
        super().__init__()
        self.retry_after_seconds = retry_after_seconds


class _Backoff:
    """Exponential backoff with a total time limit. Notifies the user once per outage."""

    def __init__(self, max_wait_seconds: float, notify: Notify) -> None:
        self._max_wait_seconds = max_wait_seconds
        self._notify = notify
        self._clock = asyncio.get_running_loop().time
        self._failing_since: float | None = None
        self._delay_seconds = FIRST_BACKOFF_SECONDS

    async def wait_for_retry(self) -> bool:
        """Sleep, then return True to retry. Returns False once the time limit has passed."""
        if self._failing_since is None:
            self._failing_since = self._clock()
            self._notify("The server does not answer. Retrying.")
        elif self._clock() - self._failing_since >= self._max_wait_seconds:
            return False
        await asyncio.sleep(self._delay_seconds)
        self._delay_seconds = min(2 * self._delay_seconds, MAX_BACKOFF_SECONDS)
        return True

    def reset_after_success(self) -> None:
        if self._failing_since is not None:
            self._failing_since, self._delay_seconds = None, FIRST_BACKOFF_SECONDS
            self._notify("The server is back.")


def _decode_known_events(data: bytes) -> list[Event]:
    """Skip event types of a newer server that this client does not know."""
    try:
        return [decode_event(data)]
    except msgspec.ValidationError:
        return []


def _error_text(data: bytes, status: int) -> str:
    try:
        problem = msgspec.json.decode(data, type=Problem)
    except msgspec.DecodeError:
        return f"Unexpected response with status {status}. Is this a Moot server?"
    return " ".join(error.message for error in problem.errors) or problem.detail

"""A client of a Moot server's API: what it refuses is raised in its words, and it is waited for where it is away or busy."""

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from typing import Any, Self, TypeVar
from uuid import uuid4

import aiohttp
import msgspec
from msgspec import Struct

from moot.cli.connect import TOKEN_VARIABLE, ServerAddress
from moot.providers.sse import EventParser
from moot.types.discussions import Discussion, Message, Run
from moot.types.errors import ServerUnreachable, UsageError
from moot.types.events import Event, RunEnded

MAX_WAIT_SECONDS = 300.0
FIRST_BACKOFF_SECONDS, MAX_BACKOFF_SECONDS = 0.1, 2.0
READ_TIMEOUT_SECONDS = 60.0  # a server says every 15 s that it is there
MAX_EVENT_BYTES = 16 * 2**20
CONNECTION_ERRORS = (aiohttp.ClientConnectionError, aiohttp.ClientPayloadError, TimeoutError)

T = TypeVar("T")
Notify = Callable[[str], None]
decode_event = msgspec.json.Decoder(Event).decode


class FieldError(Struct, frozen=True):
    message: str


class Problem(Struct, frozen=True):
    """How a server says what is wrong; which field of a body is meant is nothing to those who wrote none."""

    detail: str
    errors: tuple[FieldError, ...] = ()


class CreatedDiscussion(Struct, frozen=True):
    discussion: Discussion
    run: Run


class AcceptedMessage(Struct, frozen=True):
    run: Run


class FetchedDiscussion(Struct, frozen=True):
    """A discussion, its newest messages, and what goes on in it; `before` is there where there are older ones."""

    discussion: Discussion
    messages: tuple[Message, ...]
    before: int | None
    runs: tuple[Run, ...]


class DiscussionList(Struct, frozen=True):
    discussions: tuple[Discussion, ...]


class ProviderInfo(Struct, frozen=True):
    name: str


class ApiClient:
    """`say` tells whoever waits why it takes so long."""

    def __init__(
        self, server: ServerAddress, notify: Notify, max_wait_seconds: float = MAX_WAIT_SECONDS
    ) -> None:
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
        """Make sure, without waiting, that somebody is there who lets us in."""
        try:
            await self._request_once("GET", "/api/me", None, {})
        except CONNECTION_ERRORS as error:
            raise ServerUnreachable(
                f"Nobody answers at {self._server.url}: is `moot serve` running there?"
            ) from error

    async def get(self, path: str, response_type: type[T]) -> T:
        return await self._call_with_retries("GET", path, response_type)

    async def post(self, path: str, response_type: type[T], body: object = None) -> T:
        """Send something, which is done once however often it has to be sent."""
        return await self._call_with_retries(
            "POST", path, response_type, body, {"Idempotency-Key": uuid4().hex}
        )

    async def patch(self, path: str, response_type: type[T], body: object) -> T:
        return await self._call_with_retries("PATCH", path, response_type, body)

    async def stream_events(self, run: str) -> AsyncGenerator[list[Event], None]:
        """Yield the events of a run to its end; where the connection breaks, go on at the number that came last."""
        after = 0
        waiting = _Backoff(self._max_wait_seconds, self._notify)
        while True:
            try:
                async with aclosing(self._open_event_stream(run, after)) as stream:
                    async for events in stream:
                        waiting.reset_after_success()
                        after = events[-1].seq
                        yield events
                        if isinstance(events[-1], RunEnded):
                            return
            except CONNECTION_ERRORS as error:
                if not await waiting.wait_for_retry():
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
                if events := [
                    event for data in parser.feed_bytes(piece) for event in _decode_known_events(data)
                ]:
                    yield events
        raise aiohttp.ClientPayloadError("the stream ended before the run")

    async def _call_with_retries(
        self,
        method: str,
        path: str,
        response_type: type[T],
        body: object = None,
        headers: dict[str, str] | None = None,
    ) -> T:
        waiting = _Backoff(self._max_wait_seconds, self._notify)
        while True:
            try:
                data = await self._request_once(method, path, body, headers or {})
            except _RateLimited as busy:
                self._notify(
                    f"This is too much at once for the server: it is asked again in {busy.retry_after_seconds:.0f} s."
                )
                await asyncio.sleep(busy.retry_after_seconds)
            except CONNECTION_ERRORS as error:
                if not await waiting.wait_for_retry():
                    raise self._unreachable_error() from error
            else:
                waiting.reset_after_success()
                return msgspec.json.decode(data or b"null", type=response_type)  # of nothing is nothing

    async def _request_once(self, method: str, path: str, body: object, headers: dict[str, str]) -> bytes:
        sent: dict[str, Any] = {"headers": dict(headers)}
        if body is not None:
            sent["data"] = msgspec.json.encode(body)
            sent["headers"]["Content-Type"] = "application/json"
        async with self._http_session.request(method, self._server.url + path, **sent) as response:
            data = await response.read()
            if response.status == 401:
                raise UsageError(
                    f"{self._server.url} does not let you in: set {TOKEN_VARIABLE} to a token of your account."
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
            f"The server at {self._server.url} has not answered for {self._max_wait_seconds:.0f} s. Nothing is lost that it "
            "took in: `moot chat --last` goes on where you are, when it is back."
        )


class _StreamFinished(Exception):
    """All of a run was heard."""


class _RateLimited(Exception):
    def __init__(self, retry_after_seconds: float) -> None:
        super().__init__()
        self.retry_after_seconds = retry_after_seconds


class _Backoff:
    """Waits for a server that is away, longer each time, and not for ever."""

    def __init__(self, max_wait_seconds: float, notify: Notify) -> None:
        self._max_wait_seconds = max_wait_seconds
        self._notify = notify
        self._clock = asyncio.get_running_loop().time
        self._failing_since: float | None = None
        self._delay_seconds = FIRST_BACKOFF_SECONDS

    async def wait_for_retry(self) -> bool:
        """Wait a little, and tell whether to try again."""
        if self._failing_since is None:
            self._failing_since = self._clock()
            self._notify("The server does not answer; trying again.")
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
    """Read an event; one of a newer server, which is not known here, is left out."""
    try:
        return [decode_event(data)]
    except msgspec.ValidationError:
        return []


def _error_text(data: bytes, status: int) -> str:
    try:
        problem = msgspec.json.decode(data, type=Problem)
    except msgspec.DecodeError:
        return f"This is no Moot server, or not all of one: it answered with {status}."
    return " ".join(error.message for error in problem.errors) or problem.detail

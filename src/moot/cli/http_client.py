"""A client of a Moot server's API: what it refuses is raised in its words, and it is waited for where it is away or busy."""

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from typing import Any, Self, TypeVar
from uuid import uuid4

import aiohttp
import msgspec
from msgspec import Struct

from moot.cli.connect import TOKEN, Door
from moot.providers.sse import EventParser
from moot.types.discussions import Discussion, Message, Run
from moot.types.errors import ServerAway, UsageError
from moot.types.events import Event, RunEnded

PATIENCE_SECONDS = 300.0
FIRST_WAIT, LONGEST_WAIT = 0.1, 2.0
SILENCE_SECONDS = 60.0  # a server says every 15 s that it is there
LONGEST_EVENT = 16 * 2**20
AWAY = (aiohttp.ClientConnectionError, aiohttp.ClientPayloadError, TimeoutError)

T = TypeVar("T")
Say = Callable[[str], None]
event_of = msgspec.json.Decoder(Event).decode


class FieldError(Struct, frozen=True):
    message: str


class Problem(Struct, frozen=True):
    """How a server says what is wrong; which field of a body is meant is nothing to those who wrote none."""

    detail: str
    errors: tuple[FieldError, ...] = ()


class Opened(Struct, frozen=True):
    discussion: Discussion
    run: Run


class Accepted(Struct, frozen=True):
    run: Run


class Read(Struct, frozen=True):
    """A discussion, its newest messages, and what goes on in it; `before` is there where there are older ones."""

    discussion: Discussion
    messages: tuple[Message, ...]
    before: int | None
    runs: tuple[Run, ...]


class Listed(Struct, frozen=True):
    discussions: tuple[Discussion, ...]


class Provider(Struct, frozen=True):
    name: str


class Api:
    """`say` tells whoever waits why it takes so long."""

    def __init__(self, door: Door, say: Say, patience: float = PATIENCE_SECONDS) -> None:
        self._door = door
        self._say = say
        self._patience = patience

    async def __aenter__(self) -> Self:
        self._http = aiohttp.ClientSession(
            headers=self._door.headers, timeout=aiohttp.ClientTimeout(sock_read=SILENCE_SECONDS)
        )
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._http.close()

    async def check(self) -> None:
        """Make sure, without waiting, that somebody is there who lets us in."""
        try:
            await self._once("GET", "/api/me", None, {})
        except AWAY as error:
            raise ServerAway(f"Nobody answers at {self._door.url}: is `moot serve` running there?") from error

    async def get(self, path: str, wanted: type[T]) -> T:
        return await self._call("GET", path, wanted)

    async def post(self, path: str, wanted: type[T], body: object = None) -> T:
        """Send something, which is done once however often it has to be sent."""
        return await self._call("POST", path, wanted, body, {"Idempotency-Key": uuid4().hex})

    async def patch(self, path: str, wanted: type[T], body: object) -> T:
        return await self._call("PATCH", path, wanted, body)

    async def events(self, run: str) -> AsyncGenerator[list[Event], None]:
        """Yield the events of a run to its end; where the connection breaks, go on at the number that came last."""
        after = 0
        waiting = _Waiting(self._patience, self._say)
        while True:
            try:
                async with aclosing(self._stream(run, after)) as stream:
                    async for events in stream:
                        waiting.over()
                        after = events[-1].seq
                        yield events
                        if isinstance(events[-1], RunEnded):
                            return
            except AWAY as error:
                if not await waiting.again():
                    raise self._gone() from error
            except _Over:
                return

    async def _stream(self, run: str, after: int) -> AsyncGenerator[list[Event], None]:
        parser = EventParser(LONGEST_EVENT)
        url = f"{self._door.url}/api/runs/{run}/events?after={after}"
        async with self._http.get(url) as response:
            if response.status == 204:
                raise _Over
            if response.status >= 500:
                raise aiohttp.ClientConnectionError("the server is starting or ending")
            if response.status != 200:
                raise UsageError(_words(await response.read(), response.status))
            async for piece in response.content.iter_any():
                if events := [event for data in parser.feed(piece) for event in _known(data)]:
                    yield events
        raise aiohttp.ClientPayloadError("the stream ended before the run")

    async def _call(
        self,
        method: str,
        path: str,
        wanted: type[T],
        body: object = None,
        headers: dict[str, str] | None = None,
    ) -> T:
        waiting = _Waiting(self._patience, self._say)
        while True:
            try:
                data = await self._once(method, path, body, headers or {})
            except _Busy as busy:
                self._say(
                    f"This is too much at once for the server: it is asked again in {busy.seconds:.0f} s."
                )
                await asyncio.sleep(busy.seconds)
            except AWAY as error:
                if not await waiting.again():
                    raise self._gone() from error
            else:
                waiting.over()
                return msgspec.json.decode(data or b"null", type=wanted)  # of nothing is nothing

    async def _once(self, method: str, path: str, body: object, headers: dict[str, str]) -> bytes:
        sent: dict[str, Any] = {"headers": dict(headers)}
        if body is not None:
            sent["data"] = msgspec.json.encode(body)
            sent["headers"]["Content-Type"] = "application/json"
        async with self._http.request(method, self._door.url + path, **sent) as response:
            data = await response.read()
            if response.status == 401:
                raise UsageError(
                    f"{self._door.url} does not let you in: set {TOKEN} to a token of your account."
                )
            if response.status == 429:
                raise _Busy(float(response.headers.get("Retry-After", "1")))
            if response.status == 503:
                raise aiohttp.ClientConnectionError("the server is starting or ending")
            if response.status >= 400:
                raise UsageError(_words(data, response.status))
            return data

    def _gone(self) -> ServerAway:
        return ServerAway(
            f"The server at {self._door.url} has not answered for {self._patience:.0f} s. Nothing is lost that it "
            "took in: `moot chat --last` goes on where you are, when it is back."
        )


class _Over(Exception):
    """All of a run was heard."""


class _Busy(Exception):
    def __init__(self, seconds: float) -> None:
        super().__init__()
        self.seconds = seconds


class _Waiting:
    """Waits for a server that is away, longer each time, and not for ever."""

    def __init__(self, patience: float, say: Say) -> None:
        self._patience = patience
        self._say = say
        self._clock = asyncio.get_running_loop().time
        self._since: float | None = None
        self._wait = FIRST_WAIT

    async def again(self) -> bool:
        """Wait a little, and tell whether to try again."""
        if self._since is None:
            self._since = self._clock()
            self._say("The server does not answer; trying again.")
        elif self._clock() - self._since >= self._patience:
            return False
        await asyncio.sleep(self._wait)
        self._wait = min(2 * self._wait, LONGEST_WAIT)
        return True

    def over(self) -> None:
        if self._since is not None:
            self._since, self._wait = None, FIRST_WAIT
            self._say("The server is back.")


def _known(data: bytes) -> list[Event]:
    """Read an event; one of a newer server, which is not known here, is left out."""
    try:
        return [event_of(data)]
    except msgspec.ValidationError:
        return []


def _words(data: bytes, status: int) -> str:
    try:
        problem = msgspec.json.decode(data, type=Problem)
    except msgspec.DecodeError:
        return f"This is no Moot server, or not all of one: it answered with {status}."
    return " ".join(error.message for error in problem.errors) or problem.detail

"""The lab's HTTP server: it performs scripts over a socket and breaks what the script says to break."""

import asyncio
import zlib
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from itertools import chain, count, islice, repeat
from typing import Any

from aiohttp import web
from msgspec import Struct

from moot.providers.scripted.scripts import Performance, Scripts
from moot.testing.frames import event, frames
from moot.testing.wire_formats.anthropic import AnthropicDialect
from moot.testing.wire_formats.dialect import Dialect, encoded
from moot.testing.wire_formats.google import GoogleDialect
from moot.testing.wire_formats.openai import OpenAIDialect
from moot.types.errors import UnknownModel

BOM = b"\xef\xbb\xbf"
REFUSALS: dict[str, tuple[int, dict[str, str]]] = {
    "retry_seconds": (429, {"Retry-After": "1"}),
    "retry_ms": (429, {"Retry-After-Ms": "250"}),
    "retry_date": (429, {}),
    "server_error": (500, {}),
    "overloaded": (529, {}),
    "unauthorized": (401, {}),
    "forbidden": (403, {}),
    "error_body": (200, {}),
}
PAGE = "<!doctype html><title>Sign in</title><script>alert('the hotel network')</script>"


class Call(Struct):
    """One request that the lab received, and how it ended."""

    model: str
    key: str
    frames: int = 0
    ended: str = ""  # finished | client left


class Lab:
    def __init__(self, scripts: Scripts) -> None:
        self.scripts = scripts
        self.calls: list[Call] = []

    def app(self) -> web.Application:
        app = web.Application(client_max_size=64 * 1024 * 1024)
        app.router.add_post("/v1/chat/completions", self._route(OpenAIDialect))
        app.router.add_post("/v1/messages", self._route(AnthropicDialect))
        app.router.add_post("/v1beta/models/{model}:streamGenerateContent", self._route(GoogleDialect))
        app.router.add_get("/v1/models", self._list)
        app.router.add_get("/v1beta/models", self._list_google)
        return app

    def _route(
        self, dialect: Callable[[], Dialect]
    ) -> Callable[[web.Request], Awaitable[web.StreamResponse]]:
        async def answer(request: web.Request) -> web.StreamResponse:
            return await self._answer(request, dialect())

        return answer

    async def _answer(self, request: web.Request, dialect: Dialect) -> web.StreamResponse:
        try:
            asked = dialect.request(await request.json(), request.match_info.get("model", ""))
            self.scripts.check(asked.model)
        except UnknownModel as error:
            return _refusal(dialect, 404, {}, str(error))
        except (ValueError, KeyError, TypeError) as error:
            return _refusal(dialect, 400, {}, f"The request cannot be read: {error!r}")
        performance = self.scripts.perform(asked)
        call = Call(asked.model, _key(request))
        self.calls.append(call)
        try:
            response = await self._perform(request, dialect, performance, call)
            call.ended = "finished"
        except ConnectionError:
            call.ended = "client left"
            return web.Response()  # to nobody
        except asyncio.CancelledError:
            call.ended = "client left"
            raise
        return response

    async def _perform(
        self, request: web.Request, dialect: Dialect, performance: Performance, call: Call
    ) -> web.StreamResponse:
        trouble = performance.fault
        await asyncio.sleep(performance.script.delay)
        if trouble in REFUSALS:
            status, headers = REFUSALS[trouble]
            return _refusal(dialect, status, _with_date(trouble, headers), _words(trouble, call))
        if trouble == "html":
            return web.Response(text=PAGE, content_type="text/html")
        if trouble == "silence":
            await asyncio.Event().wait()
        return await _stream(request, dialect, performance, call)

    async def _list(self, request: web.Request) -> web.Response:  # noqa: ARG002 - all see the same
        return web.json_response({"data": [{"id": name} for name in self.scripts.named]})

    async def _list_google(self, request: web.Request) -> web.Response:  # noqa: ARG002 - as above
        methods = ["generateContent"]
        listed = [{"name": f"models/{n}", "supportedGenerationMethods": methods} for n in self.scripts.named]
        return web.json_response({"models": listed})


async def _stream(
    request: web.Request, dialect: Dialect, performance: Performance, call: Call
) -> web.StreamResponse:
    trouble, script = performance.fault, performance.script
    response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
    if trouble == "short_read":
        response.content_length = 1_000_000
    if trouble in {"bad_gzip", "gzip_bomb"}:
        response.headers["Content-Encoding"] = "gzip"
    await response.prepare(request)
    if trouble == "bom":
        await response.write(BOM)
    pause = 0.02 if trouble in {"keepalive", "bad_gzip"} else script.pace
    for piece in _pieces(dialect, performance):
        if call.frames and pause:
            await asyncio.sleep(pause)
        call.frames += 1
        await response.write(piece)
        if trouble in {"reset", "short_read"} and call.frames > script.fault_after + 1:
            await asyncio.sleep(0.01)  # let what was written arrive
            _hang_up(request)
            return response
    await response.write_eof()
    return response


def _pieces(dialect: Dialect, performance: Performance) -> Iterator[bytes]:
    """Cut an answer into what is written at once, and put in the faults that are made of bytes."""
    trouble = performance.fault
    answer = (event(frame, trouble) for frame in frames(dialect, performance))
    match trouble:
        case "empty":
            return iter(())
        case "bytewise":
            return (bytes([byte]) for piece in answer for byte in piece)
        case "keepalive":
            return repeat(b": still here\n\n")
        case "huge_line":
            return iter([b"data: " + b"x" * 1_000_000 + b"\n\n"])
        case "gzip_bomb":
            return _bomb()
        case "bad_gzip":
            return _breaking_gzip(islice(answer, performance.script.fault_after + 2))
        case "endless":
            more = (dialect.text(f"{page}. {performance.answer * 50}") for page in count())
            return chain(answer, (event(frame, "") for page in more for frame in page))
    return answer


def _breaking_gzip(answer: Iterable[bytes]) -> Iterator[bytes]:
    packer = zlib.compressobj(wbits=31)
    for piece in answer:
        yield packer.compress(piece) + packer.flush(zlib.Z_SYNC_FLUSH)
    yield b"\xff" * 64  # no block of packed data begins so


def _bomb() -> Iterator[bytes]:
    packer = zlib.compressobj(wbits=31)
    comment = b": " + b" " * 2**20 + b"\n"
    begin, more = (packer.compress(comment) + packer.flush(zlib.Z_FULL_FLUSH) for _ in range(2))
    yield begin
    yield from repeat(more, 255)  # a full flush lets the same comment come to the same bytes, packed once


def _hang_up(request: web.Request) -> None:
    if request.transport is not None:
        request.transport.abort()


def _refusal(dialect: Dialect, status: int, headers: dict[str, str], message: str) -> web.Response:
    code = 429 if status == 200 else status
    return web.Response(
        status=status,
        headers=headers,
        body=encoded(dialect.error(code, message)),
        content_type="application/json",
    )


def _with_date(trouble: str, headers: dict[str, str]) -> dict[str, str]:
    if trouble != "retry_date":
        return headers
    return {"Retry-After": format_datetime(datetime.now(UTC) + timedelta(seconds=2), usegmt=True)}


def _words(trouble: str, call: Call) -> str:
    if trouble in {"unauthorized", "forbidden"}:
        return f"Incorrect API key provided: {call.key}"
    return (
        "Too many requests, slow down"
        if trouble in {"retry_seconds", "retry_ms", "retry_date", "error_body"}
        else "Something broke"
    )


def _key(request: web.Request) -> str:
    bearer = request.headers.get("Authorization", "").removeprefix("Bearer ")
    return bearer or request.headers.get("x-api-key") or request.headers.get("x-goog-api-key") or ""


@asynccontextmanager
async def serving(lab: Lab, port: int = 0) -> AsyncIterator[str]:
    """Serve on loopback and yield the address."""
    runner = web.AppRunner(lab.app(), handler_cancellation=True, shutdown_timeout=0.2, access_log=None)
    await runner.setup()
    try:
        site = web.TCPSite(runner, "127.0.0.1", port)
        await site.start()
        bound: Any = runner.addresses[0]
        yield f"http://{bound[0]}:{bound[1]}"
    finally:
        await runner.cleanup()

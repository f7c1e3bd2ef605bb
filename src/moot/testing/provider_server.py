"""Fake provider server: streams scripted replies over HTTP in all three wire formats, with injected faults."""

import asyncio
import zlib
from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from functools import partial
from itertools import chain, count, islice, repeat
from typing import Any

from aiohttp import web
from msgspec import Struct

from moot.providers.scripted.scripts import ScriptedReply, Scripts
from moot.testing.frames import answer_frames, encode_event
from moot.testing.wire_formats.anthropic import AnthropicDialect
from moot.testing.wire_formats.dialect import Dialect, encode_frame
from moot.testing.wire_formats.google import GoogleDialect
from moot.testing.wire_formats.openai import OpenAIDialect
from moot.types.errors import UnknownModel

BOM = b"\xef\xbb\xbf"
ERROR_RESPONSES: dict[str, tuple[int, dict[str, str]]] = {
    "retry_seconds": (429, {"Retry-After": "1"}),
    "retry_ms": (429, {"Retry-After-Ms": "250"}),
    "retry_date": (429, {}),
    "server_error": (500, {}),
    "overloaded": (529, {}),
    "unauthorized": (401, {}),
    "forbidden": (403, {}),
    "error_body": (200, {}),
}
HTML_PAGE = "<!doctype html><title>Sign in</title><script>alert('the hotel network')</script>"


class ReceivedRequest(Struct):
    model: str
    key: str
    frame_count: int = 0  # pieces written to the client
    outcome: str = ""  # finished | client left; empty while streaming


class FakeProviderServer:
    def __init__(self, scripts: Scripts) -> None:
        self.scripts = scripts
        self.received_requests: list[ReceivedRequest] = []

    def create_app(self) -> web.Application:
        app = web.Application(client_max_size=64 * 1024 * 1024)
        app.router.add_post("/v1/chat/completions", partial(self._handle_request, OpenAIDialect))
        app.router.add_post("/v1/messages", partial(self._handle_request, AnthropicDialect))
        app.router.add_post(
            "/v1beta/models/{model}:streamGenerateContent", partial(self._handle_request, GoogleDialect)
        )
        app.router.add_get("/v1/models", self._list_models)
        app.router.add_get("/v1beta/models", self._list_google_models)
        return app

    async def _handle_request(self, create_dialect: Callable[[], Dialect], request: web.Request) -> web.StreamResponse:
        dialect = create_dialect()
        try:
            model_request = dialect.parse_request(await request.json(), request.match_info.get("model", ""))
            self.scripts.check_script(model_request.model)
        except UnknownModel as error:
            return _error_response(dialect, 404, {}, str(error))
        except (ValueError, KeyError, TypeError) as error:
            return _error_response(dialect, 400, {}, f"The request cannot be parsed: {error!r}")
        reply = self.scripts.next_reply(model_request)
        call = ReceivedRequest(model_request.model, _request_key(request))
        self.received_requests.append(call)
        try:
            response = await self._send_reply(request, dialect, reply, call)
            call.outcome = "finished"
        except ConnectionError:
            call.outcome = "client left"
            return web.Response()  # never sent: the client is gone
        except asyncio.CancelledError:
            call.outcome = "client left"
            raise
        return response

    async def _send_reply(
        self, request: web.Request, dialect: Dialect, reply: ScriptedReply, call: ReceivedRequest
    ) -> web.StreamResponse:
        fault = reply.fault
        await asyncio.sleep(reply.script.delay_seconds)
        if fault in ERROR_RESPONSES:
            status, headers = ERROR_RESPONSES[fault]
            if fault == "retry_date":
                headers = {"Retry-After": format_datetime(datetime.now(UTC) + timedelta(seconds=2), usegmt=True)}
            return _error_response(dialect, status, headers, _error_message(fault, call))
        if fault == "html":
            return web.Response(text=HTML_PAGE, content_type="text/html")
        if fault == "silence":
            await asyncio.Event().wait()
        return await _stream_reply(request, dialect, reply, call)

    async def _list_models(self, request: web.Request) -> web.Response:  # noqa: ARG002 - the same for all clients
        return web.json_response({"data": [{"id": name} for name in self.scripts.by_name]})

    async def _list_google_models(self, request: web.Request) -> web.Response:  # noqa: ARG002 - the same for all clients
        methods = ["generateContent"]
        models = [{"name": f"models/{n}", "supportedGenerationMethods": methods} for n in self.scripts.by_name]
        return web.json_response({"models": models})


async def _stream_reply(
    request: web.Request, dialect: Dialect, reply: ScriptedReply, call: ReceivedRequest
) -> web.StreamResponse:
    fault, script = reply.fault, reply.script
    response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
    if fault == "short_read":
        response.content_length = 1_000_000
    if fault in {"bad_gzip", "gzip_bomb"}:
        response.headers["Content-Encoding"] = "gzip"
    await response.prepare(request)
    if fault == "bom":
        await response.write(BOM)
    pause = 0.02 if fault in {"keepalive", "bad_gzip"} else script.chunk_interval_seconds
    for piece in _reply_pieces(dialect, reply):
        if call.frame_count and pause:
            await asyncio.sleep(pause)
        call.frame_count += 1
        await response.write(piece)
        if fault in {"reset", "short_read"} and call.frame_count > script.fault_after_chunks + 1:
            await asyncio.sleep(0.01)  # let the client receive the written bytes
            if request.transport is not None:
                request.transport.abort()
            return response
    await response.write_eof()
    return response


def _reply_pieces(dialect: Dialect, reply: ScriptedReply) -> Iterator[bytes]:
    """Return the pieces of the body, one per write, with the faults at byte level."""
    fault = reply.fault
    answer = (encode_event(frame, fault) for frame in answer_frames(dialect, reply))
    match fault:
        case "empty":
            return iter(())
        case "bytewise":
            return (bytes([byte]) for piece in answer for byte in piece)
        case "keepalive":
            return repeat(b": still here\n\n")
        case "huge_line":
            return iter([b"data: " + b"x" * 1_000_000 + b"\n\n"])
        case "gzip_bomb":
            return _gzip_bomb()
        case "bad_gzip":
            return _corrupt_gzip(islice(answer, reply.script.fault_after_chunks + 2))
        case "endless":
            more = (dialect.text_frames(f"{page}. {reply.answer * 50}") for page in count())
            return chain(answer, (encode_event(frame, "") for page in more for frame in page))
    return answer


def _corrupt_gzip(answer: Iterable[bytes]) -> Iterator[bytes]:
    compressor = zlib.compressobj(wbits=31)
    for piece in answer:
        yield compressor.compress(piece) + compressor.flush(zlib.Z_SYNC_FLUSH)
    yield b"\xff" * 64  # not a valid deflate block


def _gzip_bomb() -> Iterator[bytes]:
    compressor = zlib.compressobj(wbits=31)
    comment = b": " + b" " * 2**20 + b"\n"
    begin, more = (compressor.compress(comment) + compressor.flush(zlib.Z_FULL_FLUSH) for _ in range(2))
    yield begin
    # After a full flush the same input gives the same bytes, so it is compressed once.
    yield from repeat(more, 255)


def _error_response(dialect: Dialect, status: int, headers: dict[str, str], message: str) -> web.Response:
    code = 429 if status == 200 else status
    return web.Response(
        status=status,
        headers=headers,
        body=encode_frame(dialect.error_frame(code, message)),
        content_type="application/json",
    )


def _error_message(fault: str, call: ReceivedRequest) -> str:
    if fault in {"unauthorized", "forbidden"}:
        return f"Incorrect API key provided: {call.key}"
    is_limited = fault in {"retry_seconds", "retry_ms", "retry_date", "error_body"}
    return "Too many requests, slow down" if is_limited else "Something broke"


def _request_key(request: web.Request) -> str:
    bearer = request.headers.get("Authorization", "").removeprefix("Bearer ")
    return bearer or request.headers.get("x-api-key") or request.headers.get("x-goog-api-key") or ""


@asynccontextmanager
async def serve_provider(server: FakeProviderServer, port: int = 0) -> AsyncIterator[str]:
    """Serve on loopback and yield the URL. Port 0 takes a free port."""
    runner = web.AppRunner(server.create_app(), handler_cancellation=True, shutdown_timeout=0.2, access_log=None)
    await runner.setup()
    try:
        site = web.TCPSite(runner, "127.0.0.1", port)
        await site.start()
        bound: Any = runner.addresses[0]
        yield f"http://{bound[0]}:{bound[1]}"
    finally:
        await runner.cleanup()

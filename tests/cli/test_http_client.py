"""The client against a fake server that rejects, is busy, disconnects, stops and restarts."""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp
import msgspec
import pytest
from aiohttp import web

from moot.app.database_lock import lock_database
from moot.cli import http_client as module
from moot.cli.http_client import ApiClient, DiscussionList, ServerAddress, connect_to_server
from moot.settings import Settings
from moot.types.errors import ServerUnreachable, UsageError
from moot.types.events import Event, RunEnded, RunStarted
from tests.support.run_events import run_started, text_delta

RequestHandler = Callable[[web.Request], Awaitable[web.StreamResponse]]


class FakeServer:
    """Answers each call with the next handler. The last handler answers all further calls."""

    def __init__(self) -> None:
        self.handlers: list[RequestHandler] = []
        self.requests: list[web.Request] = []
        self.notices: list[str] = []
        self.url = ""

    async def handle(self, request: web.Request) -> web.StreamResponse:
        self.requests.append(request)
        answer = self.handlers.pop(0) if len(self.handlers) > 1 else self.handlers[0]
        return await answer(request)

    @asynccontextmanager
    async def connect_client(
        self, token: str | None = None, max_wait_seconds: float = 60.0
    ) -> AsyncIterator[ApiClient]:
        async with ApiClient(ServerAddress(self.url, token), self.notices.append, max_wait_seconds) as api:
            yield api


@pytest.fixture
async def server() -> AsyncIterator[FakeServer]:
    server = FakeServer()
    app = web.Application()
    app.router.add_route("*", "/{path:.*}", server.handle)
    runner = web.AppRunner(app)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    server.url = f"http://127.0.0.1:{runner.addresses[0][1]}"
    yield server
    await runner.cleanup()


def json_response(status: int, body: Any, **headers: str) -> RequestHandler:
    async def respond(_: web.Request) -> web.StreamResponse:
        sent = {name.replace("_", "-"): value for name, value in headers.items()}
        return web.Response(status=status, body=msgspec.json.encode(body), headers=sent)

    return respond


def event_stream_response(*events: Event, first_seq: int = 1, closes_connection: bool = False) -> RequestHandler:
    async def respond(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
        await response.prepare(request)
        await response.write(b": still here\n\n")
        for seq, event in enumerate(events, first_seq):
            data = msgspec.json.encode(msgspec.structs.replace(event, seq=seq))
            await response.write(b"id: %d\ndata: %s\n\n" % (seq, data))
        await response.write(b'data: {"type": "of_a_newer_server"}\n\n')
        if closes_connection and request.transport is not None:
            request.transport.close()
        return response

    return respond


EMPTY_DISCUSSION_LIST = json_response(200, {"discussions": []})


async def test_post_sends_token_and_idempotency_key(server: FakeServer) -> None:
    server.handlers = [EMPTY_DISCUSSION_LIST]
    async with server.connect_client("moot_x") as api:
        await api.post("/api/x", DiscussionList, {"a": 1})
    (call,) = server.requests
    assert call.headers["Authorization"] == "Bearer moot_x"
    assert call.headers["Content-Type"] == "application/json"
    assert call.headers["Idempotency-Key"]


async def test_error_response_raises_usage_error_with_server_message(server: FakeServer) -> None:
    server.handlers = [
        json_response(404, {"detail": "There is no discussion 'x'."}),
        json_response(400, {"detail": "mode: No.", "errors": [{"field": "mode", "message": "No."}]}),
        json_response(404, "not found"),
    ]
    async with server.connect_client() as api:
        for words in ("There is no discussion 'x'.", "No.", "Is this a Moot server?"):
            with pytest.raises(UsageError, match=words):
                await api.get("/api/x", DiscussionList)


async def test_unauthorized_response_names_token_variable(server: FakeServer) -> None:
    server.handlers = [json_response(401, {})]
    async with server.connect_client() as api:
        with pytest.raises(UsageError, match=r"rejected the login\. Set MOOT_TOKEN"):
            await api.check_connection()


async def test_request_is_retried_after_rate_limit(server: FakeServer) -> None:
    server.handlers = [json_response(429, {}, Retry_After="0"), EMPTY_DISCUSSION_LIST]
    async with server.connect_client() as api:
        assert (await api.get("/api/x", DiscussionList)).discussions == ()
    assert server.notices == ["The server is rate limiting. Retrying in 0 s."]


async def test_retry_of_unavailable_server_keeps_idempotency_key(server: FakeServer) -> None:
    server.handlers = [json_response(503, {}), json_response(503, {}), EMPTY_DISCUSSION_LIST]
    async with server.connect_client() as api:
        await api.post("/api/x", DiscussionList)
    assert len({call.headers["Idempotency-Key"] for call in server.requests}) == 1
    assert server.notices == ["The server does not answer. Retrying.", "The server is back."]


async def test_retries_end_after_max_wait_seconds(server: FakeServer) -> None:
    server.handlers = [json_response(503, {})]
    async with server.connect_client(max_wait_seconds=0.0) as api:
        with pytest.raises(ServerUnreachable, match="Continue with"):
            await api.get("/api/x", DiscussionList)


async def test_check_connection_fails_at_once_when_server_is_unreachable() -> None:
    async with ApiClient(ServerAddress("http://127.0.0.1:1", None), print) as api:
        with pytest.raises(ServerUnreachable, match="No server answers at http"):
            await api.check_connection()


async def test_stream_events_ends_with_run(server: FakeServer) -> None:
    server.handlers = [
        event_stream_response(run_started("a/one"), text_delta("alpha", "Yes."), RunEnded(status="completed"))
    ]
    async with server.connect_client() as api:
        received = [event async for events in api.stream_events("run_x") for event in events]
    assert [type(event).__name__ for event in received] == ["RunStarted", "TextDelta", "RunEnded"]
    assert server.notices == []


async def test_stream_events_resumes_after_last_seq_when_connection_breaks(server: FakeServer) -> None:
    server.handlers = [
        event_stream_response(run_started("a/one"), text_delta("alpha", "Yes, "), closes_connection=True),
        json_response(503, {}),
        event_stream_response(text_delta("alpha", "so."), RunEnded(status="completed"), first_seq=3),
    ]
    async with server.connect_client() as api:
        received = [event async for events in api.stream_events("run_x") for event in events]
    assert [event.seq for event in received] == [1, 2, 3, 4]
    assert [call.query["after"] for call in server.requests] == ["0", "2", "2"]
    assert server.notices == ["The server does not answer. Retrying.", "The server is back."]


async def test_stream_events_ends_on_no_content_response(server: FakeServer) -> None:
    server.handlers = [
        event_stream_response(run_started("a/one"), closes_connection=True),
        json_response(204, {}),
    ]
    async with server.connect_client() as api:
        received = [event async for events in api.stream_events("run_x") for event in events]
    assert [type(event) for event in received] == [RunStarted]


async def test_stream_events_rejects_unknown_run(server: FakeServer) -> None:
    server.handlers = [json_response(404, {"detail": "There is no run 'run_x'."})]
    async with server.connect_client() as api:
        with pytest.raises(UsageError, match="There is no run"):
            _ = [events async for events in api.stream_events("run_x")]


def test_connection_errors_exclude_http_error_responses() -> None:
    assert not issubclass(aiohttp.ClientResponseError, module.CONNECTION_ERRORS)


async def test_connect_to_server_uses_given_url_and_token() -> None:
    async with connect_to_server("https://moot.example/", Settings(), {"MOOT_TOKEN": "moot_x"}) as connection:
        assert connection == ServerAddress("https://moot.example", "moot_x", is_remote=True)
        assert connection.headers == {"Authorization": "Bearer moot_x"}


async def test_connect_to_server_sends_no_header_without_token() -> None:
    async with connect_to_server("https://moot.example", Settings(), {}) as connection:
        assert connection.headers == {}


@pytest.mark.parametrize("server", ["moot.example", "ftp://moot.example", "http://", ""])
async def test_connect_to_server_rejects_invalid_url(server: str) -> None:
    with pytest.raises(UsageError, match=r"not a URL\. Use one such as"):
        async with connect_to_server(server, Settings(), {}):
            pass


async def test_connect_to_server_uses_server_that_locks_database(tmp_path: Path) -> None:
    settings = Settings(database_url=f"sqlite:///{tmp_path / 'moot.db'}")
    with lock_database(tmp_path / "moot.db", "http://127.0.0.1:4711/"):
        async with connect_to_server(None, settings, {}) as connection:
            assert connection == ServerAddress("http://127.0.0.1:4711", None)


async def test_connect_to_server_rejects_server_that_is_starting(tmp_path: Path) -> None:
    settings = Settings(database_url=f"sqlite:///{tmp_path / 'moot.db'}")
    with lock_database(tmp_path / "moot.db", ""), pytest.raises(UsageError, match="is starting"):
        async with connect_to_server(None, settings, {}):
            pass

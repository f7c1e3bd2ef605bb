import asyncio
import logging
import socket
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
import uvicorn
from msgspec import Struct

from moot.app.startup import StartupApp
from moot.server import sse
from moot.server.auth import Revocations
from moot.server.sse import HEARTBEAT_FRAME, MAX_WRITE_BYTES, SseConnections, start_event_stream
from moot.store.accounts.accounts import Accounts
from moot.types.accounts import Caller
from moot.types.errors import Conflict, DatabaseUnavailable
from moot.types.streams import HEARTBEAT, BatchStream, Heartbeat
from tests.server.asgi_client import AsgiClient
from tests.support.databases import open_migrated_database

LOCAL = Caller(account="local", tenant="local", name="local", kind="local")


@pytest.fixture
async def accounts(tmp_path: Path) -> AsyncIterator[Accounts]:
    async with open_migrated_database("sqlite", tmp_path) as database:
        yield Accounts(database)


@pytest.fixture
def connections(accounts: Accounts) -> SseConnections:
    return SseConnections(Revocations(accounts))


def open_stream(
    connections: SseConnections,
    frames: BatchStream[bytes],
    client: AsgiClient,
    caller: Caller = LOCAL,
    opening_frame: bytes = b"",
    closing_frame: bytes = b"",
) -> "asyncio.Task[None]":
    respond = connections.stream_response(frames, caller, opening_frame, closing_frame).to_asgi_response()
    return asyncio.create_task(respond({"type": "http"}, client.receive, client.send))


async def frames(*batches: list[bytes] | Heartbeat) -> BatchStream[bytes]:
    for batch in batches:
        yield batch


async def endless(on_close: Callable[[], object] = bool) -> BatchStream[bytes]:
    """Send one frame, then wait forever. Call `on_close` when the stream is closed."""
    try:
        yield [b"first\n\n"]
        await asyncio.Event().wait()
    finally:
        on_close()


async def test_stream_sends_frames_in_batches_and_ends(
    connections: SseConnections,
) -> None:
    client = AsgiClient()
    await open_stream(connections, frames([b"1\n\n", b"2\n\n"], HEARTBEAT, [b"3\n\n"]), client)
    assert client.status == 200
    assert client.received_bodies == [HEARTBEAT_FRAME, b"1\n\n2\n\n", b"3\n\n"]
    assert client.response_finished
    assert len(connections) == 0


async def test_stream_starts_with_opening_frame(connections: SseConnections) -> None:
    client = AsgiClient()
    await open_stream(connections, frames([b"1\n\n"]), client, opening_frame=b"event: resync\n\n")
    assert client.received_bodies == [b"event: resync\n\n", b"1\n\n"]


async def test_idle_stream_sends_heartbeat(connections: SseConnections, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sse, "HEARTBEAT_SECONDS", 0.0)
    client = AsgiClient()
    await open_stream(connections, frames(HEARTBEAT, [b"1\n\n"], HEARTBEAT), client)
    assert client.received_bodies == [HEARTBEAT_FRAME, HEARTBEAT_FRAME, b"1\n\n", HEARTBEAT_FRAME]


async def test_large_batch_is_split_into_writes(connections: SseConnections) -> None:
    client = AsgiClient()
    many = [bytes([65 + place % 26]) * (MAX_WRITE_BYTES // 4) for place in range(10)]
    await open_stream(connections, frames(many), client)
    assert b"".join(client.received_bodies[1:]) == b"".join(many)
    assert [len(piece) for piece in client.received_bodies[1:]] == [
        MAX_WRITE_BYTES,
        MAX_WRITE_BYTES,
        MAX_WRITE_BYTES // 2,
    ]


async def test_disconnect_closes_frames_and_removes_connection(connections: SseConnections) -> None:
    client, closed = AsgiClient(), asyncio.Event()
    stream = open_stream(connections, endless(closed.set), client)
    await client.wait_for(b"first")
    assert len(connections) == 1
    client.disconnected.set()
    await stream
    assert closed.is_set()
    assert len(connections) == 0
    assert not client.response_finished, "the client has disconnected"


async def test_close_all_ends_streams_gracefully(connections: SseConnections) -> None:
    clients = [AsgiClient(), AsgiClient()]
    streams = [open_stream(connections, endless(), client) for client in clients]
    for client in clients:
        await client.wait_for(b"first")
    connections.close_all()
    await asyncio.gather(*streams)
    assert all(client.response_finished for client in clients)


async def test_closed_stream_sends_closing_frame_and_finished_stream_does_not(
    connections: SseConnections,
) -> None:
    client, whole = AsgiClient(), AsgiClient()
    cut = open_stream(connections, endless(), client, closing_frame=b"not whole\n\n")
    await client.wait_for(b"first")
    connections.close_all()
    await cut
    await open_stream(connections, frames([b"first\n\n"]), whole, closing_frame=b"not whole\n\n")
    assert client.received_bodies[-1] == b"not whole\n\n"
    assert whole.received_bodies[-1] == b"first\n\n"


async def test_stream_ends_when_credential_is_revoked(accounts: Accounts) -> None:
    account = await accounts.create_account("ada", "correct horse")
    owner = Caller(account=account.id, tenant=account.tenant, name="ada", kind="local")
    secret, token = await accounts.create_token(owner, "a reader")
    caller = await accounts.caller_of_token(secret)
    assert caller is not None
    revocations = Revocations(accounts)
    client = AsgiClient()
    stream = open_stream(SseConnections(revocations), endless(), client, caller)
    await client.wait_for(b"first")
    await revocations.check_credentials()
    assert not stream.done()
    await accounts.delete_token(account.id, token.id)
    await revocations.check_credentials()
    await stream
    assert client.response_finished


async def failing_frames(error: Exception) -> BatchStream[bytes]:
    yield [b"first\n\n"]
    raise error


async def test_unexpected_error_ends_stream_and_is_logged(
    connections: SseConnections, caplog: pytest.LogCaptureFixture
) -> None:
    client = AsgiClient()
    await open_stream(connections, failing_frames(RuntimeError("what was that?")), client)
    assert client.response_finished
    (error,) = [str(record.exc_info[1]) for record in caplog.records if record.exc_info]
    assert error == "what was that?"


async def test_unavailable_database_ends_stream_without_log(
    connections: SseConnections, caplog: pytest.LogCaptureFixture
) -> None:
    client = AsgiClient()
    await open_stream(connections, failing_frames(DatabaseUnavailable("away")), client)
    assert client.response_finished
    assert caplog.records == []


@asynccontextmanager
async def serve_app(app: Any) -> AsyncIterator[tuple[uvicorn.Server, int]]:
    """Serve an app with uvicorn, as `moot serve` does."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        gate = StartupApp()
        gate.attach_app(app)
        server = uvicorn.Server(uvicorn.Config(gate, lifespan="off", log_config=None, access_log=False))
        serving = asyncio.create_task(server.serve(sockets=[listener]))
        try:
            yield server, listener.getsockname()[1]
        finally:
            server.should_exit = True
            await serving


class FakeClock:
    """Replaces `time`: only the test advances it."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now = 0.0
        monkeypatch.setattr(sse, "time", self)

    def monotonic(self) -> float:
        return self.now


LARGE_BATCH = [b"data: " + b"x" * 10_000 + b"\n\n"] * 100


async def endless_batches() -> BatchStream[bytes]:
    while True:
        yield LARGE_BATCH


def open_unread_socket(port: int) -> socket.socket:
    """Request a stream and never read it."""
    sock = socket.socket()
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    sock.connect(("127.0.0.1", port))
    sock.sendall(b"GET / HTTP/1.1\r\nHost: here\r\n\r\n")
    sock.setblocking(False)
    return sock


async def test_stuck_connection_is_closed_with_bounded_buffer(
    accounts: Accounts, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.WARNING)
    clock = FakeClock(monkeypatch)
    readers = SseConnections(Revocations(accounts), stuck_seconds=0.5)

    async def app(scope: Any, receive: Any, send: Any) -> None:
        await readers.stream_response(endless_batches(), LOCAL).to_asgi_response()(scope, receive, send)

    checker = asyncio.create_task(readers.close_stuck_connections())
    async with serve_app(app) as (server, port):
        stuck = [open_unread_socket(port) for _ in range(5)]
        async with asyncio.timeout(60):
            while len(readers) < len(stuck):
                await asyncio.sleep(0.01)
            waiting = [0]
            while not all(waiting):
                waiting = [one.transport.get_write_buffer_size() for one in server.server_state.connections]
                await asyncio.sleep(0.01)
            for _ in range(50):  # an unbounded buffer would keep growing
                waiting += [one.transport.get_write_buffer_size() for one in server.server_state.connections]
                await asyncio.sleep(0.01)
            clock.now += 1.0
            while len(readers):
                await asyncio.sleep(0.01)
        assert max(waiting) < 4 * MAX_WRITE_BYTES, "what they were never going to read was not kept"
        while server.server_state.connections:
            await asyncio.sleep(0.01)
        for sock in stuck:
            sock.close()
    checker.cancel()
    assert caplog.records == []


async def test_slow_connection_is_not_closed(accounts: Accounts, monkeypatch: pytest.MonkeyPatch) -> None:
    clock = FakeClock(monkeypatch)
    monkeypatch.setattr(sse, "STUCK_CHECKS", 60_000)  # one each millisecond
    readers = SseConnections(Revocations(accounts), stuck_seconds=60.0)
    sent = 8 * 1024 * 1024

    async def app(scope: Any, receive: Any, send: Any) -> None:
        async def send_slowly(message: Any) -> None:
            clock.now += 40.0
            await asyncio.sleep(0.002)
            await send(message)

        batches = frames(*([b"x" * 1024] * 1024 for _ in range(8)))
        await readers.stream_response(batches, LOCAL).to_asgi_response()(scope, receive, send_slowly)

    checker = asyncio.create_task(readers.close_stuck_connections())
    async with serve_app(app) as (_, port):
        reader, writer = await asyncio.open_connection("127.0.0.1", port, limit=64 * 1024)
        writer.write(b"GET / HTTP/1.1\r\nHost: here\r\nConnection: close\r\n\r\n")
        received = 0
        while piece := await reader.read(512 * 1024):
            received += len(piece)
        assert received > sent
        writer.close()
    checker.cancel()


class Step(Struct, tag_field="type", tag="step"):
    number: int


async def steps(count: int, closed: list[bool]) -> AsyncGenerator[Struct, None]:
    try:
        for number in range(count):
            yield Step(number)
            await asyncio.sleep(0)
    finally:
        closed.append(True)


async def test_event_stream_encodes_events_until_work_ends() -> None:
    closed: list[bool] = []
    batches = [frames async for frames in await start_event_stream(steps(2, closed))]
    assert batches == [[b'data: {"type":"step","number":0}\n\n'], [b'data: {"type":"step","number":1}\n\n']]
    assert closed == [True]


async def test_event_stream_raises_early_error_before_response() -> None:
    async def refused() -> AsyncGenerator[Struct, None]:
        raise Conflict("Not now.")
        yield Step(0)

    with pytest.raises(Conflict):
        await start_event_stream(refused())


async def test_event_stream_yields_heartbeat_while_idle(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sse, "IDLE_POLL_SECONDS", 0.001)
    goes_on = asyncio.Event()

    async def slow() -> AsyncGenerator[Struct, None]:
        yield Step(0)
        await goes_on.wait()
        yield Step(1)

    frames = await start_event_stream(slow())
    assert len(await anext(frames)) == 1
    assert await anext(frames) is HEARTBEAT
    goes_on.set()
    async for batch in frames:
        if batch is not HEARTBEAT:
            assert batch == [b'data: {"type":"step","number":1}\n\n']


async def test_cancelled_event_stream_cancels_work_and_awaits_cleanup() -> None:
    ended: list[str] = []

    async def work() -> AsyncGenerator[Struct, None]:
        yield Step(0)
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            await asyncio.sleep(0.01)  # time to record the charge
            ended.append("paid")
            raise
        finally:
            ended.append("let go")

    frames = await start_event_stream(work())
    await anext(frames)
    reading = asyncio.ensure_future(anext(frames))
    await asyncio.sleep(0.01)
    reading.cancel()
    await asyncio.gather(reading, return_exceptions=True)
    assert ended == ["paid", "let go"]


async def test_closed_event_stream_closes_work_between_events() -> None:
    closed: list[bool] = []
    frames = await start_event_stream(steps(5, closed))
    await anext(frames)
    await frames.aclose()
    assert closed == [True]


async def test_event_stream_propagates_error() -> None:
    async def broken() -> AsyncGenerator[Struct, None]:
        yield Step(0)
        raise ZeroDivisionError

    frames = await start_event_stream(broken())
    await anext(frames)
    with pytest.raises(ZeroDivisionError):
        await anext(frames)

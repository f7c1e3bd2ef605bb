import asyncio
import logging
import os
import signal
import socket
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import aclosing
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import aiohttp
import pytest

from moot.app.lifecycle import Worker
from moot.cli import serve
from moot.types.errors import DatabaseUnavailable
from tests.support.moot_process import MootCli, usage_error_text
from tests.support.moot_server import POLL_SECONDS, SERVER_TIMEOUT_SECONDS, MootServer, run_moot_server
from tests.support.stateless_requests import MIRA, chat_request

SCRIPTS = """\
[measured]
answer = "A moot is a meeting at which things are discussed."
chunk_chars = 4
chunk_interval_seconds = 0.3
[unending]
answer = "A moot is a meeting. "
fault = "endless"
chunk_interval_seconds = 0.05
"""
NEW_DISCUSSION = {"message": "What is a moot?", "participants": ["scripted/measured"]}
SILENT_DISCUSSION = {"message": "What is a moot?", "participants": ["scripted/silence"]}


@pytest.fixture
async def server(tmp_path: Path) -> AsyncIterator[MootServer]:
    (tmp_path / "talk.toml").write_text(SCRIPTS, "utf-8")
    async with run_moot_server(tmp_path, settings='[providers.scripted]\nscript = "talk.toml"\n') as server:
        yield server


async def start_run(server: MootServer, body: Any) -> str:
    """Create a discussion, and wait until its run has started."""
    run: str = (await server.post("/api/discussions", body)).body["run"]["id"]
    async with aclosing(server.events(f"/api/runs/{run}/events")) as frames:
        async for frame in frames:
            if frame.data["type"] == "turn_started":
                return run
    raise AssertionError("it did not begin")


async def wait_for_resume(server: MootServer, run: str) -> None:
    """Wait until an interrupted run resumes."""
    async with (
        asyncio.timeout(SERVER_TIMEOUT_SECONDS),
        aclosing(server.events(f"/api/runs/{run}/events")) as frames,
    ):
        async for frame in frames:
            if frame.data.get("kind") == "resumed":
                return
    raise AssertionError("it did not go on")


@pytest.mark.parametrize("word", [signal.SIGTERM, signal.SIGINT])
async def test_server_exits_on_signal(server: MootServer, word: signal.Signals) -> None:
    assert (await server.get("/healthz")).text == "ok"
    server.running_process.send_signal(word)
    assert await server.wait_for_exit() == 0
    assert server.read_log().count("\n") == 1, "all is well, so there is nothing to say"


@pytest.mark.slow
async def test_server_keeps_idle_connection_longer_than_clients(server: MootServer) -> None:
    """A server that closes first loses the request that a client sends at the same moment."""
    made: list[str] = []

    async def record_connection(*_: object) -> None:
        made.append("a connection")

    trace = aiohttp.TraceConfig()
    trace.on_connection_create_end.append(record_connection)
    connector = aiohttp.TCPConnector(keepalive_timeout=60)
    async with aiohttp.ClientSession(server.url, connector=connector, trace_configs=[trace]) as client:
        for pause in (0, 6):  # uvicorn's own limit is 5 seconds
            await asyncio.sleep(pause)
            async with client.get("/healthz") as reply:
                assert await reply.text() == "ok"
    assert made == ["a connection"]


async def test_draining_server_finishes_runs_and_rejects_new_ones(server: MootServer) -> None:
    run = await start_run(server, NEW_DISCUSSION)
    reading = asyncio.create_task(server.run_events(run))
    async with aclosing(server.events("/api/events")) as changes:
        await anext(changes)
        server.running_process.send_signal(signal.SIGTERM)
        refused = await server.post("/api/discussions", NEW_DISCUSSION)
        while refused.status == 201:  # it has not handled the signal yet
            refused = await server.post("/api/discussions", NEW_DISCUSSION)
        assert (refused.status, refused.headers["Retry-After"]) == (503, "2")
        assert (await reading)[-1]["status"] == "completed"
        async for _ in changes:
            pass  # an incomplete stream would raise
    assert await server.wait_for_exit() == 0


async def test_draining_server_interrupts_stateless_turn(server: MootServer) -> None:
    events = []
    asked = chat_request(MIRA, model="scripted/unending")
    async for frame in server.events("/api/stateless/chat", body=asked):
        events.append(frame.event)
        if events.count("text_delta") == 1 and frame.event == "text_delta":
            server.running_process.send_signal(signal.SIGTERM)
    assert events[-2:] == ["agent_end", "error"]
    assert frame.data["data"]["message"] == "Request interrupted"
    assert await server.wait_for_exit() == 0
    assert server.read_log().count("\n") == 1, "nothing is left over"


async def test_second_signal_ends_drain_and_next_server_resumes_run(server: MootServer) -> None:
    run = await start_run(server, SILENT_DISCUSSION)
    server.running_process.send_signal(signal.SIGTERM)
    refused = await server.post("/api/discussions", SILENT_DISCUSSION)
    while refused.status != 503:
        refused = await server.post("/api/discussions", SILENT_DISCUSSION)
    server.running_process.send_signal(signal.SIGTERM)
    assert await server.wait_for_exit() == 0
    assert "unfinished runs released" in server.read_log()

    await server.start()
    await wait_for_resume(server, run)
    assert (await server.get(f"/api/runs/{run}")).body["status"] == "running"
    await server.post(f"/api/runs/{run}/stop")
    assert (await server.run_events(run))[-1]["status"] == "stopped"


class FakeWorker:
    """A worker without runs, whose `shut_down` comes from the test."""

    def __init__(self, shut_down: Callable[[], Awaitable[object]]) -> None:
        self.shut_down = shut_down
        self.engine = SimpleNamespace(run_manager=SimpleNamespace(executions={}))


async def raise_database_unavailable() -> None:
    raise DatabaseUnavailable("The database is away.")


async def wait_forever() -> None:
    await asyncio.Event().wait()


@pytest.mark.parametrize("leave", [raise_database_unavailable, wait_forever])
async def test_server_exits_with_0_when_database_is_unavailable(
    leave: Callable[[], Awaitable[object]], monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    codes: list[int] = []
    monkeypatch.setattr(serve, "SHUTDOWN_SECONDS", 0.01)
    monkeypatch.setattr(os, "_exit", codes.append)
    monkeypatch.setattr(logging, "shutdown", lambda: codes.append(-1))
    async with asyncio.timeout(SERVER_TIMEOUT_SECONDS):
        await serve._release_unfinished_runs(cast("Worker", FakeWorker(leave)))
    assert codes == [-1, 0], "what was logged is written first"
    assert [record.getMessage() for record in caplog.records] == [
        "database unavailable; runs are released when the worker lease expires",
        "unfinished runs released",
    ]


async def test_second_server_on_same_database_file_is_rejected(server: MootServer) -> None:
    words = usage_error_text(await asyncio.to_thread(server.moot, "serve", "--port", "0"))
    assert words.startswith("Another moot serve uses ")
    assert "Postgres" in words
    assert (await server.get("/readyz")).status == 200


async def test_server_rejects_foreign_host_and_origin(server: MootServer) -> None:
    for headers in (
        {"Host": "evil.example"},
        {"Origin": "https://evil.example"},
        {"Sec-Fetch-Site": "cross-site"},
    ):
        reply = await server.post("/api/discussions", NEW_DISCUSSION, headers)
        assert (reply.status, reply.headers["Content-Type"]) == (403, "application/problem+json")
    assert (await server.get("/api/discussions")).body["discussions"] == []


async def test_server_requires_login_when_not_on_loopback(tmp_path: Path) -> None:
    server = MootServer(tmp_path, host="0.0.0.0")
    try:
        await server.start()
        reply = await server.get("/api/discussions")
        assert (reply.status, "/api/login" in reply.body["detail"]) == (401, True)
        assert "moot user add" in server.read_log()
        assert f"open http://localhost:{server.url.rpartition(':')[2]}/ in a browser" in server.read_log()
        page = await server.get("/")  # it needs no login
        assert page.status in {200, 503}, "it may not have been built here"
        assert page.headers["Content-Security-Policy"].startswith("default-src 'none'; script-src 'self';")
    finally:
        await server.close()


def make_fake_browser(folder: Path, code: int = 0) -> str:
    """Make a browser that writes the URL to a file."""
    script = folder / "browser"
    script.write_text(f'#!/bin/sh\necho "$1" > "{folder}/opened"\nexit {code}\n', "utf-8")
    script.chmod(0o700)
    return f"{script} %s"


def read_opened_url(folder: Path) -> str:
    return (folder / "opened").read_text("utf-8") if (folder / "opened").exists() else ""


async def test_open_option_opens_browser(tmp_path: Path) -> None:
    server = MootServer(tmp_path, BROWSER=make_fake_browser(tmp_path))
    server.arguments.append("--open")
    try:
        await server.start()
        async with asyncio.timeout(SERVER_TIMEOUT_SECONDS):
            while read_opened_url(tmp_path) != f"{server.url}/\n":
                await asyncio.sleep(POLL_SECONDS)
        assert await server.terminate() == 0
        assert server.read_log().count("\n") == 1
    finally:
        await server.close()


async def test_open_option_logs_url_when_browser_fails(tmp_path: Path) -> None:
    server = MootServer(tmp_path, BROWSER=make_fake_browser(tmp_path, code=1), PATH=str(tmp_path))
    server.arguments.append("--open")
    try:
        await server.start()
        async with asyncio.timeout(SERVER_TIMEOUT_SECONDS):
            while f"Open {server.url}/ yourself" not in server.read_log():
                await asyncio.sleep(POLL_SECONDS)
    finally:
        await server.close()


def test_port_in_use_is_reported(moot: MootCli) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        words = usage_error_text(moot("serve", "--port", port, XDG_DATA_HOME=str(moot.folder)))
    assert words.startswith(f"Cannot listen on 127.0.0.1, port {port}: ")
    assert words.endswith(": Address already in use. Choose another port with --port.")


@pytest.mark.parametrize(
    ("arguments", "environment", "words"),
    [
        (("--host", "nobody.invalid"), {}, "Cannot listen on nobody.invalid"),
        (("--host", "0.0.0.0"), {"MOOT_AUTH": "local"}, "`local` allows only a loopback --host"),
        ((), {"MOOT_DATABASE_URL": "mysql://here"}, "MOOT_DATABASE_URL must begin with"),
        ((), {"MOOT_SECRET": "changeme"}, "too easy to guess"),
        ((), {"MOOT_AUTH": "nobody"}, "MOOT_"),
        ((), {"MOOT_WORKER_LEASE_SECONDS": "soon"}, "MOOT_"),
    ],
)
def test_invalid_configuration_is_reported_in_one_line(
    moot: MootCli, arguments: tuple[str, ...], environment: dict[str, str], words: str
) -> None:
    error = usage_error_text(moot("serve", "--port", "0", *arguments, XDG_DATA_HOME=str(moot.folder), **environment))
    assert words in error


def test_changed_secret_is_rejected(moot: MootCli) -> None:
    data, first, other = (
        str(moot.folder),
        "8Zq1vW0nT5yRk3LxPb7cJd9mHs2gFa4u",
        "Qw7eRt5yUi3oPa1sDf9gHj2kLz4xCv6b",
    )
    with moot.start_process("serve", "--port", "0", XDG_DATA_HOME=data, MOOT_SECRET=first) as process:
        assert process.stderr
        assert b"listening" in process.stderr.readline()
    error = usage_error_text(moot("serve", "--port", "0", XDG_DATA_HOME=data, MOOT_SECRET=other))
    assert "another secret" in error

"""A real server, called with the official client, in the current and in the previous protocol."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import suppress
from pathlib import Path

import pytest
import pytest_asyncio
from mcp import Client, MCPError
from mcp.client.client import ConnectMode

from moot import __version__
from tests.support.databases import database_url
from tests.support.drain_timeout import shorten_drain_timeout
from tests.support.mcp_calls import (
    ASK_ARGUMENTS,
    SILENT_ASK_ARGUMENTS,
    STEADY_ANSWER,
    ProgressRecorder,
    result_text,
)
from tests.support.moot_server import POLL_SECONDS, SERVER_TIMEOUT_SECONDS, MootServer, run_moot_server

pytestmark = pytest.mark.asyncio(loop_scope="module")

MODES: tuple[ConnectMode, ...] = ("auto", "legacy")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def server(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[MootServer]:
    """One server for all tests. Only the last test changes it."""
    server = MootServer(tmp_path_factory.mktemp("server"))
    server.prepare = shorten_drain_timeout
    try:
        await server.start()
        yield server
    finally:
        await server.close()


async def test_mcp_client_asks_gets_progress_and_reads_discussions(server: MootServer) -> None:
    await _check_ask_and_read(server)


@pytest.mark.slow
async def test_mcp_server_answers_a_client_on_postgres(tmp_path: Path) -> None:
    async with database_url("postgres", tmp_path) as url, run_moot_server(tmp_path, url) as server:
        await _check_ask_and_read(server)


async def _check_ask_and_read(server: MootServer) -> None:
    for mode in MODES:
        recorder = ProgressRecorder()
        async with Client(f"{server.url}/mcp", mode=mode) as client:
            assert client.server_info is not None
            assert (client.server_info.name, client.server_info.version) == ("moot", __version__)
            offered = (await client.list_tools()).tools
            assert "ask" in [tool.name for tool in offered]
            asked = await client.call_tool("ask", ASK_ARGUMENTS, progress_callback=recorder)
            assert not asked.is_error
            assert "## Alpha (scripted/echo)\n\nWhat is a moot?" in result_text(asked)
            assert STEADY_ANSWER in result_text(asked)
            assert asked.structured_content is not None
            assert [one["name"] for one in asked.structured_content["answers"]] == ["Alpha", "Beta"]
            id = asked.structured_content["discussion"]
            assert STEADY_ANSWER in result_text(await client.call_tool("read_discussion", {"discussion": id}))
            assert id in result_text(await client.call_tool("list_discussions", {"q": "moot"}))
            again = await client.call_tool("ask", {"question": "And now?", "discussion": id})
            assert again.structured_content is not None
            assert again.structured_content["discussion"] == id
        assert "Alpha is asked (scripted/echo)." in [words for _, words in recorder.reports]
        numbers = [progress for progress, _ in recorder.reports]
        assert numbers == sorted(set(numbers))


async def test_tool_failures_are_returned_as_tool_errors(server: MootServer) -> None:
    async with Client(f"{server.url}/mcp") as client:
        reply = await client.call_tool("ask", {"question": "What is a moot?"})
        assert (reply.is_error, result_text(reply)) == (
            True,
            "Name exactly one of preset, models and discussion.",
        )
        strange = await client.call_tool("shout", {})
        assert strange.is_error
        failed = await client.call_tool("ask", {"question": "Hm?", "models": ["scripted/unauthorized"]})
        assert failed.is_error
        assert "[failed: " in result_text(failed)
        assert "Discussion dis_" in result_text(failed)


async def test_cancelled_tool_call_stops_run(server: MootServer) -> None:
    for mode in MODES:
        async with Client(f"{server.url}/mcp", mode=mode) as client:
            recorder = ProgressRecorder()
            asking = asyncio.create_task(client.call_tool("ask", SILENT_ASK_ARGUMENTS, progress_callback=recorder))
            async with asyncio.timeout(SERVER_TIMEOUT_SECONDS):
                await recorder.started.wait()
            assert len((await server.get("/api/activity")).body) == 1
            asking.cancel()
            with suppress(asyncio.CancelledError):
                await asking
            await _wait_until(lambda: _has_no_active_run(server))


async def test_shutdown_closes_mcp_connection_and_keeps_run_for_next_server(server: MootServer) -> None:
    async with Client(f"{server.url}/mcp", mode="legacy") as client:
        recorder = ProgressRecorder()
        asking = asyncio.create_task(client.call_tool("ask", SILENT_ASK_ARGUMENTS, progress_callback=recorder))
        async with asyncio.timeout(SERVER_TIMEOUT_SECONDS):
            await recorder.started.wait()
        assert await server.terminate() == 0
        with pytest.raises(MCPError):
            await asking
    await server.start()
    assert len((await server.get("/api/activity")).body) == 1


async def _has_no_active_run(server: MootServer) -> bool:
    return not (await server.get("/api/activity")).body


async def _wait_until(condition: Callable[[], Awaitable[bool]]) -> None:
    async with asyncio.timeout(SERVER_TIMEOUT_SECONDS):
        while not await condition():
            await asyncio.sleep(POLL_SECONDS)

"""`moot mcp` as a process, called with the official client: alone, and with a server."""

import asyncio
import subprocess
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import pytest
from mcp import Client, StdioServerParameters
from mcp.client import stdio

from tests.support.databases import write_migrated_database
from tests.support.fork_server import install_client
from tests.support.mcp_calls import (
    ASK_ARGUMENTS,
    SILENT_ASK_ARGUMENTS,
    STEADY_ANSWER,
    ProgressRecorder,
    result_text,
)
from tests.support.moot_process import TIMEOUT_SECONDS, MootCli, usage_error_text
from tests.support.moot_server import POLL_SECONDS, run_moot_server


@pytest.fixture
def moot_with_database(tmp_path: Path) -> MootCli:
    moot = MootCli(tmp_path)
    moot.environment["XDG_DATA_HOME"] = str(tmp_path / "data")
    write_migrated_database(tmp_path / "data" / "moot")
    return moot


@pytest.fixture(autouse=True)
def long_termination_timeout(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make the client wait until the process ends by itself: a slow machine needs more than two seconds."""
    monkeypatch.setattr(stdio, "PROCESS_TERMINATION_TIMEOUT", TIMEOUT_SECONDS)


@asynccontextmanager
async def connect_mcp_client(moot: MootCli) -> AsyncIterator[Client]:
    script = install_client(moot.folder) / "moot"
    command = StdioServerParameters(command=str(script), args=["mcp"], env=dict(moot.environment), cwd=moot.folder)
    async with Client(command) as client:
        yield client


async def test_mcp_starts_own_services_without_server(moot_with_database: MootCli) -> None:
    recorder = ProgressRecorder()
    async with connect_mcp_client(moot_with_database) as client:
        asked = await client.call_tool("ask", ASK_ARGUMENTS, progress_callback=recorder)
        assert STEADY_ANSWER in result_text(asked)
        assert "Alpha is asked (scripted/echo)." in [words for _, words in recorder.reports]
        recorder = ProgressRecorder()
        asking = asyncio.create_task(client.call_tool("ask", SILENT_ASK_ARGUMENTS, progress_callback=recorder))
        async with asyncio.timeout(TIMEOUT_SECONDS):
            await recorder.started.wait()
        asking.cancel()
        with suppress(asyncio.CancelledError):
            await asking
        assert asked.structured_content is not None
        newest = (await client.call_tool("list_discussions", {"limit": 1})).structured_content
        assert newest is not None
        id = newest["discussions"][0]["id"]
        async with asyncio.timeout(TIMEOUT_SECONDS):
            while "topped" not in result_text(await client.call_tool("read_discussion", {"discussion": id})):
                await asyncio.sleep(POLL_SECONDS)
    async with connect_mcp_client(moot_with_database) as client:
        discussion = await client.call_tool("read_discussion", {"discussion": asked.structured_content["discussion"]})
        assert STEADY_ANSWER in result_text(discussion)


async def test_mcp_proxies_to_running_server(tmp_path: Path) -> None:
    async with run_moot_server(tmp_path) as server, connect_mcp_client(server.moot) as client:
        asked = await client.call_tool("ask", ASK_ARGUMENTS)
        assert asked.structured_content is not None
        id = asked.structured_content["discussion"]
        assert (await server.get(f"/api/discussions/{id}")).status == 200
        missing = await client.call_tool("read_discussion", {"discussion": "dis_x"})
        assert (missing.is_error, result_text(missing)) == (True, "There is no discussion 'dis_x'.")


async def test_mcp_rejects_missing_or_wrong_token(tmp_path: Path) -> None:
    async with run_moot_server(tmp_path, MOOT_AUTH="accounts") as server:
        for token in ("", "moot_wrong"):
            done = await asyncio.to_thread(server.moot, "mcp", "--server", server.url, MOOT_TOKEN=token)
            assert "rejected the login. Set MOOT_TOKEN" in usage_error_text(done)


def test_mcp_writes_only_json_rpc_to_stdout(moot_with_database: MootCli) -> None:
    with moot_with_database.start_process("mcp", stdin=subprocess.PIPE) as process:
        out, _ = process.communicate(b"this is no JSON\n", timeout=TIMEOUT_SECONDS)
    assert all(line.startswith(b'{"jsonrpc"') for line in out.splitlines())
    assert process.returncode == 0


def test_mcp_reports_unreachable_server(moot_with_database: MootCli) -> None:
    done = moot_with_database("mcp", "--server", "http://127.0.0.1:1")
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == "moot: No server answers at http://127.0.0.1:1. Is `moot serve` running there?\n"

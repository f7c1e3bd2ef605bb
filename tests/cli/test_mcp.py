"""`moot mcp` as a process, called with the official client: in a house of its own, and beside a server."""

import asyncio
import subprocess
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import pytest
from mcp import Client, StdioServerParameters
from mcp.client import stdio

from tests.calling import ASKED, SILENT, STEADY, Progress, text
from tests.cli.process import SECONDS, Moot, complaint
from tests.databases import write_migrated
from tests.fork_server import install_client
from tests.serving import LOOK_SECONDS, serving


@pytest.fixture
def house(tmp_path: Path) -> Moot:
    moot = Moot(tmp_path)
    moot.environment["XDG_DATA_HOME"] = str(tmp_path / "data")
    write_migrated(tmp_path / "data" / "moot")
    return moot


@pytest.fixture(autouse=True)
def patient_client(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the client wait until the process has ended by itself: a slow machine needs more than two seconds."""
    monkeypatch.setattr(stdio, "PROCESS_TERMINATION_TIMEOUT", SECONDS)


@asynccontextmanager
async def connected(moot: Moot) -> AsyncIterator[Client]:
    script = install_client(moot.folder) / "moot"
    command = StdioServerParameters(
        command=str(script), args=["mcp"], env=dict(moot.environment), cwd=moot.folder
    )
    async with Client(command) as client:
        yield client


async def test_without_a_server_it_has_a_house_of_its_own(house: Moot) -> None:
    hear = Progress()
    async with connected(house) as client:
        asked = await client.call_tool("ask", ASKED, progress_callback=hear)
        assert STEADY in text(asked)
        assert "Alpha is asked (scripted/echo)." in [words for _, words in hear.told]
        hear = Progress()
        asking = asyncio.create_task(client.call_tool("ask", SILENT, progress_callback=hear))
        async with asyncio.timeout(SECONDS):
            await hear.begun.wait()
        asking.cancel()
        with suppress(asyncio.CancelledError):
            await asking
        assert asked.structured_content is not None
        newest = (await client.call_tool("list_discussions", {"limit": 1})).structured_content
        assert newest is not None
        id = newest["discussions"][0]["id"]
        async with asyncio.timeout(SECONDS):
            while "topped" not in text(await client.call_tool("read_discussion", {"discussion": id})):
                await asyncio.sleep(LOOK_SECONDS)
    async with connected(house) as client:
        kept = await client.call_tool(
            "read_discussion", {"discussion": asked.structured_content["discussion"]}
        )
        assert STEADY in text(kept)


async def test_beside_a_server_it_is_that_servers_face(tmp_path: Path) -> None:
    async with serving(tmp_path) as server, connected(server.moot) as client:
        asked = await client.call_tool("ask", ASKED)
        assert asked.structured_content is not None
        id = asked.structured_content["discussion"]
        assert (await server.get(f"/api/discussions/{id}")).status == 200
        missing = await client.call_tool("read_discussion", {"discussion": "dis_x"})
        assert (missing.is_error, text(missing)) == (True, "There is no discussion 'dis_x'.")


async def test_a_named_server_wants_a_token(tmp_path: Path) -> None:
    async with serving(tmp_path, MOOT_AUTH="accounts") as server:
        for token in ("", "moot_wrong"):
            done = await asyncio.to_thread(server.moot, "mcp", "--server", server.url, MOOT_TOKEN=token)
            assert "does not let you in: set MOOT_TOKEN" in complaint(done)


def test_nothing_but_mcp_is_written_to_standard_output(house: Moot) -> None:
    with house.running("mcp", stdin=subprocess.PIPE) as process:
        out, _ = process.communicate(b"this is no JSON\n", timeout=SECONDS)
    assert all(line.startswith(b'{"jsonrpc"') for line in out.splitlines())
    assert process.returncode == 0


def test_a_server_that_is_not_there_is_told(house: Moot) -> None:
    done = house("mcp", "--server", "http://127.0.0.1:1")
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == "moot: Nobody answers at http://127.0.0.1:1: is `moot serve` running there?\n"

import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse, RedirectResponse, Response
from starlette.routing import Route

from moot.tools.mcp import McpToolbox
from moot.tools.mcp_transports import open_stdio_transport
from moot.types.errors import FeatureUnavailable
from tests.support.tool_servers import http_toolbox, serve_app, serve_http_tools, stdio_toolbox

CANARY = "Bearer sk-canary-0123456789"


async def test_local_http_server_is_rejected_unless_allowed() -> None:
    async with serve_http_tools() as url:
        toolbox = http_toolbox(url, allow_private_hosts=False)
        with pytest.raises(FeatureUnavailable, match=r"127\.0\.0\.1 is in a private network"):
            await toolbox.list_tools()
        assert (await toolbox.call_tool("look_up", {"word": "moot"})).is_error
        await toolbox.aclose()


async def test_host_name_is_resolved_when_connecting(monkeypatch: pytest.MonkeyPatch) -> None:
    async def found(host: str, port: int) -> str:
        asked.append((host, port))
        return "127.0.0.1"

    asked: list[tuple[str, int]] = []
    monkeypatch.setattr("moot.tools.mcp_transports.public_address", found)
    async with serve_http_tools() as url:
        port = url.rpartition(":")[2].partition("/")[0]
        toolbox = http_toolbox(f"http://tools.example:{port}/mcp", allow_private_hosts=False)
        with pytest.raises(FeatureUnavailable):  # the request arrives, but the server rejects the host name
            await toolbox.list_tools()
        await toolbox.aclose()
    assert set(asked) == {("tools.example", int(port))}


async def test_redirects_are_not_followed() -> None:
    called: list[str] = []

    async def inside(request: Request) -> Response:
        called.append(str(request.url))
        return PlainTextResponse("secret")

    async with serve_app(Starlette(routes=[Route("/{rest:path}", inside, methods=["GET", "POST"])])) as other:

        async def redirect(_: Request) -> Response:
            return RedirectResponse(f"{other}/admin", 307)

        app = Starlette(routes=[Route("/mcp", redirect, methods=["GET", "POST", "DELETE"])])
        async with serve_app(app) as url:
            toolbox = http_toolbox(f"{url}/mcp")
            with pytest.raises(FeatureUnavailable):
                await toolbox.list_tools()
            await toolbox.aclose()
    assert called == []


async def test_error_redacts_headers_echoed_by_server() -> None:
    async def echo(request: Request) -> Response:
        return PlainTextResponse(f"no: {request.headers['authorization']}", 403)

    app = Starlette(routes=[Route("/mcp", echo, methods=["GET", "POST", "DELETE"])])
    async with serve_app(app) as url:
        toolbox = http_toolbox(f"{url}/mcp", {"Authorization": CANARY})
        with pytest.raises(FeatureUnavailable) as refused:
            await toolbox.list_tools()
        await toolbox.aclose()
    assert "canary" not in str(refused.value)


async def test_one_megabyte_result_arrives_in_event_stream() -> None:
    much = "x" * 2**20
    results: dict[str, Any] = {
        "initialize": {
            "protocolVersion": "2025-06-18",
            "capabilities": {"tools": {}},
            "serverInfo": {"name": "older", "version": "1"},
        },
        "tools/list": {"tools": [{"name": "much", "inputSchema": {"type": "object"}}]},
        "tools/call": {"content": [{"type": "text", "text": much}]},
    }

    async def answer(request: Request) -> Response:
        asked = await request.json()
        if "id" not in asked:
            return Response(status_code=202)
        found = results.get(asked["method"])
        payload = {"result": found} if found else {"error": {"code": -32601, "message": "Method not found"}}
        data = json.dumps({"jsonrpc": "2.0", "id": asked["id"], **payload})
        return Response(f"event: message\ndata: {data}\n\n", media_type="text/event-stream")

    async with serve_app(Starlette(routes=[Route("/mcp", answer, methods=["POST"])])) as url:
        toolbox = http_toolbox(f"{url}/mcp")
        outcome = await toolbox.call_tool("much", {})
        await toolbox.aclose()
    assert (outcome.is_error, len(outcome.content)) == (False, 2**20)


async def test_unreachable_http_server_is_unavailable() -> None:
    async with serve_app(Starlette()) as url:
        pass
    toolbox = http_toolbox(f"{url}/mcp")
    port = url.rpartition(":")[2]
    words = rf"The tool server test cannot be reached: there is no connection to 127\.0\.0\.1, port {port}: .+\.$"
    with pytest.raises(FeatureUnavailable, match=words):
        await toolbox.list_tools()
    await toolbox.aclose()


async def test_stdio_server_gets_only_configured_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NOTES", str(tmp_path / "ours"))
    toolbox = stdio_toolbox()
    await toolbox.call_tool("write_down", {"text": "one"})
    await toolbox.aclose()
    assert not (tmp_path / "ours").exists()
    toolbox = stdio_toolbox(NOTES=str(tmp_path / "its"))
    await toolbox.call_tool("write_down", {"text": "two"})
    await toolbox.aclose()
    assert (tmp_path / "its").read_text() == "two\n"


async def test_missing_command_is_unavailable() -> None:
    toolbox = McpToolbox("test", lambda: open_stdio_transport([os.devnull], {}))
    with pytest.raises(FeatureUnavailable, match="The command of the tool server test cannot be run"):
        await toolbox.list_tools()


async def test_stderr_of_server_that_dies_at_start_is_logged_without_secrets(
    caplog: pytest.LogCaptureFixture,
) -> None:
    dies = "import os, sys; sys.exit('No such notes.\\n\\nI was given ' + os.environ['KEY'] + chr(27))"
    given = {"KEY": "canary-0123456789"}
    toolbox = McpToolbox("test", lambda: open_stdio_transport([sys.executable, "-c", dies], given), [*given.values()])
    with pytest.raises(FeatureUnavailable) as refused:
        await toolbox.list_tools()
    await toolbox.aclose()
    assert str(refused.value) == (
        "The tool server test has ended, or cannot be reached. The log has the last line of its standard error."
    )
    (record,) = [vars(record) for record in caplog.records if record.name == "moot.tools.mcp"]
    assert record["msg"] == "tool server failed to start"
    assert (record["server"], record["stderr"]) == ("test", "I was given [secret]")

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import mcp_types as types
import pytest
from mcp.client import stdio

from moot.tools.mcp import McpToolbox, result_text
from moot.types.errors import FeatureUnavailable
from tests.support.tool_servers import http_toolbox, serve_http_tools, stdio_toolbox

SHORT_TIMEOUT_SECONDS = 0.5


async def test_only_read_only_tools_have_no_effects() -> None:
    toolbox = stdio_toolbox()
    effects = {info.name: info.has_effects for info in await toolbox.list_tools()}
    await toolbox.aclose()
    assert (effects["look_up"], effects["write_down"]) == (False, True)


async def test_stdio_server_of_official_library_lists_and_calls_tools() -> None:
    toolbox = stdio_toolbox("official")
    effects = {info.name: info.has_effects for info in await toolbox.list_tools()}
    found = await toolbox.call_tool("look_up", {"word": "moot"})
    failed = await toolbox.call_tool("fail", {})
    await toolbox.aclose()
    assert (effects["look_up"], effects["write_down"]) == (False, True)
    assert (found.is_error, found.content) == (False, "moot: a meeting")
    assert failed.is_error


async def test_server_that_dies_during_call_returns_error_and_is_restarted() -> None:
    toolbox = stdio_toolbox()
    died = await toolbox.call_tool("die", {})
    assert died.is_error
    assert "The tool server test has ended" in died.content
    assert (await toolbox.call_tool("look_up", {"word": "moot"})).content == "moot: a meeting"
    await toolbox.aclose()


async def test_one_megabyte_result_arrives_over_stdio_and_http() -> None:
    async with serve_http_tools() as url:
        for toolbox in (stdio_toolbox(), http_toolbox(url)):
            much = await toolbox.call_tool("megabyte", {})
            await toolbox.aclose()
            assert (much.is_error, much.content) == (False, "x" * 1_000_000)


async def test_cancelled_call_does_not_block_other_calls() -> None:
    toolbox = stdio_toolbox()
    await toolbox.list_tools()
    waiting = asyncio.create_task(toolbox.call_tool("hang", {}))
    await asyncio.sleep(0)
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    assert (await toolbox.call_tool("look_up", {"word": "moot"})).content == "moot: a meeting"
    await toolbox.aclose()


async def test_server_that_dies_at_start_is_unavailable() -> None:
    toolbox = stdio_toolbox("dies")
    with pytest.raises(FeatureUnavailable, match="The tool server test has ended, or cannot be reached"):
        await toolbox.list_tools()
    failed = await toolbox.call_tool("look_up", {"word": "moot"})
    assert failed.is_error
    await toolbox.aclose()


@pytest.mark.parametrize("how", ["hangs", "mute"])
async def test_server_that_hangs_at_start_or_listing_times_out(how: str) -> None:
    toolbox = stdio_toolbox(how, start_seconds=SHORT_TIMEOUT_SECONDS)
    with pytest.raises(FeatureUnavailable, match=r"did not (start|list its tools) within 0.5 s"):
        await toolbox.list_tools()
    async with asyncio.timeout(60):
        await toolbox.aclose()


async def test_closing_kills_server_that_ignores_termination(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("PROCESS_TERMINATION_TIMEOUT", "FORCE_KILL_TIMEOUT"):
        monkeypatch.setattr(stdio, name, SHORT_TIMEOUT_SECONDS)
    toolbox = stdio_toolbox("stubborn")
    await toolbox.list_tools()
    async with asyncio.timeout(60):
        await toolbox.aclose()


async def test_error_messages_redact_secrets() -> None:
    def connect() -> object:
        raise FeatureUnavailable("sk-canary was refused")

    toolbox = McpToolbox("test", connect, ["sk-canary"])  # type: ignore[arg-type]
    with pytest.raises(FeatureUnavailable, match=r"\[secret\] was refused"):
        await toolbox.list_tools()


async def test_short_secrets_are_not_redacted() -> None:
    def connect() -> object:
        raise FeatureUnavailable("1 of 10 was refused")

    toolbox = McpToolbox("test", connect, ["1"])  # type: ignore[arg-type]
    with pytest.raises(FeatureUnavailable, match="1 of 10 was refused"):
        await toolbox.list_tools()


async def test_closing_waits_for_every_started_server() -> None:
    started: list[int] = []
    ended: list[int] = []
    closing = asyncio.Event()

    @asynccontextmanager
    async def connect() -> AsyncIterator[object]:
        started.append(life := len(started))
        try:
            yield await asyncio.Event().wait()
        finally:
            await closing.wait()
            for _ in range(1 if life else 50):  # the first takes longer to end
                await asyncio.sleep(0)
            ended.append(life)

    toolbox = McpToolbox("test", connect, start_seconds=0.01)  # type: ignore[arg-type]
    for _ in range(2):
        with pytest.raises(FeatureUnavailable, match="did not start"):
            await toolbox.list_tools()
    closing.set()
    await toolbox.aclose()
    assert sorted(ended) == started == [0, 1]


def test_result_text_describes_non_text_content() -> None:
    text = types.TextContent(type="text", text="words")
    picture = types.ImageContent(type="image", data="", mime_type="image/png")
    assert result_text(types.CallToolResult(content=[text, picture])) == (
        "words\n\n[Left out: image/png, which is no text]"
    )
    assert result_text(types.CallToolResult(content=[], structured_content={"a": 1})) == '{"a":1}'

from collections.abc import Mapping
from typing import Any

from moot.tools.fake import FakeTool, FakeToolbox
from moot.types.tools import ToolInfo, ToolOutcome


async def fail_with_os_error(_: Mapping[str, Any]) -> str:
    raise OSError("no disk")


async def test_fake_toolbox_records_calls_and_closing() -> None:
    toolbox = FakeToolbox(FakeTool(ToolInfo(name="write"), fail_with_os_error))
    assert await toolbox.call_tool("write", {"a": 1}) == ToolOutcome("write failed: no disk", is_error=True)
    assert (toolbox.calls, toolbox.closed) == ([("write", {"a": 1})], False)
    await toolbox.aclose()
    assert toolbox.closed

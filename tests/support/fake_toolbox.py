"""A Toolbox of Python functions."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any

from msgspec import Struct

from moot.types.tools import ToolInfo, ToolOutcome

ToolFunction = Callable[[Mapping[str, Any]], Awaitable[str]]


class FakeTool(Struct, frozen=True):
    info: ToolInfo
    function: ToolFunction


class FakeToolbox:
    """Records calls. A ValueError, LookupError or OSError of a function becomes an error outcome."""

    def __init__(self, *tools: FakeTool) -> None:
        self.calls: list[tuple[str, Mapping[str, Any]]] = []
        self.closed = False
        self._tools = {tool.info.name: tool for tool in tools}

    async def list_tools(self) -> Sequence[ToolInfo]:
        return [tool.info for tool in self._tools.values()]

    async def call_tool(self, name: str, arguments: Mapping[str, Any]) -> ToolOutcome:
        self.calls.append((name, arguments))
        if name not in self._tools:
            return ToolOutcome(f"There is no tool {name!r} here.", is_error=True)
        try:
            return ToolOutcome(await self._tools[name].function(arguments))
        except (ValueError, LookupError, OSError) as error:
            return ToolOutcome(f"{name} failed: {error}", is_error=True)

    async def aclose(self) -> None:
        self.closed = True

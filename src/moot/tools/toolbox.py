"""The seam of tools: a server of them, whatever it is."""

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from moot.model.tools import Outcome, ToolInfo


class Toolbox(Protocol):
    """Some tools. `call` answers with words, also where the call fails; whoever waits for it may leave at any time."""

    async def tools(self) -> Sequence[ToolInfo]:
        """List what there is; raise Unavailable, with words, where the server cannot be used."""
        ...

    async def call(self, name: str, arguments: Mapping[str, Any]) -> Outcome: ...

    async def aclose(self) -> None:
        """Let go of all that is held, soon, whatever state the server is in."""
        ...

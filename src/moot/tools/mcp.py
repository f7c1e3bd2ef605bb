"""A server of tools that speaks the Model Context Protocol, started when it is first needed.

It may die, hang or talk nonsense at any time: then a call, or the list of its tools, fails with words.
"""

import asyncio
import logging
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from typing import Any

import httpx2
import mcp_types as types
import msgspec
from mcp import Client, MCPError
from mcp.client._transport import TransportStreams
from msgspec import Raw, Struct

from moot import __version__
from moot.types.errors import MootError, Unavailable
from moot.types.tools import LONGEST_ARGUMENTS, Outcome, ToolInfo, cut

START_SECONDS = 45.0  # to start and to list its tools
CLOSE_SECONDS = 8.0  # to end by itself, or be killed
MOST_TOOLS, MOST_PAGES = 128, 20
SHORTEST_SECRET = 7  # characters; what is shorter, such as `1` or `true`, stands in every other answer
DESCRIPTION = 2000

Connect = Callable[[], AbstractAsyncContextManager[TransportStreams]]
log = logging.getLogger(__name__)


class Opened(Struct, frozen=True):
    client: Client
    tools: Sequence[ToolInfo]


class McpToolbox:
    """`secrets` are never repeated, whoever says them."""

    def __init__(
        self,
        name: str,
        connect: Connect,
        secrets: Sequence[str] = (),
        start_seconds: float = START_SECONDS,
        close_seconds: float = CLOSE_SECONDS,
    ) -> None:
        self._name = name
        self._connect = connect
        long = {secret for secret in secrets if len(secret) >= SHORTEST_SECRET}
        self._secrets = sorted(long, key=len, reverse=True)  # one may be part of another
        self._start_seconds = start_seconds
        self._close_seconds = close_seconds
        self._lives: list[Life] = []  # the newest last; those before it are ending

    async def tools(self) -> Sequence[ToolInfo]:
        return (await self._opened(self._living())).tools

    async def call(self, name: str, arguments: Mapping[str, Any]) -> Outcome:
        life = self._living()
        try:
            client = (await self._opened(life)).client
            result = await client.session.send_request(  # its call_tool runs patterns of the server over the result
                types.CallToolRequest(
                    params=types.CallToolRequestParams(name=name, arguments=dict(arguments))
                ),
                types.CallToolResult,
            )
        except Exception as error:  # noqa: BLE001 - whatever a foreign server makes the client raise
            if _is_closed(error):
                life.leave()
            return Outcome(self._safe(f"The call failed. {_words(self._name, error)}"), is_error=True)
        return Outcome(self._safe(text_of(result)), is_error=bool(result.is_error))

    async def aclose(self) -> None:
        lives, self._lives = self._lives, []
        await asyncio.gather(*(life.end(self._close_seconds) for life in lives))

    def _living(self) -> "Life":
        if not self._lives or self._lives[-1].left:
            ending = [life for life in self._lives if not life.over]
            self._lives = [*ending, Life(self._name, self._connect, self._safe)]
        return self._lives[-1]

    async def _opened(self, life: "Life") -> Opened:
        try:
            return await life.opened(self._start_seconds)
        except Unavailable as error:
            raise Unavailable(self._safe(str(error))) from None

    def _safe(self, words: str) -> str:
        for secret in self._secrets:
            words = words.replace(secret, "[secret]")
        return words


class Life:
    """One life of a server, in a task of its own: it must end in the task in which it began."""

    def __init__(self, name: str, connect: Connect, safe: Callable[[str], str]) -> None:
        self.left = False
        self._safe = safe
        self._name = name
        self._connect = connect
        self._doing = "start"
        self._opened: asyncio.Future[Opened] = asyncio.get_running_loop().create_future()
        self._leaving = asyncio.Event()
        self._task = asyncio.create_task(self._live())

    @property
    def over(self) -> bool:
        return self._task.done()

    async def opened(self, seconds: float) -> Opened:
        await asyncio.wait({self._opened}, timeout=seconds)
        if not self._opened.done():
            self.leave()
            raise Unavailable(f"The tool server {self._name} did not {self._doing} within {seconds:g} s.")
        return self._opened.result()

    def leave(self) -> None:
        """Let it end, with nobody waiting for that; said twice, it does not cut short how it clears up."""
        if not self.left and not self._opened.done():
            self._task.cancel()
        self.left = True
        self._leaving.set()

    async def end(self, seconds: float) -> None:
        """Let it end, and do not wait long for it."""
        self.leave()
        await asyncio.wait({self._task}, timeout=seconds)
        if not self._task.done():
            self._task.cancel()
            await asyncio.wait({self._task}, timeout=1.0)
            log.warning("a tool server does not end; it is left alone", extra={"server": self._name})

    async def _live(self) -> None:
        info = types.Implementation(name="moot", version=__version__)
        try:
            async with Client(self._connect(), client_info=info, cache=None) as client:
                self._doing = "list its tools"
                opened = Opened(client, await _listed(client))
                if not self._opened.done():
                    self._opened.set_result(opened)
                await self._leaving.wait()
        except Exception as error:  # noqa: BLE001 - whatever a foreign server makes the client raise
            self._fail(error)
        except asyncio.CancelledError:
            self._fail(Unavailable(f"The tool server {self._name} was not waited for."))
            raise
        finally:
            self.left = True

    def _fail(self, error: Exception) -> None:
        if self._opened.done():
            log.info("a tool server ended badly", extra={"server": self._name, "kind": type(error).__name__})
            return
        words = _words(self._name, error)
        for last in getattr(error, "__notes__", ()):  # for whoever runs Moot: others may see the words
            log.warning("the tool server %s ended with the words: %s", self._name, self._safe(last))
            words = f"{words} The log has its last words."
        self._opened.set_exception(Unavailable(words))
        self._opened.exception()  # somebody may have waited for it, or not


async def _listed(client: Client) -> list[ToolInfo]:
    found: list[ToolInfo] = []
    cursor: str | None = None
    for _ in range(MOST_PAGES):
        page = await client.session.list_tools(params=types.PaginatedRequestParams(cursor=cursor))
        found += [info for tool in page.tools if (info := _info(tool)) is not None]
        cursor = page.next_cursor
        if cursor is None:
            break
    return found[:MOST_TOOLS]


def _info(tool: types.Tool) -> ToolInfo | None:
    """Describe a tool; what says nothing of its effects has some."""
    parameters = msgspec.json.encode(tool.input_schema)
    if len(parameters) > LONGEST_ARGUMENTS:
        return None
    return ToolInfo(
        name=tool.name,
        description=cut(tool.description or "", DESCRIPTION),
        parameters=Raw(parameters),
        effects=not (tool.annotations and tool.annotations.read_only_hint),
    )


def text_of(result: types.CallToolResult) -> str:
    """Write a result as text; what is none is named, and what is only data is JSON."""
    told = [_text(block) for block in result.content]
    if not told and result.structured_content is not None:
        return msgspec.json.encode(result.structured_content).decode()
    return "\n\n".join(told)


def _text(block: types.ContentBlock) -> str:
    match block:
        case types.TextContent(text=text):
            return text
        case types.EmbeddedResource(resource=types.TextResourceContents(text=text)):
            return text
        case types.ResourceLink(uri=uri):
            return f"[See {uri}]"
        case types.ImageContent(mime_type=kind) | types.AudioContent(mime_type=kind):
            return f"[Left out: {kind}, which is no text]"
    return "[Left out: a file that is no text]"


def _is_closed(error: Exception) -> bool:
    return isinstance(error, MCPError) and error.code == types.CONNECTION_CLOSED


def _words(name: str, error: BaseException) -> str:
    """Say what is wrong with a server, with the innermost of what was raised."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    match error:
        case MootError():
            return str(error)
        case MCPError() if _is_closed(error):
            return f"The tool server {name} has ended, or cannot be reached."
        case MCPError():
            return f"The tool server {name} says: {cut(error.message, DESCRIPTION)}"
        case FileNotFoundError() | PermissionError():
            return f"The command of the tool server {name} cannot be run: {error.strerror}."
        case httpx2.ConnectError():
            return f"The tool server {name} cannot be reached: {error}."
        case TimeoutError():
            return f"The tool server {name} did not answer in time."
    return f"The tool server {name} cannot be used ({type(error).__name__})."

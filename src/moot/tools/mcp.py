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
from moot.types.errors import FeatureUnavailable, MootError
from moot.types.tools import MAX_ARGUMENTS_CHARACTERS, ToolInfo, ToolOutcome, truncate_with_note

START_SECONDS = 45.0  # to start and to list its tools
CLOSE_SECONDS = 8.0  # to end by itself, or be killed
MAX_TOOLS, MAX_PAGES = 128, 20
MIN_SECRET_CHARS = 7  # characters; what is shorter, such as `1` or `true`, stands in every other answer
MAX_DESCRIPTION_CHARS = 2000

Connect = Callable[[], AbstractAsyncContextManager[TransportStreams]]
log = logging.getLogger(__name__)


class McpSession(Struct, frozen=True):
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
        long = {secret for secret in secrets if len(secret) >= MIN_SECRET_CHARS}
        self._secrets = sorted(long, key=len, reverse=True)  # one may be part of another
        self._start_seconds = start_seconds
        self._close_seconds = close_seconds
        self._connections: list[McpConnection] = []  # the newest last; those before it are ending

    async def list_tools(self) -> Sequence[ToolInfo]:
        return (await self._open_session(self._current_connection())).tools

    async def call_tool(self, name: str, arguments: Mapping[str, Any]) -> ToolOutcome:
        life = self._current_connection()
        try:
            client = (await self._open_session(life)).client
            result = await client.session.send_request(  # its call_tool runs patterns of the server over the result
                types.CallToolRequest(
                    params=types.CallToolRequestParams(name=name, arguments=dict(arguments))
                ),
                types.CallToolResult,
            )
        except Exception as error:  # noqa: BLE001 - whatever a foreign server makes the client raise
            if _is_connection_closed(error):
                life.request_close()
            return ToolOutcome(
                self._redact_secrets(f"The call failed. {_describe_error(self._name, error)}"), is_error=True
            )
        return ToolOutcome(self._redact_secrets(result_text(result)), is_error=bool(result.is_error))

    async def aclose(self) -> None:
        lives, self._connections = self._connections, []
        await asyncio.gather(*(life.close_connection(self._close_seconds) for life in lives))

    def _current_connection(self) -> "McpConnection":
        if not self._connections or self._connections[-1].is_closing:
            ending = [life for life in self._connections if not life.is_finished]
            self._connections = [*ending, McpConnection(self._name, self._connect, self._redact_secrets)]
        return self._connections[-1]

    async def _open_session(self, connection: "McpConnection") -> McpSession:
        try:
            return await connection.wait_until_open(self._start_seconds)
        except FeatureUnavailable as error:
            raise FeatureUnavailable(self._redact_secrets(str(error))) from None

    def _redact_secrets(self, text: str) -> str:
        for secret in self._secrets:
            text = text.replace(secret, "[secret]")
        return text


class McpConnection:
    """One life of a server, in a task of its own: it must end in the task in which it began."""

    def __init__(self, name: str, connect: Connect, redact: Callable[[str], str]) -> None:
        self.is_closing = False
        self._redact = redact
        self._name = name
        self._connect = connect
        self._current_step = "start"
        self._session_future: asyncio.Future[McpSession] = asyncio.get_running_loop().create_future()
        self._close_requested = asyncio.Event()
        self._task = asyncio.create_task(self._run_session())

    @property
    def is_finished(self) -> bool:
        return self._task.done()

    async def wait_until_open(self, seconds: float) -> McpSession:
        await asyncio.wait({self._session_future}, timeout=seconds)
        if not self._session_future.done():
            self.request_close()
            raise FeatureUnavailable(
                f"The tool server {self._name} did not {self._current_step} within {seconds:g} s."
            )
        return self._session_future.result()

    def request_close(self) -> None:
        """Let it end, with nobody waiting for that; said twice, it does not cut short how it clears up."""
        if not self.is_closing and not self._session_future.done():
            self._task.cancel()
        self.is_closing = True
        self._close_requested.set()

    async def close_connection(self, seconds: float) -> None:
        """Let it end, and do not wait long for it."""
        self.request_close()
        await asyncio.wait({self._task}, timeout=seconds)
        if not self._task.done():
            self._task.cancel()
            await asyncio.wait({self._task}, timeout=1.0)
            log.warning("a tool server does not end; it is left alone", extra={"server": self._name})

    async def _run_session(self) -> None:
        info = types.Implementation(name="moot", version=__version__)
        try:
            async with Client(self._connect(), client_info=info, cache=None) as client:
                self._current_step = "list its tools"
                opened = McpSession(client, await _list_tools(client))
                if not self._session_future.done():
                    self._session_future.set_result(opened)
                await self._close_requested.wait()
        except Exception as error:  # noqa: BLE001 - whatever a foreign server makes the client raise
            self._record_failure(error)
        except asyncio.CancelledError:
            self._record_failure(FeatureUnavailable(f"The tool server {self._name} was not waited for."))
            raise
        finally:
            self.is_closing = True

    def _record_failure(self, error: Exception) -> None:
        if self._session_future.done():
            log.info("a tool server ended badly", extra={"server": self._name, "kind": type(error).__name__})
            return
        words = _describe_error(self._name, error)
        for last in getattr(error, "__notes__", ()):  # for whoever runs Moot: others may see the words
            log.warning("the tool server %s ended with the words: %s", self._name, self._redact(last))
            words = f"{words} The log has its last words."
        self._session_future.set_exception(FeatureUnavailable(words))
        self._session_future.exception()  # somebody may have waited for it, or not


async def _list_tools(client: Client) -> list[ToolInfo]:
    found: list[ToolInfo] = []
    cursor: str | None = None
    for _ in range(MAX_PAGES):
        page = await client.session.list_tools(params=types.PaginatedRequestParams(cursor=cursor))
        found += [info for tool in page.tools if (info := _tool_info(tool)) is not None]
        cursor = page.next_cursor
        if cursor is None:
            break
    return found[:MAX_TOOLS]


def _tool_info(tool: types.Tool) -> ToolInfo | None:
    """Describe a tool; what says nothing of its effects has some."""
    parameters = msgspec.json.encode(tool.input_schema)
    if len(parameters) > MAX_ARGUMENTS_CHARACTERS:
        return None
    return ToolInfo(
        name=tool.name,
        description=truncate_with_note(tool.description or "", MAX_DESCRIPTION_CHARS),
        parameters=Raw(parameters),
        effects=not (tool.annotations and tool.annotations.read_only_hint),
    )


def result_text(result: types.CallToolResult) -> str:
    """Write a result as text; what is none is named, and what is only data is JSON."""
    told = [_block_text(block) for block in result.content]
    if not told and result.structured_content is not None:
        return msgspec.json.encode(result.structured_content).decode()
    return "\n\n".join(told)


def _block_text(block: types.ContentBlock) -> str:
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


def _is_connection_closed(error: Exception) -> bool:
    return isinstance(error, MCPError) and error.code == types.CONNECTION_CLOSED


def _describe_error(name: str, error: BaseException) -> str:
    """Say what is wrong with a server, with the innermost of what was raised."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    match error:
        case MootError():
            return str(error)
        case MCPError() if _is_connection_closed(error):
            return f"The tool server {name} has ended, or cannot be reached."
        case MCPError():
            return f"The tool server {name} says: {truncate_with_note(error.message, MAX_DESCRIPTION_CHARS)}"
        case FileNotFoundError() | PermissionError():
            return f"The command of the tool server {name} cannot be run: {error.strerror}."
        case httpx2.ConnectError():
            return f"The tool server {name} cannot be reached: {error}."
        case TimeoutError():
            return f"The tool server {name} did not answer in time."
    return f"The tool server {name} cannot be used ({type(error).__name__})."

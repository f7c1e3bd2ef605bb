"""MCP client: a Toolbox that connects to a Model Context Protocol server on first use.

The server is untrusted. It may exit, hang or send invalid messages at any time.
`call_tool` then returns an error outcome, and `list_tools` raises FeatureUnavailable.
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

START_SECONDS = 45.0  # timeout to connect and to list the tools
CLOSE_SECONDS = 8.0  # timeout of a graceful shutdown, before the task is cancelled
MAX_TOOLS, MAX_PAGES = 128, 20
MIN_SECRET_CHARS = 7  # shorter values such as `1` or `true` occur in ordinary responses
MAX_DESCRIPTION_CHARS = 2000

Connect = Callable[[], AbstractAsyncContextManager[TransportStreams]]
log = logging.getLogger(__name__)


class McpSession(Struct, frozen=True):
    client: Client
    tools: Sequence[ToolInfo]


class McpToolbox:
    """Reconnects when the previous connection is closed. Results and errors never contain `secrets`."""

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
        # Longest first: a secret may be a substring of another one.
        self._secrets = sorted(long, key=len, reverse=True)
        self._start_seconds = start_seconds
        self._close_seconds = close_seconds
        self._connections: list[McpConnection] = []  # newest last; older ones are closing

    async def list_tools(self) -> Sequence[ToolInfo]:
        return (await self._open_session(self._current_connection())).tools

    async def call_tool(self, name: str, arguments: Mapping[str, Any]) -> ToolOutcome:
        connection = self._current_connection()
        try:
            client = (await self._open_session(connection)).client
            # Not `session.call_tool`: it validates the result with regex patterns of the server (ReDoS).
            result = await client.session.send_request(
                types.CallToolRequest(params=types.CallToolRequestParams(name=name, arguments=dict(arguments))),
                types.CallToolResult,
            )
        except Exception as error:  # noqa: BLE001 - an untrusted server can make the client raise any exception
            if _is_connection_closed(error):
                connection.request_close()  # the next call opens a new connection
            return ToolOutcome(
                self._redact_secrets(f"The call failed. {_describe_error(self._name, error)}"), is_error=True
            )
        return ToolOutcome(self._redact_secrets(result_text(result)), is_error=bool(result.is_error))

    async def aclose(self) -> None:
        connections, self._connections = self._connections, []
        await asyncio.gather(*(one.close_connection(self._close_seconds) for one in connections))

    def _current_connection(self) -> "McpConnection":
        if not self._connections or self._connections[-1].is_closing:
            # Keep references to connections that still shut down, so that `aclose` can wait for them.
            closing = [one for one in self._connections if not one.is_finished]
            self._connections = [*closing, McpConnection(self._name, self._connect, self._redact_secrets)]
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
    """One connection to a server, from connect to close.

    It runs in its own task: the client uses cancel scopes, which must exit in the task that entered them.
    """

    def __init__(self, name: str, connect: Connect, redact: Callable[[str], str]) -> None:
        self.is_closing = False
        self._redact = redact
        self._name = name
        self._connect = connect
        self._current_step = "start"  # for the timeout error
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
            raise FeatureUnavailable(f"The tool server {self._name} did not {self._current_step} within {seconds:g} s.")
        return self._session_future.result()

    def request_close(self) -> None:
        """Start to close, without waiting. Idempotent: a second call does not cancel the cleanup."""
        if not self.is_closing and not self._session_future.done():
            self._task.cancel()
        self.is_closing = True
        self._close_requested.set()

    async def close_connection(self, seconds: float) -> None:
        """Wait for the shutdown, for `seconds` at most; then cancel the task."""
        self.request_close()
        await asyncio.wait({self._task}, timeout=seconds)
        if not self._task.done():
            self._task.cancel()
            await asyncio.wait({self._task}, timeout=1.0)
            log.warning("tool server did not shut down; task abandoned", extra={"server": self._name})

    async def _run_session(self) -> None:
        info = types.Implementation(name="moot", version=__version__)
        try:
            async with Client(self._connect(), client_info=info, cache=None) as client:
                self._current_step = "list its tools"
                session = McpSession(client, await _list_tools(client))
                if not self._session_future.done():
                    self._session_future.set_result(session)
                await self._close_requested.wait()
        except Exception as error:  # noqa: BLE001 - an untrusted server can make the client raise any exception
            self._record_failure(error)
        except asyncio.CancelledError:
            self._record_failure(FeatureUnavailable(f"Connecting to the tool server {self._name} was cancelled."))
            raise
        finally:
            self.is_closing = True

    def _record_failure(self, error: Exception) -> None:
        if self._session_future.done():
            log.info("tool server connection failed", extra={"server": self._name, "kind": type(error).__name__})
            return
        message = _describe_error(self._name, error)
        # The stderr line goes to the log only: other users can see the error message.
        for stderr_line in getattr(error, "__notes__", ()):
            log.warning(
                "tool server failed to start", extra={"server": self._name, "stderr": self._redact(stderr_line)}
            )
            message = f"{message} The log has the last line of its standard error."
        self._session_future.set_exception(FeatureUnavailable(message))
        self._session_future.exception()  # prevents the "never retrieved" message of asyncio


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
    """Return None if the schema is too large. A tool without `read_only_hint` counts as one with effects."""
    parameters = msgspec.json.encode(tool.input_schema)
    if len(parameters) > MAX_ARGUMENTS_CHARACTERS:
        return None
    return ToolInfo(
        name=tool.name,
        description=truncate_with_note(tool.description or "", MAX_DESCRIPTION_CHARS),
        parameters=Raw(parameters),
        has_effects=not (tool.annotations and tool.annotations.read_only_hint),
    )


def result_text(result: types.CallToolResult) -> str:
    """Non-text blocks become a placeholder. A result with only structured content is serialized as JSON."""
    blocks = [_block_text(block) for block in result.content]
    if not blocks and result.structured_content is not None:
        return msgspec.json.encode(result.structured_content).decode()
    return "\n\n".join(blocks)


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
    """Describe the innermost exception of a group."""
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

"""Routes for tools, the tenant's own tool servers, and approvals of tool calls."""

import re
from collections.abc import Sequence
from ipaddress import ip_address
from typing import Annotated
from urllib.parse import urlsplit

from litestar import Controller, delete, get, post, put
from litestar.di import NamedDependency as Given
from litestar.params import FromPath, JSONBody
from msgspec import Meta, Struct

from moot.engine.tools.catalog import ListedServer, ToolCatalog
from moot.server.rate_limits import model_request_rate
from moot.store.accounts.tool_servers import StoredToolServer, ToolServers
from moot.store.runs.approvals import Approvals
from moot.tools.ssrf import is_public
from moot.types.accounts import Caller
from moot.types.errors import Conflict, UsageError
from moot.types.tools import BUILTIN_SERVER_NAME, ApprovalDecision, is_server_name

HEADER_NAME = re.compile(r"[A-Za-z0-9-]{1,64}")
RESERVED_HEADERS = frozenset({"host", "content-length", "content-type", "connection", "transfer-encoding", "accept"})
VISIBLE_ASCII = re.compile(r"[\x21-\x7e]([\x20-\x7e]*[\x21-\x7e])?")
PRIVATE_NETWORK_MESSAGE = (
    "it leads into a private network. Only the operator of this server can allow that, "
    "with private_tool_servers = true in the settings."
)

HeaderValue = Annotated[str, Meta(min_length=1, max_length=4000)]


class NewToolServer(Struct, frozen=True, forbid_unknown_fields=True):
    """An MCP server over HTTP."""

    url: Annotated[str, Meta(min_length=8, max_length=2000)]
    headers: Annotated[dict[str, HeaderValue], Meta(max_length=20)] = {}  # sent to this server only

    def __repr__(self) -> str:
        return "NewToolServer([url])"


class ApprovalDecisionBody(Struct, frozen=True, forbid_unknown_fields=True):
    """`always` also approves later calls of the same tool in this discussion."""

    decision: ApprovalDecision


class ToolRoutes(Controller):
    path = "/api"
    tags = ("tools",)

    @get("/tools", guards=[model_request_rate], summary="List tools by server")
    async def list_tools(self, caller: Given[Caller], tool_catalog: Given[ToolCatalog]) -> Sequence[ListedServer]:
        """Queries every server. A server that does not respond is listed with its error."""
        return await tool_catalog.list_servers(caller.tenant)

    @get("/tool-servers", summary="List your own tool servers")
    async def list_tool_servers(
        self, caller: Given[Caller], tool_servers: Given[ToolServers]
    ) -> Sequence[StoredToolServer]:
        return await tool_servers.list_servers(caller.tenant)

    @put("/tool-servers/{name:str}", status_code=204, summary="Store your own tool server")
    async def store_tool_server(
        self,
        name: FromPath[str],
        data: JSONBody[NewToolServer],
        caller: Given[Caller],
        tool_catalog: Given[ToolCatalog],
        tool_servers: Given[ToolServers],
    ) -> None:
        """Replaces a server with the same name. Responses never contain the headers."""
        if not is_server_name(name):
            raise UsageError("name: use up to 32 lower-case letters, digits, - and _.")
        if name == BUILTIN_SERVER_NAME or tool_catalog.has_server(name):
            raise Conflict(f"This server already has a tool server {name}. Choose another name.")
        check_tool_server_url(data.url, allow_private=tool_catalog.allow_private_networks)
        _check_headers(data.headers)
        await tool_servers.store_server(caller.tenant, name, data.url, data.headers)

    @delete("/tool-servers/{name:str}", summary="Delete your own tool server")
    async def delete_tool_server(
        self, name: FromPath[str], caller: Given[Caller], tool_servers: Given[ToolServers]
    ) -> None:
        await tool_servers.delete_server(caller.tenant, name)

    @post("/runs/{id:str}/approvals/{call:str}", status_code=204, summary="Approve or reject a tool call")
    async def resolve_approval(
        self,
        id: FromPath[str],
        call: FromPath[str],
        data: JSONBody[ApprovalDecisionBody],
        caller: Given[Caller],
        approvals: Given[Approvals],
    ) -> None:
        """Resolve an `approval_requested` event of a run, once. Only the user can do this, never a model."""
        await approvals.resolve_approval(caller, id, call, data.decision)


def check_tool_server_url(url: str, *, allow_private: bool) -> None:
    """Raises `UsageError` for an invalid or private URL. Host names are resolved and checked at each connection."""
    try:
        parts = urlsplit(url)
        host, port = parts.hostname, parts.port
    except ValueError:
        raise UsageError("url: it is not a valid URL. Write https://host/path.") from None
    if not host or port == 0 or not url.isprintable() or " " in url or parts.fragment:
        raise UsageError("url: it is not a valid URL. Write https://host/path.")
    if parts.scheme != "https" and not (allow_private and parts.scheme == "http"):
        raise UsageError(f"url: {PRIVATE_NETWORK_MESSAGE if _is_private(host) else 'it must begin with https://.'}")
    if parts.username is not None or parts.password is not None:
        raise UsageError("url: it must not contain a user name or password. Send a header.")
    if not allow_private and _is_private(host):
        raise UsageError(f"url: {PRIVATE_NETWORK_MESSAGE}")


def _is_private(host: str) -> bool:
    try:
        ip_address(host)
    except ValueError:
        return host == "localhost"
    return not is_public(host)


def _check_headers(headers: dict[str, str]) -> None:
    for name, value in headers.items():
        if not HEADER_NAME.fullmatch(name) or name.lower() in RESERVED_HEADERS:
            raise UsageError("headers: a name is invalid or reserved.")
        if not VISIBLE_ASCII.fullmatch(value):
            raise UsageError("headers: values must have visible ASCII characters only, without line breaks.")

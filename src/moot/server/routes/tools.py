"""Tools over HTTP: what there is, servers of one's own, and answers to whether a call may be made."""

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
RESERVED_HEADERS = frozenset(
    {"host", "content-length", "content-type", "connection", "transfer-encoding", "accept"}
)
VISIBLE_ASCII = re.compile(r"[\x21-\x7e]([\x20-\x7e]*[\x21-\x7e])?")
PRIVATE_NETWORK_MESSAGE = (
    "it leads into a private network, which only whoever runs Moot may allow, "
    "with private_tool_servers = true in the settings."
)

HeaderValue = Annotated[str, Meta(min_length=1, max_length=4000)]


class NewToolServer(Struct, frozen=True, forbid_unknown_fields=True):
    """The address of a server that speaks the Model Context Protocol over HTTP, and headers that are sent to it alone."""

    url: Annotated[str, Meta(min_length=8, max_length=2000)]
    headers: Annotated[dict[str, HeaderValue], Meta(max_length=20)] = {}

    def __repr__(self) -> str:
        return "NewServer([url])"


class ApprovalAnswer(Struct, frozen=True, forbid_unknown_fields=True):
    """`always` allows this call, and every call of the same tool in this discussion."""

    answer: ApprovalDecision


class ToolRoutes(Controller):
    path = "/api"
    tags = ("tools",)

    @get("/tools", guards=[model_request_rate], summary="List tools, by the server that has them")
    async def list_tools(
        self, caller: Given[Caller], tool_catalog: Given[ToolCatalog]
    ) -> Sequence[ListedServer]:
        """Every server is asked now; one that does not answer is listed with the reason."""
        return await tool_catalog.list_servers(caller.tenant)

    @get("/tool-servers", summary="List the tool servers of one's own")
    async def list_tool_servers(
        self, caller: Given[Caller], tool_servers: Given[ToolServers]
    ) -> Sequence[StoredToolServer]:
        return await tool_servers.list_servers(caller.tenant)

    @put("/tool-servers/{name:str}", status_code=204, summary="Store a tool server of one's own")
    async def store_tool_server(
        self,
        name: FromPath[str],
        data: JSONBody[NewToolServer],
        caller: Given[Caller],
        tool_catalog: Given[ToolCatalog],
        tool_servers: Given[ToolServers],
    ) -> None:
        """Store it in place of the one of that name; its headers are never shown again."""
        if not is_server_name(name):
            raise UsageError("name: use up to 32 small letters, digits, - and _.")
        if name == BUILTIN_SERVER_NAME or tool_catalog.has_server(name):
            raise Conflict(f"{name} is a tool server of this Moot already: choose another name.")
        check_tool_server_url(data.url, allow_private=tool_catalog.allow_private_networks)
        _check_headers(data.headers)
        await tool_servers.store_server(caller.tenant, name, data.url, data.headers)

    @delete("/tool-servers/{name:str}", summary="Delete a tool server of one's own")
    async def delete_tool_server(
        self, name: FromPath[str], caller: Given[Caller], tool_servers: Given[ToolServers]
    ) -> None:
        await tool_servers.delete_server(caller.tenant, name)

    @post(
        "/runs/{id:str}/approvals/{call:str}",
        status_code=204,
        summary="Say whether a call of a tool may be made",
    )
    async def resolve_approval(
        self,
        id: FromPath[str],
        call: FromPath[str],
        data: JSONBody[ApprovalAnswer],
        caller: Given[Caller],
        approvals: Given[Approvals],
    ) -> None:
        """Answer an `approval_wanted` of a run, once. Nobody else does: no model and no file."""
        await approvals.resolve_approval(caller, id, call, data.answer)


def check_tool_server_url(url: str, *, allow_private: bool) -> None:
    """Refuse what cannot be meant; where a name leads is looked at whenever it is connected to."""
    try:
        parts = urlsplit(url)
        host, port = parts.hostname, parts.port
    except ValueError:
        raise UsageError("url: it is no address: write https://host/path.") from None
    if not host or port == 0 or not url.isprintable() or " " in url or parts.fragment:
        raise UsageError("url: it is no address: write https://host/path.")
    if parts.scheme != "https" and not (allow_private and parts.scheme == "http"):
        raise UsageError(
            f"url: {PRIVATE_NETWORK_MESSAGE if _is_private(host) else 'it must begin with https://.'}"
        )
    if parts.username is not None or parts.password is not None:
        raise UsageError("url: a name and a password do not belong there: send a header.")
    if not allow_private and _is_private(host):
        raise UsageError(f"url: {PRIVATE_NETWORK_MESSAGE}")


def _is_private(host: str) -> bool:
    return host == "localhost" or (_is_ip_address(host) and not is_public(host))


def _is_ip_address(host: str) -> bool:
    try:
        ip_address(host)
    except ValueError:
        return False
    return True


def _check_headers(headers: dict[str, str]) -> None:
    for name, value in headers.items():
        if not HEADER_NAME.fullmatch(name) or name.lower() in RESERVED_HEADERS:
            raise UsageError("headers: one of the names is none that can be sent.")
        if not VISIBLE_ASCII.fullmatch(value):
            raise UsageError("headers: values have only visible ASCII characters, and no line breaks.")

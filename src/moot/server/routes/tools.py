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

from moot.engine.tools.catalog import ListedServer, Tooling
from moot.server.rate_limits import start_rate
from moot.store.accounts.tool_servers import StoredServer, ToolServers
from moot.store.runs.approvals import Permissions
from moot.tools.ssrf import is_public
from moot.types.accounts import Caller
from moot.types.errors import Conflict, UsageError
from moot.types.tools import OWN, Decision, is_server_name

HEADER = re.compile(r"[A-Za-z0-9-]{1,64}")
RESERVED = frozenset({"host", "content-length", "content-type", "connection", "transfer-encoding", "accept"})
VISIBLE = re.compile(r"[\x21-\x7e]([\x20-\x7e]*[\x21-\x7e])?")
PRIVATE = (
    "it leads into a private network, which only whoever runs Moot may allow, "
    "with private_tool_servers = true in the settings."
)

HeaderValue = Annotated[str, Meta(min_length=1, max_length=4000)]


class NewServer(Struct, frozen=True, forbid_unknown_fields=True):
    """The address of a server that speaks the Model Context Protocol over HTTP, and headers that are sent to it alone."""

    url: Annotated[str, Meta(min_length=8, max_length=2000)]
    headers: Annotated[dict[str, HeaderValue], Meta(max_length=20)] = {}

    def __repr__(self) -> str:
        return "NewServer([url])"


class Answered(Struct, frozen=True, forbid_unknown_fields=True):
    """`always` allows this call, and every call of the same tool in this discussion."""

    answer: Decision


class ToolRoutes(Controller):
    path = "/api"
    tags = ("tools",)

    @get("/tools", guards=[start_rate], summary="List tools, by the server that has them")
    async def listing(self, caller: Given[Caller], tooling: Given[Tooling]) -> Sequence[ListedServer]:
        """Every server is asked now; one that does not answer is listed with the reason."""
        return await tooling.listing(caller.tenant)

    @get("/tool-servers", summary="List the tool servers of one's own")
    async def servers(
        self, caller: Given[Caller], tool_servers: Given[ToolServers]
    ) -> Sequence[StoredServer]:
        return await tool_servers.of(caller.tenant)

    @put("/tool-servers/{name:str}", status_code=204, summary="Store a tool server of one's own")
    async def put_server(
        self,
        name: FromPath[str],
        data: JSONBody[NewServer],
        caller: Given[Caller],
        tooling: Given[Tooling],
        tool_servers: Given[ToolServers],
    ) -> None:
        """Store it in place of the one of that name; its headers are never shown again."""
        if not is_server_name(name):
            raise UsageError("name: use up to 32 small letters, digits, - and _.")
        if name == OWN or tooling.has(name):
            raise Conflict(f"{name} is a tool server of this Moot already: choose another name.")
        check_address(data.url, anywhere=tooling.anywhere)
        _check_headers(data.headers)
        await tool_servers.put(caller.tenant, name, data.url, data.headers)

    @delete("/tool-servers/{name:str}", summary="Delete a tool server of one's own")
    async def drop_server(
        self, name: FromPath[str], caller: Given[Caller], tool_servers: Given[ToolServers]
    ) -> None:
        await tool_servers.drop(caller.tenant, name)

    @post(
        "/runs/{id:str}/approvals/{call:str}",
        status_code=204,
        summary="Say whether a call of a tool may be made",
    )
    async def answer(
        self,
        id: FromPath[str],
        call: FromPath[str],
        data: JSONBody[Answered],
        caller: Given[Caller],
        permissions: Given[Permissions],
    ) -> None:
        """Answer an `approval_wanted` of a run, once. Nobody else does: no model and no file."""
        await permissions.answer(caller, id, call, data.answer)


def check_address(url: str, *, anywhere: bool) -> None:
    """Refuse what cannot be meant; where a name leads is looked at whenever it is connected to."""
    try:
        parts = urlsplit(url)
        host, port = parts.hostname, parts.port
    except ValueError:
        raise UsageError("url: it is no address: write https://host/path.") from None
    if not host or port == 0 or not url.isprintable() or " " in url or parts.fragment:
        raise UsageError("url: it is no address: write https://host/path.")
    if parts.scheme != "https" and not (anywhere and parts.scheme == "http"):
        raise UsageError(f"url: {PRIVATE if _is_private(host) else 'it must begin with https://.'}")
    if parts.username is not None or parts.password is not None:
        raise UsageError("url: a name and a password do not belong there: send a header.")
    if not anywhere and _is_private(host):
        raise UsageError(f"url: {PRIVATE}")


def _is_private(host: str) -> bool:
    return host == "localhost" or (_is_address(host) and not is_public(host))


def _is_address(host: str) -> bool:
    try:
        ip_address(host)
    except ValueError:
        return False
    return True


def _check_headers(headers: dict[str, str]) -> None:
    for name, value in headers.items():
        if not HEADER.fullmatch(name) or name.lower() in RESERVED:
            raise UsageError("headers: one of the names is none that can be sent.")
        if not VISIBLE.fullmatch(value):
            raise UsageError("headers: values have only visible ASCII characters, and no line breaks.")

"""Servers of tools as they are named: in the settings, by whoever runs Moot, or by a user, who has only addresses."""

import asyncio
from collections.abc import Mapping
from functools import partial
from importlib import import_module
from typing import Annotated, Any, Literal

from msgspec import Meta, Struct

from moot.tools.toolbox import Toolbox
from moot.types.errors import FeatureUnavailable


class ServerConfig(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A server in the settings: a command, or an address.

    `env` are variables that the command is given, `header_env` holds headers and the variables that their values are in.
    Of tools that are `trusted`, or of all with `approve = "never"`, nobody is asked before they are called.
    """

    command: tuple[str, ...] = ()
    env: tuple[str, ...] = ()
    url: Annotated[str, Meta(pattern=r"^https?://[^\s/@]+")] | None = None
    header_env: dict[str, str] = {}
    approve: Literal["effects", "never"] = "effects"
    trusted: tuple[str, ...] = ()

    def trusts_tool(self, tool: str) -> bool:
        return self.approve == "never" or tool in self.trusted


class UserServer(Struct, frozen=True, kw_only=True):
    """A server that a user has named, with headers that are secret."""

    url: str
    headers: dict[str, str]

    def __repr__(self) -> str:
        return f"UserServer({self.url!r})"


async def create_configured_toolbox(
    name: str, config: ServerConfig, environment: Mapping[str, str]
) -> Toolbox:
    """Make the toolbox of a server in the settings, which may be anywhere."""
    if config.url is not None:
        missing = sorted({*config.header_env.values()} - environment.keys())
        if missing:
            raise FeatureUnavailable(
                f"The tool server {name} is not asked: {', '.join(missing)} of its header_env is not set."
            )
        headers = {header: environment[variable] for header, variable in config.header_env.items()}
        return await create_url_toolbox(
            name, UserServer(url=config.url, headers=headers), allow_private_hosts=True
        )
    mcp, transports = await _import_tools_module("mcp"), await _import_tools_module("mcp_transports")
    given = {variable: environment[variable] for variable in config.env if variable in environment}
    connect = partial(transports.open_stdio_transport, config.command, given)
    toolbox: Toolbox = mcp.McpToolbox(name, connect, list(given.values()))
    return toolbox


async def create_url_toolbox(name: str, server: UserServer, *, allow_private_hosts: bool) -> Toolbox:
    """Make the toolbox of a server at an address, whose headers are secret, and so is each word of them."""
    mcp, transports = await _import_tools_module("mcp"), await _import_tools_module("mcp_transports")
    secrets = [word for value in server.headers.values() for word in (value, *value.split())]
    connect = partial(
        transports.open_http_transport, server.url, server.headers, allow_private_hosts=allow_private_hosts
    )
    toolbox: Toolbox = mcp.McpToolbox(name, connect, secrets)
    return toolbox


async def _import_tools_module(module: str) -> Any:
    """Load what speaks to servers, which is slow, when the first one is needed, and while everything else goes on."""
    return await asyncio.to_thread(import_module, f"moot.tools.{module}")

"""Tool server config, and the functions that create a toolbox from it.

The operator configures commands and URLs in the settings. A user can only add URLs.
"""

import asyncio
from collections.abc import Mapping
from functools import partial
from importlib import import_module
from typing import Annotated, Any, Literal

from msgspec import Meta, Struct

from moot.tools.toolbox import Toolbox
from moot.types.errors import FeatureUnavailable


class ServerConfig(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A server in the settings. It has either a `command` or a `url`."""

    command: tuple[str, ...] = ()  # program and arguments of a stdio server
    env: tuple[str, ...] = ()  # keys of environment variables to pass to the command
    url: Annotated[str, Meta(pattern=r"^https?://[^\s/@]+")] | None = None
    header_env: dict[str, str] = {}  # header name -> environment variable that holds its value
    approve: Literal["effects", "never"] = "effects"  # "never": call all tools without approval
    trusted: tuple[str, ...] = ()  # tools that need no approval

    def trusts_tool(self, tool: str) -> bool:
        return self.approve == "never" or tool in self.trusted


class UserServer(Struct, frozen=True, kw_only=True):
    """An HTTP server that a user added. Header values are secret, so `repr` omits them."""

    url: str
    headers: dict[str, str]

    def __repr__(self) -> str:
        return f"UserServer({self.url!r})"


async def create_configured_toolbox(name: str, config: ServerConfig, environment: Mapping[str, str]) -> Toolbox:
    """Private hosts are allowed, because the operator wrote the config.

    Raises FeatureUnavailable if an environment variable in `header_env` is not set.
    """
    if config.url is not None:
        missing = sorted({*config.header_env.values()} - environment.keys())
        if missing:
            raise FeatureUnavailable(
                f"The tool server {name} cannot be used. Set the variables of its header_env: {', '.join(missing)}."
            )
        headers = {header: environment[variable] for header, variable in config.header_env.items()}
        return await create_url_toolbox(name, UserServer(url=config.url, headers=headers), allow_private_hosts=True)
    mcp, transports = await _import_tools_module("mcp"), await _import_tools_module("mcp_transports")
    passed = {variable: environment[variable] for variable in config.env if variable in environment}
    connect = partial(transports.open_stdio_transport, config.command, passed)
    toolbox: Toolbox = mcp.McpToolbox(name, connect, list(passed.values()))
    return toolbox


async def create_url_toolbox(name: str, server: UserServer, *, allow_private_hosts: bool) -> Toolbox:
    mcp, transports = await _import_tools_module("mcp"), await _import_tools_module("mcp_transports")
    # A server may echo the token without its "Bearer" prefix, so each word of a header value is secret.
    secrets = [word for value in server.headers.values() for word in (value, *value.split())]
    connect = partial(
        transports.open_http_transport, server.url, server.headers, allow_private_hosts=allow_private_hosts
    )
    toolbox: Toolbox = mcp.McpToolbox(name, connect, secrets)
    return toolbox


async def _import_tools_module(module: str) -> Any:
    """Import lazily and in a thread: the MCP client is slow to import and would block the event loop."""
    return await asyncio.to_thread(import_module, f"moot.tools.{module}")

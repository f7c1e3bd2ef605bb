"""Servers of tools as they are named: in the settings, by whoever runs Moot, or by a user, who has only addresses."""

from collections.abc import Mapping
from functools import partial
from typing import Annotated, Literal

from msgspec import Meta, Struct

from moot.tools.toolbox import Toolbox


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

    def trusts(self, tool: str) -> bool:
        return self.approve == "never" or tool in self.trusted


class UserServer(Struct, frozen=True, kw_only=True):
    """A server that a user has named, with headers that are secret."""

    url: str
    headers: dict[str, str]

    def __repr__(self) -> str:
        return f"UserServer({self.url!r})"


def configured(name: str, config: ServerConfig, environment: Mapping[str, str]) -> Toolbox:
    """Make the toolbox of a server in the settings, which may be anywhere."""
    from moot.tools.mcp import McpToolbox  # noqa: PLC0415 - slow to load, and not everybody has servers

    if config.url is not None:
        headers = {
            header: environment[variable]
            for header, variable in config.header_env.items()
            if variable in environment
        }
        return _at(name, UserServer(url=config.url, headers=headers), anywhere=True)
    from moot.tools.stdio import command_running  # noqa: PLC0415

    given = {variable: environment[variable] for variable in config.env if variable in environment}
    return McpToolbox(name, partial(command_running, config.command, given), list(given.values()))


def named_by_user(name: str, server: UserServer, *, anywhere: bool) -> Toolbox:
    return _at(name, server, anywhere=anywhere)


def _at(name: str, server: UserServer, *, anywhere: bool) -> Toolbox:
    from moot.tools.http import address_open  # noqa: PLC0415
    from moot.tools.mcp import McpToolbox  # noqa: PLC0415

    secrets = [word for value in server.headers.values() for word in (value, *value.split()) if len(word) > 6]
    return McpToolbox(name, partial(address_open, server.url, server.headers, anywhere=anywhere), secrets)
